//! Views: what streams with equal subscriptions share.
//!
//! A view is the interned identity of (type, set of selectors). It knows which of its selections changed
//! when, and where the cursors of its streams are; the contents belong to the selections. A stream's own
//! state is a cursor, whatever the number of resources.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use parking_lot::Mutex;
use slab::Slab;
use weir_types::{Breadth, Commit, Cursor, Fingerprint, Form, Head, Selector, Subscription, Withheld};

use crate::limits::Quota;
use crate::selection::{Change, Selection, Tombstone};
use crate::type_cache::Query;
use crate::watch::Watches;

/// The place of a view in its type's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ViewId(pub(crate) usize);

/// The place of a selection in its type's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SelectionId(pub(crate) usize);

/// What tells views apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    subscription: Fingerprint,
    /// Which selections are not the first of their locator, and how they are asked for.
    younger: Vec<(u64, Form)>,
}

impl Identity {
    pub(crate) fn new(subscription: Fingerprint, mut younger: Vec<(u64, Form)>) -> Self {
        younger.sort_unstable();
        Self { subscription, younger }
    }

    /// What is subscribed to.
    pub(crate) fn subscription(&self) -> Fingerprint {
        self.subscription
    }
}

/// Whoever wants to know that a view has changed.
pub trait Subscriber: Send + Sync {
    /// Called after a commit, outside of all locks but the view's list of subscribers: only to wake.
    fn wake(&self);

    /// Who it is, to people.
    fn name(&self) -> Arc<str> {
        Arc::default()
    }

    /// What counts what the client asks for, if anything does.
    fn quota(&self) -> Option<&Arc<Quota>> {
        None
    }
}

/// How much of a subscription upstream has not answered yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// Names that are neither present nor known to be absent.
    pub names: usize,
    /// Collections of which it is not known what there is.
    pub collections: usize,
    /// Names of which upstream has only said that it cannot tell for now (a transient error). Not among `names`.
    pub failing: usize,
    /// Collections that upstream did not answer in time. Not among `collections`.
    pub unproved: usize,
    /// Of the names and collections, those that nobody can be asked for.
    pub away: Away,
}

/// What nothing is known of while no control plane can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Away {
    /// Names.
    pub names: usize,
    /// Globs.
    pub globs: usize,
    /// Wildcards.
    pub wildcards: usize,
}

impl Unsettled {
    /// Whether upstream has answered everything, or said that it cannot tell.
    pub fn is_settled(self) -> bool {
        self.names + self.collections == 0
    }
}

impl Away {
    /// How much it is in all.
    pub fn total(self) -> usize {
        self.names + self.globs + self.wildcards
    }

    pub(crate) fn of(&mut self, breadth: Breadth) -> &mut usize {
        match breadth {
            Breadth::Name => &mut self.names,
            Breadth::Glob => &mut self.globs,
            Breadth::Wildcard => &mut self.wildcards,
        }
    }
}

/// How much of a subscription is not given to its streams, whatever there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Barred {
    /// What is for others.
    pub denied: usize,
    /// What is beyond the limits.
    pub exhausted: usize,
}

impl Barred {
    fn of(subscription: &Subscription) -> Self {
        let mut barred = Self::default();
        for why in subscription.iter().filter_map(|selector| selector.locator.parameters.why_withheld()) {
            match why {
                Withheld::Denied => barred.denied += 1,
                Withheld::Exhausted(_) => barred.exhausted += 1,
            }
        }
        barred
    }
}

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
    away: Mutex<Away>,
    subscribers: Mutex<Slab<Arc<dyn Subscriber>>>,
    pub(crate) watches: Watches,
}

impl Shared {
    pub(crate) fn head(&self) -> Head {
        Head {
            additions: Commit(self.additions.load(Ordering::Acquire)),
            removals: Commit(self.removals.load(Ordering::Acquire)),
            answers: Commit(self.answers.load(Ordering::Acquire)),
        }
    }

    pub(crate) fn unsettled(&self) -> Unsettled {
        let [names, collections] = &self.unsettled;
        Unsettled {
            names: names.load(Ordering::Acquire),
            collections: collections.load(Ordering::Acquire),
            failing: self.failing.load(Ordering::Acquire),
            unproved: self.unproved.load(Ordering::Acquire),
            away: *self.away.lock(),
        }
    }

    pub(crate) fn barred(&self) -> Barred {
        *self.barred.get_or_init(|| Barred::of(&self.subscription))
    }

    /// The counts and positions as they are now, of a view that nobody subscribes to.
    fn frozen(&self) -> Self {
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
            away: Mutex::new(*self.away.lock()),
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
        if selection.is_away() {
            self.count_away(selection.breadth(), true);
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
    pub(crate) fn count_away(&self, breadth: Breadth, away: bool) {
        let mut counts = self.away.lock();
        let count = counts.of(breadth);
        *count = if away { *count + 1 } else { count.saturating_sub(1) };
    }

    pub(crate) fn enlist(&self, subscriber: Arc<dyn Subscriber>) -> usize {
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

/// What the type's lock guards of a view.
pub(crate) struct View {
    pub(crate) shared: Arc<Shared>,
    /// Shared with copies of the view; fixed once the view is complete.
    pub(crate) selections: Arc<IndexMap<Selector, SelectionId>>,
    /// How many of the selections are collections.
    pub(crate) collections: usize,
    /// An order-independent hash of what the selections show: what two of them show counts twice.
    pub(crate) sum: u64,
    /// Which selections changed when; each once, by its newest change.
    recent: BTreeSet<(Commit, SelectionId)>,
    newest: HashMap<SelectionId, Commit>,
    /// Where the streams are, and how many at each place.
    cursors: BTreeMap<Cursor, usize>,
    /// How many streams are attached.
    pub(crate) streams: usize,
}

impl View {
    pub(crate) fn new(serial: u64, (identity, subscription): (Identity, Subscription), head: Commit) -> Self {
        let shared = Shared {
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
            away: Mutex::default(),
            subscribers: Mutex::default(),
            watches: Watches::default(),
        };
        Self {
            shared: Arc::new(shared),
            selections: Arc::default(),
            collections: 0,
            sum: 0,
            recent: BTreeSet::new(),
            newest: HashMap::new(),
            cursors: BTreeMap::new(),
            streams: 0,
        }
    }

    /// The view as it is now, without its changes: later ones do not reach it.
    pub(crate) fn frozen(&self) -> Self {
        Self {
            shared: Arc::new(self.shared.frozen()),
            selections: Arc::clone(&self.selections),
            collections: self.collections,
            sum: self.sum,
            recent: BTreeSet::new(),
            newest: HashMap::new(),
            cursors: BTreeMap::new(),
            streams: 0,
        }
    }

    /// Which selections changed after `after`, and when, in order.
    pub(crate) fn changes_after(&self, after: Commit) -> Vec<(Commit, SelectionId)> {
        let from = (Commit(after.0 + 1), SelectionId(0));
        self.recent.range(from..).copied().collect()
    }

    /// Gives a frozen view its changes.
    pub(crate) fn set_changes(&mut self, changes: Vec<(Commit, SelectionId)>) {
        self.recent = changes.into_iter().collect();
    }

    /// Notes that `selection` changed.
    pub(crate) fn touch(&mut self, selection: SelectionId, at: Commit, change: Change) {
        if change != Change::Removed {
            self.shared.additions.fetch_max(at.0, Ordering::AcqRel);
        }
        if matches!(change, Change::Removed | Change::Moved) {
            self.shared.removals.fetch_max(at.0, Ordering::AcqRel);
        }
        self.note(selection, at);
        let seen_by_all = self.cursors.keys().next().map_or(at, |cursor| cursor.removals);
        while let Some(&(old, selection)) = self.recent.first().filter(|(old, _)| *old <= seen_by_all) {
            self.recent.remove(&(old, selection));
            self.newest.remove(&selection);
        }
    }

    /// Notes that a selection changed.
    pub(crate) fn note(&mut self, selection: SelectionId, at: Commit) {
        match self.newest.insert(selection, at) {
            Some(before) if before >= at => {
                self.newest.insert(selection, before);
            }
            before => {
                before.map(|before| self.recent.remove(&(before, selection)));
                self.recent.insert((at, selection));
            }
        }
    }

    /// The selections that changed after `after`.
    pub(crate) fn touched_since(&self, after: Commit) -> impl Iterator<Item = SelectionId> {
        let from = (Commit(after.0 + 1), SelectionId(0));
        self.recent.range(from..).map(|(_, selection)| *selection)
    }

    /// Takes over what a stream that comes from `base` with `cursor` has not been told yet of the selections
    /// that both views contain.
    pub(crate) fn inherit(&mut self, base: &Self, cursor: Cursor, contains: impl Fn(SelectionId) -> bool) {
        let from = (Commit(cursor.removals.0 + 1), SelectionId(0));
        for (at, selection) in base.recent.range(from..).filter(|(_, s)| contains(*s)) {
            self.note(*selection, *at);
        }
        let head = base.shared.head();
        self.shared.additions.fetch_max(head.additions.0, Ordering::AcqRel);
        self.shared.removals.fetch_max(head.removals.0, Ordering::AcqRel);
        self.shared.answers.fetch_max(head.answers.0, Ordering::AcqRel);
    }

    /// Whether a stream of this view may hold what died here and has not been told.
    pub(crate) fn needs(&self, tombstone: &Tombstone) -> bool {
        let behind = self.cursors.keys().take_while(|cursor| cursor.removals < tombstone.died);
        behind.into_iter().any(|cursor| cursor.additions >= tombstone.born)
    }

    /// Up to where the stream that is furthest behind was told of everything; of nobody, up to now.
    pub(crate) fn told_to(&self) -> Commit {
        self.cursors.keys().next().map_or(self.shared.head().newest(), |cursor| cursor.removals)
    }

    /// Whether what a client states to hold is to be compared with what there is: names, once all are answered.
    pub(crate) fn may_have_forgotten(&self, query: &Query<'_>) -> bool {
        let comparable = self.collections > 0 || self.shared.unsettled().names == 0;
        query.known.is_some() && !query.hold_removals && comparable
    }

    /// Whether as many cursors are known as streams are attached.
    pub(crate) fn is_counted(&self) -> bool {
        self.cursors.values().sum::<usize>() == self.streams
    }

    pub(crate) fn place(&mut self, cursor: Cursor) {
        *self.cursors.entry(cursor).or_default() += 1;
    }

    pub(crate) fn lift(&mut self, cursor: Cursor) {
        if let Some(count) = self.cursors.get_mut(&cursor) {
            *count -= 1;
            if *count == 0 {
                self.cursors.remove(&cursor);
            }
        }
    }
}
