//! Answers for what no source will ever bring.

use weir_database::Database;
use weir_types::{Absence, Batch, Reach, ResourceLocator, TypeUrl};

/// Lets `database` know that nothing will ever come for `locator`, so that nobody waits for it.
pub(crate) fn refuse(database: &Database, type_url: TypeUrl, locator: &ResourceLocator) {
    let mut batch = Batch::new(type_url, Reach::Named);
    if locator.is_collection() {
        batch.mark_answered(locator);
    } else {
        batch.mark_absent(locator, Absence::Known);
    }
    database.commit(batch);
}
