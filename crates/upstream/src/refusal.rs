//! Answers for what no source will ever bring.

use weir_database::Database;
use weir_types::{Absence, Batch, Code, Reach, ResourceError, ResourceLocator, TypeUrl};

/// Lets `database` know that nothing will ever come for `locator`, so that nobody waits for it, and why.
pub(crate) fn refuse(database: &Database, type_url: TypeUrl, locator: &ResourceLocator, why: String) {
    let mut batch = Batch::new(type_url, Reach::Named);
    if locator.is_collection() {
        batch.mark_answered(locator);
    } else {
        batch.mark_absent(locator, Absence::Known);
    }
    if !locator.is_wildcard() {
        batch.fail(locator, ResourceError::new(Code::NOT_FOUND, why));
    }
    database.commit(batch);
}
