//! What streams read of a view without the lock of its type.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use slab::Slab;
use weir_types::{Breadth, Commit, Head, Subscription};

use super::{Barred, Identity, UnavailableCounts, Unsettled, ViewListener};
use crate::selection::Selection;
use crate::watch::Watches;

/// What streams read of a view without taking the type's lock.
pub(crate) struct Shared {
    /// Unique over all views of all types and times.
    pub(crate) serial: u64,
    pub(crate) subscription: Subscription,
    pub(crate) identity: Identity,
    /// Counted when somebody looks.
    barred: OnceLock<Barred>,
    additions: AtomicU64,
    removals: AtomicU64,
    answers: AtomicU64,
    /// How many selections still wait for an answer: names, then collections.
    unsettled: [AtomicUsize; 2],
    failing: AtomicUsize,
    unproved: AtomicUsize,
    unavailable: Mutex<UnavailableCounts>,
    subscribers: Mutex<Slab<Arc<dyn ViewListener>>>,
    pub(crate) watches: Watches,
}

impl Shared {
    /// Of a view of which everything up to `head` is to be looked at.
    pub(super) fn new(serial: u64, (identity, subscription): (Identity, Subscription), head: Commit) -> Self {
        Self {
            serial,
            subscription,
            identity,
            barred: OnceLock::new(),
            additions: AtomicU64::new(head.0),
            removals: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            unsettled: [const { AtomicUsize::new(0) }; 2],
            failing: AtomicUsize::new(0),
            unproved: AtomicUsize::new(0),
            unavailable: Mutex::default(),
            subscribers: Mutex::default(),
            watches: Watches::default(),
        }
    }

    pub(crate) fn head(&self) -> Head {
        Head {
            additions: Commit(self.additions.load(Ordering::Acquire)),
            removals: Commit(self.removals.load(Ordering::Acquire)),
            answers: Commit(self.answers.load(Ordering::Acquire)),
        }
    }

    /// Notes the newest changes; what is older than those that are known changes nothing.
    pub(super) fn advance(&self, head: Head) {
        self.additions.fetch_max(head.additions.0, Ordering::AcqRel);
        self.removals.fetch_max(head.removals.0, Ordering::AcqRel);
        self.answers.fetch_max(head.answers.0, Ordering::AcqRel);
    }

    pub(crate) fn unsettled(&self) -> Unsettled {
        let [names, collections] = &self.unsettled;
        Unsettled {
            names: names.load(Ordering::Acquire),
            collections: collections.load(Ordering::Acquire),
            failing: self.failing.load(Ordering::Acquire),
            unproved: self.unproved.load(Ordering::Acquire),
            unavailable: *self.unavailable.lock(),
        }
    }

    pub(crate) fn barred(&self) -> Barred {
        *self.barred.get_or_init(|| Barred::of(&self.subscription))
    }

    /// The counts and positions as they are now, of a view that nobody subscribes to.
    pub(super) fn frozen(&self) -> Self {
        let copy = |count: &AtomicU64| AtomicU64::new(count.load(Ordering::Acquire));
        let copy_size = |count: &AtomicUsize| AtomicUsize::new(count.load(Ordering::Acquire));
        Self {
            serial: self.serial,
            subscription: Subscription::default(),
            identity: self.identity.clone(),
            barred: OnceLock::new(),
            additions: copy(&self.additions),
            removals: copy(&self.removals),
            answers: copy(&self.answers),
            unsettled: [copy_size(&self.unsettled[0]), copy_size(&self.unsettled[1])],
            failing: copy_size(&self.failing),
            unproved: copy_size(&self.unproved),
            unavailable: Mutex::new(*self.unavailable.lock()),
            subscribers: Mutex::default(),
            watches: Watches::default(),
        }
    }

    /// Counts a selection that the view contains from now on.
    pub(crate) fn count(&self, selection: &Selection) {
        if !selection.is_settled() {
            self.unsettled[usize::from(selection.is_collection())].fetch_add(1, Ordering::AcqRel);
        }
        if selection.is_failing() {
            self.count_failing(true);
        }
        if selection.is_unproved() {
            self.count_unproved(true);
        }
        if selection.is_unavailable() {
            self.count_unavailable(selection.breadth(), true);
        }
    }

    /// Notes that whoever subscribes now is to look at everything up to `now`.
    pub(crate) fn note_subscribed(&self, now: Commit) {
        self.additions.fetch_max(now.0, Ordering::AcqRel);
    }

    /// Counts a selection that was first answered with a commit.
    pub(crate) fn settle_one(&self, collection: bool, at: Commit) {
        self.unsettled[usize::from(collection)].fetch_sub(1, Ordering::AcqRel);
        self.answers.fetch_max(at.0, Ordering::AcqRel);
    }

    /// Counts a selection that fails from now on, or does no more.
    pub(crate) fn count_failing(&self, fails: bool) {
        match fails {
            true => self.failing.fetch_add(1, Ordering::AcqRel),
            false => self.failing.fetch_sub(1, Ordering::AcqRel),
        };
    }

    /// Counts a collection that upstream does not answer in time, or has answered after all.
    pub(crate) fn count_unproved(&self, unproved: bool) {
        match unproved {
            true => self.unproved.fetch_add(1, Ordering::AcqRel),
            false => self.unproved.fetch_sub(1, Ordering::AcqRel),
        };
    }

    /// Counts a selection of which nothing is known and for which nobody can be asked from now on, or somebody can.
    pub(crate) fn count_unavailable(&self, breadth: Breadth, unavailable: bool) {
        let mut counts = self.unavailable.lock();
        let count = counts.of(breadth);
        *count = if unavailable { *count + 1 } else { count.saturating_sub(1) };
    }

    pub(crate) fn enlist(&self, subscriber: Arc<dyn ViewListener>) -> usize {
        self.subscribers.lock().insert(subscriber)
    }

    pub(crate) fn delist(&self, slot: usize) {
        self.subscribers.lock().try_remove(slot);
    }

    pub(crate) fn wake_all(&self) {
        for (_, subscriber) in self.subscribers.lock().iter() {
            subscriber.wake();
        }
    }
}
