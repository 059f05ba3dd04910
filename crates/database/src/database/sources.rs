//! What the database and the sources have to know of each other: limits, and who comes and goes.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_types::{Batch, Provenance, TypeUrl, authority};

use super::Database;
use crate::demand::ParameterSets;
use crate::limits::{ClientLimits, DemandLimits};
use crate::type_cache::TypeCache;

const REACHES: [Provenance; 3] = [Provenance::Wildcard, Provenance::Named, Provenance::Local];

/// Whether a name with this provenance is from the source of an authority. A wildcard is asked of the source of names
/// without an authority, whatever names it brings.
fn brought(of: &str, provenance: Provenance) -> impl Fn(&str) -> bool {
    move |name| match provenance {
        Provenance::Wildcard => of.is_empty(),
        Provenance::Named | Provenance::Local => authority(name) == of,
    }
}

impl Database {
    /// How much may be wanted of `authority` from now on; without limits where there are none. What is wanted already
    /// stays.
    pub fn limit(&self, authority: &str, sets: Option<ParameterSets>, demand: Option<DemandLimits>) {
        self.0.demand.limit(authority, sets, demand);
    }

    /// For how long locators of `authority` are still wanted after their last subscriber, from now on; as long as all others
    /// where there is no time.
    pub fn keep_idle(&self, authority: &str, time: Option<Duration>) {
        self.0.idle.write().set(authority, time);
    }

    /// How much each client may be the first to ask for from now on. What it has asked for already stays.
    pub fn limit_clients(&self, limits: ClientLimits) {
        self.0.demand.limit_clients(limits);
    }

    /// How many subscriptions were refused since the start, by authority and limit; authorities without limits are
    /// one. Each counts when a client asks for it, and not when it is retried.
    pub fn refused(&self) -> BTreeMap<(String, &'static str), u64> {
        self.0.demand.refused()
    }

    /// How many idle parameter sets have given way to others since the start, by authority.
    pub fn displaced_sets(&self) -> BTreeMap<String, u64> {
        self.0.demand.displaced()
    }

    /// Has everything that is wanted of `authority` stated again, once: to a source that has received nothing of it.
    pub fn ask_anew(&self, authority: &str) {
        {
            let types = self.0.types.read();
            // All at once, so that nothing is stated twice that comes or goes meanwhile.
            let caches: Vec<_> = types.values().map(|cache| cache.lock()).collect();
            let wanted = caches
                .iter()
                .flat_map(|cache| cache.wanted(authority).map(|locator| (cache.type_url.clone(), locator)));
            self.0.demand.repeat(authority, wanted.collect());
        }
        self.0.demand.announce();
    }

    /// Takes out what the source of `authority` has brought, which is gone: types that others refer to last. Nothing
    /// may come from it any more.
    pub fn withdraw(&self, authority: &str) {
        let mut types = self.known_types();
        types.sort_by_key(|type_url| std::cmp::Reverse((type_url.rank(), type_url.as_str().to_owned())));
        for type_url in types {
            for provenance in REACHES {
                self.withdraw_from(authority, &type_url, provenance);
            }
        }
    }

    /// Whether anything is held that the source of `authority` has brought.
    pub fn holds(&self, authority: &str) -> bool {
        let holds = |type_url| {
            let any = |cache: &TypeCache| {
                REACHES.iter().any(|provenance| cache.holds(*provenance, brought(authority, *provenance)))
            };
            self.look_at(type_url, any).unwrap_or_default()
        };
        self.known_types().iter().any(holds)
    }

    fn withdraw_from(&self, of: &str, type_url: &TypeUrl, provenance: Provenance) {
        let brought = brought(of, provenance);
        let mut batch = Batch::new(type_url.clone(), provenance);
        let removals = self.look_at(type_url, |cache| cache.held(provenance, brought)).unwrap_or_default();
        if !removals.is_empty() {
            batch.removals = removals;
            self.commit(batch);
        }
    }
}
