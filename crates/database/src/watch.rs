//! Watches: whether the streams that a commit concerns have answered for it.
//!
//! Owns one tally per watched commit, and per view the list of watches that its streams have yet to answer. A
//! stream is counted by where it stands: it owes an answer to the watches after the commit that it last answered
//! for. So a commit is watched at the same price whatever the number of streams, and an answer costs one look at
//! a number where nobody watches. Never knows of nonces, nor what is done with the outcome.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use weir_types::Commit;

use crate::view::Subscriber;

/// What became of the streams that a commit concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many streams there were.
    pub subscribers: usize,
    /// How many have accepted what they were told, or had to be told nothing.
    pub accepted: usize,
    /// How many have rejected it.
    pub rejected: usize,
    /// How many were gone before they answered.
    pub left: usize,
    /// What the first one that rejected it said.
    pub reason: Option<String>,
}

impl Tally {
    /// How many need not be waited for any more.
    pub fn done(&self) -> usize {
        self.accepted + self.rejected + self.left
    }
}

/// How one stream is done with a commit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer<'a> {
    Accepted,
    Rejected(&'a str),
    Left,
}

/// A commit, watched until this is dropped.
pub struct Watch(Arc<Watched>);

impl Watch {
    /// Of a commit that concerns so many streams, of which `percent` are waited for.
    pub(crate) fn new(commit: Commit, subscribers: usize, percent: u8, waiter: Arc<dyn Subscriber>) -> Self {
        let enough = (subscribers * usize::from(percent.min(100))).div_ceil(100);
        let tally = Mutex::new(Tally { subscribers, ..Tally::default() });
        Self(Arc::new(Watched { commit, enough, over: AtomicBool::new(enough == 0), tally, waiter }))
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
pub(crate) struct Watched {
    commit: Commit,
    /// How many streams have to be done.
    enough: usize,
    over: AtomicBool,
    tally: Mutex<Tally>,
    /// Woken once, when enough are done.
    waiter: Arc<dyn Subscriber>,
}

impl Watched {
    pub(crate) fn count(&self, answer: Answer<'_>) {
        let over = {
            let mut tally = self.tally.lock();
            match answer {
                Answer::Accepted => tally.accepted += 1,
                Answer::Rejected(reason) => {
                    tally.rejected += 1;
                    tally.reason.get_or_insert_with(|| reason.to_owned());
                }
                Answer::Left => tally.left += 1,
            }
            tally.done() >= self.enough
        };
        if over && !self.over.swap(true, Ordering::AcqRel) {
            self.waiter.wake();
        }
    }
}

/// The watches of the commits that have touched a view.
#[derive(Default)]
pub(crate) struct Watches {
    /// The newest watched commit.
    newest: AtomicU64,
    /// By commit. What nobody looks at any more is dropped on the way.
    open: Mutex<Vec<Weak<Watched>>>,
}

impl Watches {
    /// To be called under the type's lock, at the commit.
    pub(crate) fn add(&self, watch: &Watch) {
        let mut open = self.open.lock();
        open.retain(|other| other.strong_count() > 0);
        open.push(Arc::downgrade(&watch.0));
        self.newest.store(watch.0.commit.0, Ordering::Release);
    }

    /// Those after `from` and up to `to`.
    pub(crate) fn between(&self, from: Commit, to: Commit) -> Vec<Arc<Watched>> {
        if self.newest.load(Ordering::Acquire) <= from.0 || to <= from {
            return Vec::new();
        }
        let mut found = Vec::new();
        self.open.lock().retain(|watched| {
            let Some(watched) = watched.upgrade() else { return false };
            if watched.commit > from && watched.commit <= to {
                found.push(watched);
            }
            true
        });
        found
    }
}

/// The watches that one stream has yet to answer.
#[derive(Default)]
pub(crate) struct Answers {
    /// Those of its view up to here are answered, or do not concern it.
    upto: Commit,
    /// Brought along from views that it has left.
    carried: Vec<Weak<Watched>>,
}

impl Answers {
    /// Of a stream that comes to its view at `now`.
    pub(crate) fn from(now: Commit) -> Self {
        Self { upto: now, carried: Vec::new() }
    }

    /// Answers for everything up to `to`.
    pub(crate) fn give(&mut self, view: &Watches, to: Commit, answer: Answer<'_>) {
        view.between(self.upto, to).iter().for_each(|watched| watched.count(answer));
        self.upto = self.upto.max(to);
        self.carried.retain(|watched| {
            let Some(watched) = watched.upgrade() else { return false };
            let due = watched.commit <= to;
            if due {
                watched.count(answer);
            }
            !due
        });
    }

    /// Goes from `view` to another one, which it comes to at `now`.
    pub(crate) fn carry(&mut self, view: &Watches, now: Commit) {
        self.carried.retain(|watched| watched.strong_count() > 0);
        self.carried.extend(view.between(self.upto, Commit(u64::MAX)).iter().map(Arc::downgrade));
        self.upto = now;
    }
}
