//! Where more than one variant was found to match.

use parking_lot::Mutex;
use weir_types::{Newest, TypeUrl};

use crate::Database;
use crate::type_cache::Ambiguity;

/// An ambiguity of a type.
#[derive(Clone, Debug)]
pub struct Ambiguous {
    /// Counts all that were remembered since the start.
    pub number: u64,
    /// The type.
    pub type_url: TypeUrl,
    /// The two variants, and whom both match.
    pub ambiguity: Ambiguity,
}

/// The newest of them, each pair of variants once.
#[derive(Debug, Default)]
pub(crate) struct Ambiguities(Mutex<Newest<Ambiguous>>);

impl Ambiguities {
    pub(crate) fn add(&self, type_url: &TypeUrl, ambiguity: Ambiguity) {
        let mut newest = self.0.lock();
        let pair = |found: &Ambiguous| {
            let Ambiguity { chosen, rival, .. } = &found.ambiguity;
            found.type_url == *type_url && *chosen == ambiguity.chosen && *rival == ambiguity.rival
        };
        if !newest.iter().any(pair) {
            newest.add(|number| Ambiguous { number, type_url: type_url.clone(), ambiguity });
        }
    }

    fn all(&self) -> Vec<Ambiguous> {
        self.0.lock().iter().cloned().collect()
    }
}

impl Database {
    /// The newest 256 pairs of variants that were found to match one parameter set, the newest first; those of which
    /// one is gone are left out.
    pub fn ambiguous(&self) -> Vec<Ambiguous> {
        let mut all = self.remembered_ambiguities().all();
        all.retain(|Ambiguous { type_url, ambiguity: Ambiguity { chosen, rival, .. }, .. }| {
            self.look_at(type_url, |cache| cache.has_variant(chosen) && cache.has_variant(rival))
                == Some(true)
        });
        all
    }
}
