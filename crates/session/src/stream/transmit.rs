//! The next response: which type makes a step, what the step is, and what is noted of it when it is made.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use weir_types::{Commit, Cursor, Dialect, Kind, Name, Selector, Version};

use super::order::{Phase, TypeProgress, next_step};
use super::split::Split;
use super::{Logical, Mode, ServerStream, View};

/// The nonce of a response: the commit that it brings the client to, and how many responses at that commit
/// the logical stream had before. Unique per stream and type, and equal on all streams that make the same
/// step, so that they can share the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonce {
    /// The commit that the response brings the client to.
    pub commit: Commit,
    /// Counts the responses at that commit.
    pub part: u32,
}

impl Nonce {
    /// The nonce of a response that goes up to `to` and comes after `previous`.
    pub fn next(previous: Option<Self>, to: Commit) -> Self {
        let part = previous.filter(|nonce| nonce.commit == to).map_or(0, |nonce| nonce.part + 1);
        Self { commit: to, part }
    }

    /// The nonce of the next part of a step, of which this is the nonce of another one.
    pub fn following(self) -> Self {
        Self { commit: self.commit, part: self.part + 1 }
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (commit, part) = text.split_once('-')?;
        let commit = Commit(u64::from_str_radix(commit, 16).ok()?);
        Some(Self { commit, part: u32::from_str_radix(part, 16).ok()? })
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.commit.0, self.part)
    }
}

/// A step that a logical stream is about to make. Two streams for which it is equal are sent equal bytes.
pub(crate) struct Step<'a, V> {
    /// The logical stream.
    pub(crate) logical: &'a Logical<V>,
    /// The dialect of the response.
    pub(crate) dialect: Dialect,
    /// Up to where the client has been sent changes.
    pub(crate) after: Cursor,
    /// Whether to send the whole state rather than what changed.
    pub(crate) everything: bool,
    /// Whether removals have to wait for other types.
    pub(crate) hold_removals: bool,
    /// Whether to send a response even if there is nothing in it.
    pub(crate) forced: bool,
}

impl<V: View> Step<'_, V> {
    /// What must be sent though it did not change.
    pub(crate) fn owed(&self) -> &std::collections::BTreeSet<weir_types::Selector> {
        &self.logical.owed
    }

    /// What is due beside the changes, since it could not be sent earlier.
    pub(crate) fn unsaid(&self) -> &std::collections::BTreeSet<weir_types::Selector> {
        &self.logical.unsaid
    }

    /// What the client holds from an earlier stream.
    pub(crate) fn known(&self) -> Option<&Arc<weir_types::KnownVersions>> {
        self.logical.known.get()
    }

    /// The nonce for a response that goes up to `to`.
    pub(crate) fn nonce(&self, to: Commit) -> Nonce {
        Nonce::next(self.logical.responses.nonce(), to)
    }
}

/// A step in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Framed<F> {
    /// Up to where the client has been sent changes with it.
    pub(crate) to: Commit,
    /// The response, with the nonce that [`Step::nonce`] gives for `to`; none if there is nothing to send.
    pub(crate) frame: Option<F>,
    /// What does not fit into that response: further ones, with the nonces that [`Nonce::following`] gives.
    pub(crate) rest: Option<Arc<[F]>>,
    /// The version of what the client then has.
    pub(crate) version: Version,
    /// Whether it states that something lives on, so that it has to be sent even if nothing is different.
    pub(crate) refreshes: bool,
    /// Whether the client states to hold something against which only upstream's silence is evidence.
    pub(crate) disputed: bool,
    /// Whether it contains errors.
    pub(crate) errs: bool,
    /// Of what an error has to be sent after it, since the resource itself is in it.
    pub(crate) postponed: Arc<[Selector]>,
    /// Locators that nothing matches, which has to be sent when other locators of their names are answered.
    pub(crate) waiting: Arc<[Selector]>,
    /// For clusters: the endpoints that the client will wait for. Shared, since thousands of streams keep it.
    pub(crate) warming: Option<Arc<HashSet<Name>>>,
    /// Of those, the endpoints of clusters that the client did not have before.
    pub(crate) new_clusters: Option<Arc<[Name]>>,
}

/// Makes bytes of steps.
pub(crate) trait Framer<V> {
    /// A response in bytes.
    type Frame;
    /// The bytes of `step`, up to the newest commit of its view.
    fn frame(&mut self, step: &Step<'_, V>) -> Framed<Self::Frame>;
}

/// A response that is ready to leave.
#[derive(Debug)]
pub(crate) struct Transmit<F> {
    /// The place of its type in [`ServerStream::logical`].
    pub(crate) index: usize,
    /// Its nonce.
    pub(crate) nonce: Nonce,
    /// The version of what the client then has.
    pub(crate) version: Version,
    /// Its bytes.
    pub(crate) frame: F,
    /// Whether it states that something lives on.
    pub(crate) refreshes: bool,
}

impl<V: View, F: Clone> ServerStream<V, F> {
    /// The next response, if there is anything to send. The caller has room to send it.
    pub(crate) fn poll_transmit(
        &mut self,
        framer: &mut impl Framer<V, Frame = F>,
        now: Instant,
    ) -> Option<Transmit<F>> {
        if let Some(part) = self.next_part() {
            return Some(part);
        }
        self.look_at_endpoints();
        loop {
            let next = next_step(self.progress(), self.clusters_are_warming())?;
            let (index, hold_removals) = (next.index, next.defer_removals);
            let view = &self.logical[index].view;
            let settled = view.unsettled() == (0, 0) && view.failing() == 0 && view.unproved() == 0;
            let mut framed = framer.frame(&self.step(index, hold_removals));
            let replaces =
                next.phase == Phase::Additions && framed.warming.is_some() && self.takes_away(index);
            if replaces && !hold_removals {
                framed = framer.frame(&self.step(index, true));
            }
            // Commits go on meanwhile: what must leave before this, or before its removals, comes first.
            if next.is_overtaken(self.progress(), self.clusters_are_warming()) {
                continue;
            }
            if let Some(transmit) = self.make_step(index, hold_removals || replaces, settled, framed, now) {
                return Some(transmit);
            }
        }
    }

    /// How far each type has come.
    fn progress(&self) -> impl Iterator<Item = TypeProgress> + Clone {
        self.logical.iter().map(|logical| logical.progress(self.dialect))
    }

    /// Whether there may be something to send. If not, [`Self::poll_transmit`] would return nothing.
    pub(crate) fn is_due(&self) -> bool {
        self.split.is_some()
            || self.progress().any(|progress| progress.has_additions || progress.has_removals)
    }

    fn step(&self, index: usize, hold_removals: bool) -> Step<'_, V> {
        let logical = &self.logical[index];
        let full_state = logical.is_full_state(self.dialect);
        Step {
            logical,
            dialect: self.dialect,
            after: if self.mode.is_poll() { Cursor::default() } else { logical.view.cursor() },
            everything: full_state,
            hold_removals,
            forced: !logical.is_answered()
                && logical.gates_first_response(self.dialect)
                && logical.known.get().is_none()
                && !self.is_up_to_date(index),
        }
    }

    /// Whether the client's first request states a version, for a subscription of which a version covers everything:
    /// if it is the current one, nothing is sent.
    fn is_up_to_date(&self, index: usize) -> bool {
        let logical = &self.logical[index];
        let mut subscription = logical.view.subscription().iter();
        let is_told_by_version = self.mode.is_poll()
            || self.dialect == Dialect::Sotw
                && matches!(logical.type_url.kind(), Kind::Cluster | Kind::Listener)
                && subscription.all(|selector| selector.locator.is_wildcard());
        let states_version = logical.version.is_some() || self.mode.rejected().is_some();
        !logical.is_answered() && is_told_by_version && states_version
    }

    /// Whether the client of an aggregated stream has something that is gone.
    fn takes_away(&self, index: usize) -> bool {
        let logical = &self.logical[index];
        let removals = logical.view.head().removals > logical.view.cursor().removals;
        self.mode == Mode::Aggregated && logical.is_answered() && removals
    }

    /// Moves the logical stream over a step that was encoded when the subscription was `settled` or not.
    /// Returns the response, unless there is nothing to send.
    fn make_step(
        &mut self,
        index: usize,
        hold_removals: bool,
        settled: bool,
        framed: Framed<F>,
        now: Instant,
    ) -> Option<Transmit<F>> {
        let up_to_date = self.is_up_to_date(index);
        let logical = &mut self.logical[index];
        let whole = logical.is_full_state(self.dialect) || self.mode.is_poll();
        let same = [logical.version, self.mode.rejected()].contains(&Some(framed.version));
        // In state of the world, a response that repeats what the client has is empty (but when asked).
        let news = framed.refreshes || framed.errs && !self.mode.is_poll();
        let silent =
            same && !news && logical.owed.is_empty() && whole && (logical.is_answered() || up_to_date);
        let Cursor { removals, .. } = logical.view.cursor();
        let removals = if hold_removals { removals } else { framed.to };
        logical.view.advance(Cursor { additions: framed.to, removals });
        logical.owed.clear();
        if !hold_removals {
            logical.unsaid.clear();
            logical.unsaid_is_due = false;
        }
        logical.unsaid_is_due |= !framed.postponed.is_empty();
        logical.unsaid.extend(framed.postponed.iter().chain(&*framed.waiting).cloned());
        logical.responses.make_step();
        if !hold_removals {
            logical.known.compare(settled && !framed.disputed);
        }
        let Some(frame) = framed.frame.filter(|_| !silent) else {
            logical.answer_for_silence();
            return None;
        };
        let nonce = Nonce::next(logical.responses.nonce(), framed.to);
        if logical.type_url.kind() == Kind::Cluster {
            self.begin_warming(framed.new_clusters, now);
        }
        let logical = &mut self.logical[index];
        let last = framed.rest.is_none();
        logical.sent(nonce, framed.version, last && !hold_removals);
        logical.unfinished = !last;
        self.split = framed.rest.map(|parts| {
            let type_url = logical.type_url.clone();
            Box::new(Split { type_url, version: framed.version, parts, next: 0, whole: !hold_removals })
        });
        if let Some(clusters) = framed.warming {
            self.warm(clusters);
        }
        Some(Transmit { index, nonce, version: framed.version, frame, refreshes: framed.refreshes })
    }

    /// After a change of its cluster, a delta client waits for endpoints that it does not ask for.
    fn warm(&mut self, clusters: Arc<HashSet<Name>>) {
        if self.mode != Mode::Aggregated || self.dialect != Dialect::Delta {
            return;
        }
        let mut logical = self.logical.iter_mut();
        match logical.find(|l| l.type_url.kind() == Kind::ClusterLoadAssignment) {
            Some(endpoints) => endpoints.owe(&clusters, &self.parameters),
            None => self.warming.add(clusters),
        }
    }
}

impl<V: View> Logical<V> {
    /// How far it has come, as its turn among the types follows from it.
    fn progress(&self, dialect: Dialect) -> TypeProgress {
        TypeProgress {
            kind: self.type_url.kind(),
            has_additions: self.has_additions(dialect),
            has_removals: self.has_removals(),
            is_awaited: !self.is_answered() || self.is_asked_for(),
        }
    }

    /// Whether the client is to be sent something that it has just asked for: it waits for that, and for nothing else.
    fn is_asked_for(&self) -> bool {
        !self.owed.is_empty() || self.view.head().answers > self.view.cursor().additions
    }

    fn has_additions(&self, dialect: Dialect) -> bool {
        if !self.is_answered() && self.gates_first_response(dialect) {
            return self.may_respond_first(dialect);
        }
        !self.owed.is_empty() || self.view.head().additions > self.view.cursor().additions
    }

    /// Whether there are removals to be sent. After a step that had to hold them back, there may always be.
    fn has_removals(&self) -> bool {
        let cursor = self.view.cursor();
        let held_back = cursor.removals < cursor.additions;
        let left = held_back || self.known.needs_recheck() || self.unsaid_is_due;
        self.is_answered() && (left || self.view.head().removals > cursor.removals)
    }
}
