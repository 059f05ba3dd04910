//! Answers for what no source will ever bring.

use std::collections::BTreeMap;

use weir_database::Database;
use weir_types::{Absence, Batch, Code, Provenance, ResourceError, ResourceLocator, TypeUrl};

/// How many refusals are committed at once: few enough for a short lock, and many enough that a client which asks for
/// 100,000 such names is not woken for each of them.
const AT_ONCE: usize = 500;

/// Lets `database` know that nothing will ever come for `locator`, so that nobody waits for it, and why.
pub(crate) fn refuse(database: &Database, type_url: TypeUrl, locator: &ResourceLocator, why: String) {
    let mut refusals = Refusals::default();
    refusals.add(database, type_url, locator, why);
    refusals.commit(database);
}

/// Refusals that are committed together.
#[derive(Default)]
pub(crate) struct Refusals(BTreeMap<TypeUrl, (usize, Batch)>);

impl Refusals {
    /// Refuses `locator`, with the next commit of its type.
    pub(crate) fn add(
        &mut self,
        database: &Database,
        type_url: TypeUrl,
        locator: &ResourceLocator,
        why: String,
    ) {
        let empty = || (0, Batch::new(type_url.clone(), Provenance::Named));
        let (count, batch) = self.0.entry(type_url.clone()).or_insert_with(empty);
        *count += 1;
        if locator.is_collection() {
            batch.mark_answered(locator);
        } else {
            batch.mark_absent(locator, Absence::Known);
        }
        if !locator.is_wildcard() {
            batch.fail(locator, ResourceError::new(Code::NOT_FOUND, why));
        }
        if *count == AT_ONCE
            && let Some((_, batch)) = self.0.remove(&type_url)
        {
            database.commit(batch);
        }
    }

    /// Commits what was not committed yet.
    pub(crate) fn commit(self, database: &Database) {
        self.0.into_values().for_each(|(_, batch)| _ = database.commit(batch));
    }
}
