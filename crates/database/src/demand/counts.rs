//! What is counted of demand.

use std::collections::BTreeMap;

use super::Demand;

impl Demand {
    /// How often something was wanted anew.
    pub(crate) fn renewals(&self) -> u64 {
        self.state.lock().renewals
    }

    /// How much was refused, by authority and limit; what is refused again when nobody has asked again, once.
    pub(crate) fn refused(&self) -> BTreeMap<(String, &'static str), u64> {
        self.state.lock().refused.clone()
    }

    /// Notes that so many idle sets of an authority have given way.
    pub(crate) fn note_displaced(&self, of: &str, sets: usize) {
        *self.state.lock().displaced.entry(of.to_owned()).or_default() += sets as u64;
    }

    /// How many idle sets have given way to others, by authority.
    pub(crate) fn displaced(&self) -> BTreeMap<String, u64> {
        self.state.lock().displaced.clone()
    }
}
