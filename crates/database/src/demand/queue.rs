//! What sources have not been sent yet, in turns: nobody waits until all is asked for that somebody else wants.
//!
//! Owns the order in which changes are sent. What is wanted is sent client by client, one locator of each in turn; half of
//! what is sent is for what is not wanted any more, as long as there is both. What was never sent to be wanted is not taken
//! back, and what is taken back is, before it is wanted again.

use std::collections::{HashMap, VecDeque};

use indexmap::{IndexMap, IndexSet};
use weir_types::{ResourceLocator, TypeUrl};

use super::DemandChange;

/// Who asks: a client, or anybody whom nobody counts.
pub(super) type Asker = Option<usize>;

type Key = (TypeUrl, ResourceLocator);

/// Changes that were not taken yet.
#[derive(Default)]
pub(super) struct Queue {
    /// What each client wants, in order. What is not in `waiting` is wanted no more.
    wanted: HashMap<Asker, VecDeque<Key>>,
    /// Whose turn it is.
    turns: VecDeque<Asker>,
    waiting: IndexSet<Key>,
    /// What is to be sent again, or not wanted any more, in order, with running numbers. What is not in `dropped` by its
    /// number was sent before its turn.
    others: VecDeque<(u64, DemandChange)>,
    dropped: IndexMap<Key, u64>,
    next: u64,
}

impl Queue {
    /// Whether there is nothing to take, and nothing to forget of what is wanted no more.
    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.others.is_empty()
    }

    /// How many locators are wanted that were not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Makes room for `count` more that are wanted.
    pub(super) fn make_room(&mut self, count: usize) {
        self.waiting.reserve(count);
    }

    /// `asker` wants what nobody wanted.
    pub(super) fn want(&mut self, asker: Asker, key: Key) {
        if self.waiting.insert(key.clone()) {
            let of_asker = self.wanted.entry(asker).or_default();
            if of_asker.is_empty() {
                self.turns.push_back(asker);
            }
            of_asker.push_back(key);
        }
    }

    /// What is wanted has to be sent again. What was not asked for yet will be sent anyway.
    pub(super) fn renew(&mut self, key: Key) {
        if !self.waiting.contains(&key) {
            self.push(DemandChange::Renewed(key.0, key.1));
        }
    }

    /// Nobody wants it any more.
    pub(super) fn drop(&mut self, key: Key) {
        if !self.waiting.swap_remove(&key) && !self.dropped.contains_key(&key) {
            self.dropped.insert(key.clone(), self.next);
            self.push(DemandChange::Dropped(key.0, key.1));
        }
    }

    /// Forgets what was not taken of names that `is` true of.
    pub(super) fn forget(&mut self, is: impl Fn(&ResourceLocator) -> bool) {
        self.waiting.retain(|(_, locator)| !is(locator));
        self.dropped.retain(|(_, locator), _| !is(locator));
        self.others.retain(|(_, change)| !is(change.locator()));
    }

    fn push(&mut self, change: DemandChange) {
        self.others.push_back((self.next, change));
        self.next += 1;
    }

    /// About `count` changes, in the order in which they are to be sent.
    pub(super) fn take(&mut self, count: usize) -> Vec<DemandChange> {
        let mut taken = Vec::new();
        let share = if self.waiting.is_empty() { count } else { count.div_ceil(2) };
        while taken.len() < share
            && let Some((number, change)) = self.others.pop_front()
        {
            if let DemandChange::Dropped(type_url, locator) = &change {
                let key = (type_url.clone(), locator.clone());
                if self.dropped.get(&key) != Some(&number) {
                    continue;
                }
                self.dropped.swap_remove(&key);
            }
            taken.push(change);
        }
        while taken.len() < count
            && let Some(asker) = self.turns.pop_front()
        {
            let of_asker = self.wanted.entry(asker).or_default();
            let next = of_asker.pop_front();
            match of_asker.is_empty() {
                true => drop(self.wanted.remove(&asker)),
                false => self.turns.push_back(asker),
            }
            let Some(key) = next.filter(|key| self.waiting.swap_remove(key)) else { continue };
            if self.dropped.swap_remove(&key).is_some() {
                taken.push(DemandChange::Dropped(key.0.clone(), key.1.clone()));
            }
            taken.push(DemandChange::Wanted(key.0, key.1));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use weir_types::DynamicParameters;

    use super::*;

    fn key(name: impl ToString) -> Key {
        (TypeUrl::new("eds"), ResourceLocator::new(name.to_string(), DynamicParameters::empty()))
    }

    fn names(changes: &[DemandChange]) -> Vec<String> {
        let mark = |change: &DemandChange| match change {
            DemandChange::Wanted(..) => "+",
            DemandChange::Renewed(..) => "!",
            DemandChange::Dropped(..) => "-",
        };
        changes.iter().map(|change| format!("{}{}", mark(change), change.locator().name)).collect()
    }

    #[test]
    fn u12_who_asks_for_much_does_not_hold_up_who_asks_for_little() {
        let mut queue = Queue::default();
        (0..1000).for_each(|n| queue.want(Some(1), key(n)));
        queue.want(Some(2), key("a"));
        queue.want(Some(3), key("b"));
        queue.want(Some(2), key("c"));
        assert_eq!(queue.waiting(), 1003);
        assert_eq!(names(&queue.take(6)), ["+0", "+a", "+b", "+1", "+c", "+2"]);
        assert_eq!(queue.take(usize::MAX).len(), 997);
        assert!(queue.is_empty() && queue.turns.is_empty() && queue.wanted.is_empty());
    }

    #[test]
    fn u12_what_was_never_told_is_not_taken_back_and_what_is_taken_back_comes_first() {
        let mut queue = Queue::default();
        queue.want(Some(1), key("a"));
        queue.drop(key("a"));
        assert_eq!(names(&queue.take(9)), [""; 0]);
        queue.want(Some(1), key("a"));
        assert_eq!(names(&queue.take(9)), ["+a"]);
        (0..3).for_each(|n| queue.renew(key(n)));
        queue.drop(key("a"));
        queue.want(Some(1), key("a"));
        queue.renew(key("a"));
        assert_eq!(names(&queue.take(3)), ["!0", "!1", "-a", "+a"]);
        assert_eq!(names(&queue.take(9)), ["!2"]);
    }

    #[test]
    fn u12_nothing_is_kept_of_what_was_given_up_before_it_was_told() {
        let mut queue = Queue::default();
        queue.want(Some(1), key("a"));
        queue.drop(key("a"));
        assert!(!queue.is_empty() && queue.waiting() == 0);
        assert_eq!(names(&queue.take(1)), [""; 0]);
        assert!(queue.is_empty() && queue.wanted.is_empty());
    }

    #[test]
    fn u12_nothing_is_to_be_sent_again_once_it_was_taken_back() {
        let mut queue = Queue::default();
        queue.want(None, key("x"));
        queue.want(None, key("a"));
        assert_eq!(names(&queue.take(9)), ["+x", "+a"]);
        queue.renew(key("x"));
        queue.drop(key("a"));
        queue.want(None, key("a"));
        assert_eq!(names(&queue.take(2)), ["!x", "-a", "+a"]);
        queue.renew(key("a"));
        queue.drop(key("a"));
        assert_eq!(names(&queue.take(9)), ["!a", "-a"]);
    }

    proptest! {
        /// Whatever is taken when, a source is sent what is wanted: each once, and what was given up in between anew.
        #[test]
        fn u12_sources_know_what_is_wanted(steps in prop::collection::vec((0..4_u8, 0..3_usize, 0..6_u8), 0..200)) {
            let (mut queue, mut wanted, mut sent) = (Queue::default(), HashSet::new(), HashSet::new());
            let mut sent = |changes: Vec<DemandChange>| {
                for change in changes {
                    let name = change.locator().name.to_string();
                    match change {
                        DemandChange::Wanted(..) => assert!(sent.insert(name), "wanted twice"),
                        DemandChange::Renewed(..) => assert!(sent.contains(&name), "renewed, and not wanted"),
                        DemandChange::Dropped(..) => assert!(sent.remove(&name), "dropped, and not wanted"),
                    }
                }
                sent.clone()
            };
            for (what, asker, name) in steps {
                let name = name.to_string();
                match what {
                    0 if wanted.insert(name.clone()) => queue.want(Some(asker), key(&name)),
                    1 if wanted.remove(&name) => queue.drop(key(&name)),
                    2 if wanted.contains(&name) => queue.renew(key(&name)),
                    _ => drop(sent(queue.take(asker))),
                }
            }
            prop_assert_eq!(sent(queue.take(usize::MAX)), wanted);
            prop_assert!(queue.is_empty() && queue.dropped.is_empty());
        }
    }
}
