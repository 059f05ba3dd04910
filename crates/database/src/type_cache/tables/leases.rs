//! When the time to live of a variant is over.

use std::collections::BTreeSet;
use std::time::Instant;

use weir_types::{Provenance, Variant, VariantKey};

/// Whose time is over when.
#[derive(Debug, Default)]
pub(super) struct Leases(BTreeSet<(Instant, Provenance, VariantKey)>);

impl Leases {
    /// Notes that `new` is held in place of `old`.
    pub(super) fn replace(&mut self, provenance: Provenance, old: Option<&Variant>, new: Option<&Variant>) {
        let entry = |variant: &Variant| Some((variant.lease()?.until(), provenance, variant.key().clone()));
        old.and_then(entry).map(|entry| self.0.remove(&entry));
        self.0.extend(new.and_then(entry));
    }

    /// One whose time is over at `now`.
    pub(super) fn take_over(&mut self, now: Instant) -> Option<(Provenance, VariantKey)> {
        self.0.first().filter(|(until, ..)| *until <= now)?;
        self.0.pop_first().map(|(_, provenance, key)| (provenance, key))
    }
}
