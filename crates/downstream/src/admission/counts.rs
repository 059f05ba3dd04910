//! Counts of what is open, in all and by key. No lock is shared by all: clients that come at once count on both cores.

use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::{DashMap, Entry};

/// How many are open.
#[derive(Debug, Default)]
pub(super) struct Total(AtomicUsize);

impl Total {
    /// Adds one, unless there are `limit` of them.
    pub(super) fn enter(&self, limit: usize) -> bool {
        let one_more = |open: usize| (open < limit).then_some(open + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Removes one.
    pub(super) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(super) fn open(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many are open of each key that has any.
#[derive(Debug)]
pub(super) struct Counts<K: Eq + Hash>(DashMap<K, usize>);

impl<K: Eq + Hash> Default for Counts<K> {
    fn default() -> Self {
        Self(DashMap::new())
    }
}

impl<K: Eq + Hash> Counts<K> {
    /// Adds one of `key`, unless there are `limit` of them.
    pub(super) fn enter(&self, key: K, limit: Option<usize>) -> bool {
        let fits = |open: usize| limit.is_none_or(|limit| open < limit);
        match self.0.entry(key) {
            Entry::Occupied(mut open) if fits(*open.get()) => *open.get_mut() += 1,
            Entry::Vacant(none) if fits(0) => drop(none.insert(1)),
            Entry::Occupied(_) | Entry::Vacant(_) => return false,
        }
        true
    }

    /// Removes one of `key`. A key that has none left is forgotten.
    pub(super) fn leave(&self, key: &K) {
        self.0.remove_if_mut(key, |_, open| {
            *open -= 1;
            *open == 0
        });
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn clients_that_come_at_once_are_never_more_than_the_limit() {
        let (total, counts) = (Total::default(), Counts::default());
        let come = || (0..100).filter(|_| total.enter(50) && counts.enter("here", Some(30))).count();
        let entered: usize = thread::scope(|scope| {
            let threads = [scope.spawn(come), scope.spawn(come)];
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((entered, total.open()), (30, 50));
        (0..30).for_each(|_| counts.leave(&"here"));
        assert!(counts.is_empty(), "a key without any is forgotten");
        assert!(!counts.enter("here", Some(0)) && counts.is_empty());
    }
}
