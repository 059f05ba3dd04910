//! Watches: whether the streams that a commit concerns have answered for it.
//!
//! Owns one tally per watched commit, and per view the list of watches that its streams have yet to answer. Each
//! stream stores the newest commit that it has answered for, and has yet to answer every later watch. So watching a
//! commit costs the same for any number of streams, and an answer costs one comparison where nothing is watched.
//! Never knows of nonces, nor what is done with the outcome.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use weir_types::{Commit, Subscription};

use crate::view::ViewListener;

/// Follows a commit. Streams and commits wait for what is called here, so it has to be short.
pub trait Observer: Send + Sync {
    /// Called once, when the required number of streams has answered.
    fn over(&self) {}

    /// The commit has touched these views. Called before any of their streams can be sent the commit; the places in the list
    /// are what identifies the views in the calls that follow.
    fn touched(&self, _views: &[Touched<'_>]) {}

    /// A stream of a view is sent the commit.
    fn sent(&self, _view: usize) {}

    /// A stream that was at a view at the commit is done with it.
    fn answered(&self, _view: usize, _stream: &dyn ViewListener, _answer: Answer<'_>) {}

    /// What goes along, unread, with responses to streams of a view.
    fn note(&self, _view: usize) -> Option<Arc<[u8]>> {
        None
    }
}

/// A view that a commit has touched.
#[derive(Clone, Copy, Debug)]
pub struct Touched<'a> {
    /// Which view it is; never given twice.
    pub view: u64,
    /// What its streams are subscribed to.
    pub subscription: &'a Subscription,
    /// How many streams there are at it.
    pub streams: usize,
}

/// How one stream is done with a commit.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// It has accepted what it was sent, or had to be sent nothing.
    Accepted,
    /// It has rejected it, and stated why.
    Rejected(&'a str),
    /// It was gone before it answered.
    Left,
}

/// What became of the streams that a commit concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many streams there were.
    pub subscribers: usize,
    /// How many have accepted what they were sent, or had to be sent nothing.
    pub accepted: usize,
    /// How many have rejected it.
    pub rejected: usize,
    /// How many were gone before they answered.
    pub left: usize,
    /// The message of the first one that rejected it.
    pub reason: Option<String>,
}

impl Tally {
    /// How many need not be waited for any more.
    pub fn done(&self) -> usize {
        self.accepted + self.rejected + self.left
    }
}

/// A commit, watched until this and all its clones are dropped.
#[derive(Clone)]
pub struct Watch(Arc<Watched>);

impl Watch {
    /// Of a commit that touches these views, of whose streams `percent` are waited for.
    pub(crate) fn new(
        commit: Commit,
        touched: &[Touched<'_>],
        percent: u8,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let subscribers = touched.iter().map(|touched| touched.streams).sum::<usize>();
        let enough = (subscribers * usize::from(percent.min(100))).div_ceil(100);
        let tally = Mutex::new(Tally { subscribers, ..Tally::default() });
        observer.touched(touched);
        Self(Arc::new(Watched { commit, enough, over: AtomicBool::new(enough == 0), tally, observer }))
    }

    /// Whether as many streams are done as were to be waited for.
    pub fn is_over(&self) -> bool {
        self.0.over.load(Ordering::Acquire)
    }

    /// How it stands.
    pub fn tally(&self) -> Tally {
        self.0.tally.lock().clone()
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("commit", &self.0.commit).field("tally", &self.tally()).finish()
    }
}

/// A commit that somebody watches.
struct Watched {
    commit: Commit,
    /// How many streams have to be done.
    enough: usize,
    over: AtomicBool,
    tally: Mutex<Tally>,
    observer: Arc<dyn Observer>,
}

/// A watched commit at one of the views that it has touched, by the view's place among them.
#[derive(Clone)]
struct AtView<W>(W, usize);

impl AtView<Weak<Watched>> {
    fn upgrade(&self) -> Option<AtView<Arc<Watched>>> {
        self.0.upgrade().map(|watched| AtView(watched, self.1))
    }
}

impl AtView<Arc<Watched>> {
    fn count(&self, stream: &dyn ViewListener, answer: Answer<'_>) {
        let Self(watched, view) = self;
        watched.observer.answered(*view, stream, answer);
        let over = {
            let mut tally = watched.tally.lock();
            match answer {
                Answer::Accepted => tally.accepted += 1,
                Answer::Rejected(reason) => {
                    tally.rejected += 1;
                    tally.reason.get_or_insert_with(|| reason.to_owned());
                }
                Answer::Left => tally.left += 1,
            }
            tally.done() >= watched.enough
        };
        if over && !watched.over.swap(true, Ordering::AcqRel) {
            watched.observer.over();
        }
    }
}

/// The watches of the commits that have touched a view.
#[derive(Default)]
pub(crate) struct Watches {
    /// The newest watched commit.
    newest: AtomicU64,
    /// By commit. What nobody looks at any more is dropped on the way.
    open: Mutex<Vec<AtView<Weak<Watched>>>>,
}

impl Watches {
    /// To be called under the type's lock, at the commit. `place` is the view's among those that it touched.
    pub(crate) fn add(&self, watch: &Watch, place: usize) {
        let mut open = self.open.lock();
        open.retain(|other| other.0.strong_count() > 0);
        open.push(AtView(Arc::downgrade(&watch.0), place));
        self.newest.store(watch.0.commit.0, Ordering::Release);
    }

    /// Those after `from` and up to `to`, by commit.
    fn between(&self, from: Commit, to: Commit) -> Vec<AtView<Arc<Watched>>> {
        if self.newest.load(Ordering::Acquire) <= from.0 || to <= from {
            return Vec::new();
        }
        let mut found = Vec::new();
        self.open.lock().retain(|at_view| {
            let Some(at_view) = at_view.upgrade() else { return false };
            if at_view.0.commit > from && at_view.0.commit <= to {
                found.push(at_view);
            }
            true
        });
        found
    }

    /// Returns the note of the newest watched commit after `from` and up to `to` that has one.
    pub(crate) fn note(&self, from: Commit, to: Commit) -> Option<Arc<[u8]>> {
        let noted = self.between(from, to);
        noted.iter().rev().find_map(|AtView(watched, view)| watched.observer.note(*view))
    }
}

/// The watches that one stream has yet to answer.
#[derive(Default)]
pub(crate) struct Answers {
    /// Those of its view up to here are answered, or do not concern it.
    upto: Commit,
    /// Up to which commit the stream was sent changes.
    sent: AtomicU64,
    /// Brought along from views that it has left.
    carried: Box<[AtView<Weak<Watched>>]>,
}

impl Answers {
    /// Of a stream that comes to its view at `now`.
    pub(crate) fn from(now: Commit) -> Self {
        Self { upto: now, sent: AtomicU64::new(0), carried: Box::default() }
    }

    /// Notes that the stream is sent everything up to `to`.
    pub(crate) fn note_sent(&self, view: &Watches, to: Commit) {
        let from = Commit(self.sent.fetch_max(to.0, Ordering::AcqRel));
        for AtView(watched, view) in view.between(from.max(self.upto), to) {
            watched.observer.sent(view);
        }
        for AtView(watched, view) in self.carried.iter().filter_map(AtView::upgrade) {
            if watched.commit > from && watched.commit <= to {
                watched.observer.sent(view);
            }
        }
    }

    /// Answers for everything up to `to`.
    pub(crate) fn give(&mut self, view: &Watches, to: Commit, stream: &dyn ViewListener, answer: Answer<'_>) {
        view.between(self.upto, to).iter().for_each(|at_view| at_view.count(stream, answer));
        self.upto = self.upto.max(to);
        if self.carried.is_empty() {
            return;
        }
        let mut carried = std::mem::take(&mut self.carried).into_vec();
        carried.retain(|at_view| {
            let Some(at_view) = at_view.upgrade() else { return false };
            let due = at_view.0.commit <= to;
            if due {
                at_view.count(stream, answer);
            }
            !due
        });
        self.carried = carried.into();
    }

    /// Goes from `view` to another one, which it comes to at `now`.
    pub(crate) fn carry(&mut self, view: &Watches, now: Commit) {
        let carried = std::mem::take(&mut self.carried).into_iter();
        let carried = carried.filter(|at_view| at_view.0.strong_count() > 0);
        let owed = view.between(self.upto, Commit(u64::MAX)).into_iter();
        let owed = owed.map(|AtView(watched, view)| AtView(Arc::downgrade(&watched), view));
        self.carried = carried.chain(owed).collect();
        self.upto = now;
    }
}
