//! Answers for what no source will ever bring.

use weir_database::Database;
use weir_types::{Absence, Batch, Reach, ResourceLocator, Scope, TypeUrl};

/// Lets `database` know that nothing will ever come for `locator`, so that nobody waits for it.
pub(crate) fn refuse(database: &Database, type_url: TypeUrl, locator: &ResourceLocator) {
    let mut batch = Batch::new(type_url, Reach::Named);
    if locator.is_wildcard() {
        batch.reach = Reach::Wildcard;
        batch.answered.push(Scope::Exactly(locator.parameters.clone()));
    } else {
        batch.mark_absent(locator, Absence::Known);
    }
    database.commit(batch);
}
