//! The next response: which type makes a step, what the step is, and what is noted of it when it is made.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use weir_types::{Commit, Cursor, Dialect, Kind, Name, Version};

use super::order::{Phase, TypeProgress, next_step};
use super::split::Split;
use super::{Logical, Mode, ServerStream};
use crate::responses::{EncodedResponse, ResponseCache, StreamResponses};

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
pub(crate) struct Step<'a> {
    /// The logical stream.
    pub(crate) logical: &'a Logical,
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

impl Step<'_> {
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

/// A response that is ready to leave.
#[derive(Debug)]
pub struct OutgoingResponse {
    /// The place of its type in [`Session::types`](crate::Session::types).
    pub index: usize,
    /// Its nonce.
    pub nonce: Nonce,
    /// The version of what the client then has.
    pub version: Version,
    /// Its bytes, in the frame that gRPC puts around a message.
    pub frame: Bytes,
    /// Whether it refreshes what lives on.
    pub refreshes: bool,
    /// Of a poll: whether it must not be kept for anyone else.
    pub uncacheable: bool,
}

impl ServerStream {
    /// The next response, if there is anything to send. The caller has room to send it.
    pub(crate) fn poll_transmit<C: ResponseCache>(
        &mut self,
        responses: &StreamResponses<'_, C>,
    ) -> Option<OutgoingResponse> {
        if let Some(part) = self.next_part() {
            return Some(part);
        }
        self.look_at_endpoints();
        loop {
            let next = next_step(self.progress(), self.clusters_are_warming())?;
            let (index, hold_removals) = (next.index, next.defer_removals);
            let view = &self.logical[index].view;
            let settled = view.unsettled() == (0, 0) && view.failing() == 0 && view.unproved() == 0;
            let mut response = responses.get_or_make(&self.step(index, hold_removals));
            let replaces =
                next.phase == Phase::Additions && response.warming.is_some() && self.takes_away(index);
            if replaces && !hold_removals {
                response = responses.get_or_make(&self.step(index, true));
            }
            // Commits go on meanwhile: what must leave before this, or before its removals, comes first.
            if next.is_overtaken(self.progress(), self.clusters_are_warming()) {
                continue;
            }
            if let Some(transmit) =
                self.make_step(index, hold_removals || replaces, settled, response, responses.now)
            {
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

    fn step(&self, index: usize, hold_removals: bool) -> Step<'_> {
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
        response: EncodedResponse,
        now: Instant,
    ) -> Option<OutgoingResponse> {
        let up_to_date = self.is_up_to_date(index);
        let version = if self.mode.is_poll() { response.poll_version } else { response.version };
        let logical = &mut self.logical[index];
        let whole = logical.is_full_state(self.dialect) || self.mode.is_poll();
        let same = [logical.version, self.mode.rejected()].contains(&Some(version));
        // In state of the world, a response that repeats what the client has is empty (but when asked).
        let news = response.refreshes || response.has_errors && !self.mode.is_poll();
        let silent =
            same && !news && logical.owed.is_empty() && whole && (logical.is_answered() || up_to_date);
        let Cursor { removals, .. } = logical.view.cursor();
        let removals = if hold_removals { removals } else { response.to };
        logical.view.advance(Cursor { additions: response.to, removals });
        logical.owed.clear();
        if !hold_removals {
            logical.unsaid.clear();
            logical.unsaid_is_due = false;
        }
        logical.unsaid_is_due |= !response.postponed.is_empty();
        logical.unsaid.extend(response.postponed.iter().chain(&*response.waiting).cloned());
        logical.responses.make_step();
        if !hold_removals {
            logical.known.compare(settled && !response.disputed);
        }
        let Some(frame) = response.frame.filter(|_| !silent) else {
            logical.answer_for_silence();
            return None;
        };
        let nonce = Nonce::next(logical.responses.nonce(), response.to);
        if logical.type_url.kind() == Kind::Cluster {
            self.begin_warming(response.new_clusters, now);
        }
        let logical = &mut self.logical[index];
        let last = response.rest.is_none();
        logical.sent(nonce, version, last && !hold_removals);
        logical.unfinished = !last;
        self.split = response.rest.map(|parts| {
            let type_url = logical.type_url.clone();
            Box::new(Split { type_url, version, parts, next: 0, whole: !hold_removals })
        });
        if let Some(clusters) = response.warming {
            self.warm(clusters);
        }
        let EncodedResponse { refreshes, uncacheable, .. } = response;
        Some(OutgoingResponse { index, nonce, version, frame, refreshes, uncacheable })
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

impl Logical {
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
