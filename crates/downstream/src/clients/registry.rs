//! Everything that is open.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use dashmap::DashMap;

use super::nacks::Nacks;
use super::{Condition, Nack, Snapshot};
use crate::node::Client;

/// What can be looked at while it is open.
pub(crate) trait Observed: Send + Sync {
    /// How it is now; none before its client is known.
    fn observe(&self) -> Option<Snapshot>;

    /// The client, and its dialect; none before its client is known.
    fn client(&self) -> Option<(Arc<Client>, &'static str)>;

    /// How it stands with each of its types, and the views of these; none before its client is known.
    fn stand(&self) -> Option<Vec<(u64, Condition)>>;
}

/// The open streams of a server, and the newest rejections. Cheap to clone; all clones show the same.
#[derive(Clone, Default)]
pub struct Registry(Arc<Inner>);

#[derive(Default)]
struct Inner {
    next: AtomicU64,
    open: DashMap<u64, Weak<dyn Observed>>,
    nacks: Nacks,
}

impl Registry {
    /// The ids of everything that is open, ascending.
    pub fn ids(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = self.0.open.iter().map(|open| *open.key()).collect();
        ids.sort_unstable();
        ids
    }

    /// What is open under this id; none if it is gone, or has not stated who it is.
    pub fn get(&self, id: u64) -> Option<Snapshot> {
        self.upgrade(id)?.observe()
    }

    /// The client that is connected under this id, and its dialect; none as with [`Self::get`], but for less.
    pub fn client(&self, id: u64) -> Option<(Arc<Client>, &'static str)> {
        self.upgrade(id)?.client()
    }

    /// How what is open under this id stands with each of its types, and the views of these; none as with
    /// [`Self::get`], but for less.
    pub fn standing(&self, id: u64) -> Option<Vec<(u64, Condition)>> {
        self.upgrade(id)?.stand()
    }

    /// What is open under this id. Dropping the last reference removes it from the table, so that none is dropped here,
    /// where a part of the table is locked.
    fn upgrade(&self, id: u64) -> Option<Arc<dyn Observed>> {
        self.0.open.get(&id)?.upgrade()
    }

    /// The newest rejections, the newest first.
    pub fn nacks(&self) -> Vec<Nack> {
        self.0.nacks.all()
    }

    /// How many streams there were since the start, open or gone.
    pub fn seen(&self) -> u64 {
        self.0.next.load(Ordering::Relaxed)
    }

    pub(crate) fn reject(&self, nack: Nack) {
        self.0.nacks.add(nack);
    }

    /// An id for what will be open.
    pub(crate) fn entry(&self) -> Entry {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed) + 1;
        Entry { id, registry: self.clone() }
    }
}

/// The place of something in the list. It is out of it when this is dropped.
pub(crate) struct Entry {
    id: u64,
    registry: Registry,
}

impl Entry {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Lets `observed` be seen.
    pub(crate) fn show<T: Observed + 'static>(&self, observed: &Arc<T>) {
        let observed: Weak<dyn Observed> = Arc::downgrade(observed) as _;
        self.registry.0.open.insert(self.id, observed);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.0.open.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody {
        _entry: Entry,
    }

    impl Observed for Nobody {
        fn observe(&self) -> Option<Snapshot> {
            None
        }

        fn client(&self) -> Option<(Arc<Client>, &'static str)> {
            None
        }

        fn stand(&self) -> Option<Vec<(u64, Condition)>> {
            None
        }
    }

    #[test]
    fn d10_what_is_gone_leaves_nothing_behind() {
        let registry = Registry::default();
        let open = || {
            let entry = registry.entry();
            let id = entry.id();
            let nobody = Arc::new(Nobody { _entry: entry });
            nobody._entry.show(&nobody);
            (id, nobody)
        };
        let (first, one) = open();
        let (second, other) = open();
        assert_eq!(registry.ids(), [first, second]);
        assert!(registry.get(first).is_none(), "it is nobody yet");
        drop(one);
        assert_eq!(registry.ids(), [second]);
        drop(other);
        assert!(registry.ids().is_empty());
    }
}
