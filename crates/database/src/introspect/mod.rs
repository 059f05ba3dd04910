//! What there is, for those who look: resources with their variants, views with what they show, ambiguities.
//!
//! Locks one type at a time, and for no longer than it takes to copy some pointers: names are listed first, and then
//! described a few at a time, so that a look at a hundred thousand of them holds up nobody. It is no snapshot: between
//! two looks, things happen.

mod ambiguities;
mod resources;
mod views;

pub use ambiguities::Ambiguous;
pub use resources::{Asked, HeldVariant, Resource, Showing};
pub use views::{Shown, ViewSummary};

pub(crate) use ambiguities::Ambiguities;

use crate::Database;

impl Database {
    /// Holds all tables of all types against each other. Looks at everything: for tests.
    ///
    /// # Errors
    /// The first contradiction, in words.
    pub fn audit(&self) -> Result<(), String> {
        let types = self.known_types().into_iter();
        types.filter_map(|type_url| self.look_at(&type_url, |cache| cache.audit())).collect()
    }
}
