//! Views: what streams with equal subscriptions share.
//!
//! A view is the interned identity of (type, set of selectors). It knows which of its selections changed
//! when, and where the cursors of its streams are; the contents belong to the selections. A stream's own
//! state is a cursor, whatever the number of resources.

mod counts;
mod shared;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use indexmap::IndexMap;
use weir_types::{Commit, Cursor, Fingerprint, Form, Head, Selector, Subscription};

use crate::limits::Quota;
use crate::selection::{Change, Tombstone};
use crate::type_cache::Query;

pub use self::counts::{Barred, UnavailableCounts, Unsettled};
pub(crate) use self::shared::Shared;

/// The place of a view in its type's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ViewId(pub(crate) usize);

/// The place of a selection in its type's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SelectionId(pub(crate) usize);

/// What distinguishes views.
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
pub trait ViewListener: Send + Sync {
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
        Self {
            shared: Arc::new(Shared::new(serial, (identity, subscription), head)),
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
        let [adds, removes] = [change != Change::Removed, matches!(change, Change::Removed | Change::Moved)];
        let [additions, removals] = [adds, removes].map(|is| if is { at } else { Commit::NONE });
        self.shared.advance(Head { additions, removals, answers: Commit::NONE });
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

    /// Takes over what a stream that comes from `base` with `cursor` has not been sent yet of the selections
    /// that both views contain.
    pub(crate) fn inherit(&mut self, base: &Self, cursor: Cursor, contains: impl Fn(SelectionId) -> bool) {
        let from = (Commit(cursor.removals.0 + 1), SelectionId(0));
        for (at, selection) in base.recent.range(from..).filter(|(_, s)| contains(*s)) {
            self.note(*selection, *at);
        }
        self.shared.advance(base.shared.head());
    }

    /// Whether a stream of this view may hold what died here and has not been sent its removal.
    pub(crate) fn needs(&self, tombstone: &Tombstone) -> bool {
        let behind = self.cursors.keys().take_while(|cursor| cursor.removals < tombstone.died);
        behind.into_iter().any(|cursor| cursor.additions >= tombstone.born)
    }

    /// Up to where the stream that is furthest behind was sent everything; where there is none, up to now.
    pub(crate) fn sent_to(&self) -> Commit {
        self.cursors.keys().next().map_or(self.shared.head().newest(), |cursor| cursor.removals)
    }

    /// Whether what a client states to hold is to be compared with what there is: names, once all are answered.
    pub(crate) fn may_have_forgotten(&self, query: &Query<'_>) -> bool {
        let comparable = self.collections > 0 || self.shared.unsettled().names == 0;
        query.known.is_some() && !query.defers_removals() && comparable
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
