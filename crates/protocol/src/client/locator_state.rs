//! State of one wanted locator: what was sent of it, and what the server has answered.

use std::sync::Arc;
use std::time::Instant;

use weir_types::{Absence, Breadth, ResourceError};

use super::collections::QUIET;

/// State of one wanted locator.
#[derive(Clone, Debug, Default)]
pub(super) struct LocatorState {
    request: RequestState,
    answer: AnswerState,
    /// The time at which silence is taken for an answer. Of a name that is answered already: at which the variants of
    /// earlier streams are dropped that the server has not sent again.
    deadline: Option<Instant>,
    /// The last error of the server, until a variant or the absence of one takes its place.
    error: Option<Arc<ResourceError>>,
}

/// What was sent of a locator on the current stream.
///
/// ```text
///   NotSent ─┬─ send ──────────────────────────────────────────────► Sent ─ renew, subscribe again ─► Stale
///            └─ subscribe again before the unsubscription was sent ► Stale ─ send ──────────────────► Sent
///
///   any ─ end of stream ► NotSent
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RequestState {
    /// The server is not subscribed to the locator.
    #[default]
    NotSent,
    /// The server has the subscription from an earlier request, and the locator has to be sent once more.
    Stale,
    /// The locator was sent in the request of its type with this number.
    Sent {
        /// Counted from [`FIRST_REQUEST`] on each stream.
        request: u32,
    },
}

/// The number of the first request of a type on a stream.
pub(super) const FIRST_REQUEST: u32 = 1;

/// What is known of a locator. It outlives streams.
///
/// ```text
///   Pending ─┬─ variant, error, whole collection ────► Answered
///            ├─ sent, while what came for others serves ► Borrowed ─ variant, error ──────────► Answered
///            ├─ part of a collection ────────────────► Partial ─ whole, quiet, silence ──────► Answered
///            ├─ silence ─────────────────────────────► TimedOut ─ variant, part, whole ──────► Answered, Partial
///            └─ absence ─────────────────────────────► Absent ─ variant ─────────────────────► Answered
///
///   Answered, Borrowed, TimedOut ─ absence ──────────► Absent
///   Answered, Borrowed ─ not sent again after a reconnect ► TimedOut
///   Answered, Borrowed ─ retract ────────────────────► Pending
///   Answered ─ sent, while what came for others serves ► Borrowed ─ end of stream ───────────► Answered
///   any ─ renew ─────────────────────────────────────► Pending
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AnswerState {
    /// Nothing is known.
    #[default]
    Pending,
    /// Some of a collection has come, and there may be more.
    Partial {
        /// The time at which that is taken for all there is; none on a stream that has brought nothing of it yet.
        completes: Option<Instant>,
    },
    /// A variant has come, or an error, or all of a collection.
    Answered,
    /// The variant that serves a name came on this stream for other locators, and the server has not answered the
    /// request for this one.
    Borrowed,
    /// The server was silent, which proves nothing.
    TimedOut,
    /// The server has answered that nothing matches the name.
    Absent,
}

impl RequestState {
    /// Whether the server takes the locator for subscribed.
    pub(super) fn is_subscribed(self) -> bool {
        self != Self::NotSent
    }

    /// Whether the server has the locator from a request that is up to date.
    pub(super) fn is_sent(self) -> bool {
        matches!(self, Self::Sent { .. })
    }

    /// Whether the locator was part of the first request of its type.
    pub(super) fn is_in_first(self) -> bool {
        self == Self::Sent { request: FIRST_REQUEST }
    }

    /// The number of the request that the locator was sent in.
    pub(super) fn number(self) -> Option<u32> {
        match self {
            Self::Sent { request } => Some(request),
            Self::NotSent | Self::Stale => None,
        }
    }

    /// The state of a locator that has to be sent once more.
    pub(super) fn renewed(self) -> Self {
        if self.is_subscribed() { Self::Stale } else { Self::NotSent }
    }
}

impl From<Absence> for AnswerState {
    fn from(absence: Absence) -> Self {
        match absence {
            Absence::Unknown => Self::Answered,
            Absence::TimedOut => Self::TimedOut,
            Absence::Known => Self::Absent,
        }
    }
}

impl LocatorState {
    /// What was sent of the locator.
    pub(super) fn request(&self) -> RequestState {
        self.request
    }

    /// When silence is taken for an answer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// When all that has come of a collection is taken for all there is.
    pub(super) fn completes(&self) -> Option<Instant> {
        match self.answer {
            AnswerState::Partial { completes } => completes,
            _ => None,
        }
    }

    /// The last error of the server.
    pub(super) fn error(&self) -> Option<&Arc<ResourceError>> {
        self.error.as_ref()
    }

    /// Whether anything is known.
    pub(super) fn is_answered(&self) -> bool {
        self.answer != AnswerState::Pending
    }

    /// Whether the server has not answered, though its silence may have been taken for an answer.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.answer, AnswerState::Pending | AnswerState::Partial { .. } | AnswerState::TimedOut)
    }

    /// Whether the locator was sent on this stream, and everything is known that is to come.
    pub(super) fn is_settled(&self) -> bool {
        let waits = matches!(self.answer, AnswerState::Pending | AnswerState::Partial { .. });
        self.request.is_sent() && !waits
    }

    /// Whether what serves the locator came for others.
    pub(super) fn is_borrowed(&self) -> bool {
        self.answer == AnswerState::Borrowed
    }

    /// What is known of the locator while no variant matches.
    pub(super) fn absence(&self) -> Absence {
        match self.answer {
            AnswerState::Pending | AnswerState::Answered | AnswerState::Borrowed => Absence::Unknown,
            AnswerState::Partial { .. } | AnswerState::TimedOut => Absence::TimedOut,
            AnswerState::Absent => Absence::Known,
        }
    }

    /// Starts from what was sent of an earlier subscription.
    pub(super) fn start_from(&mut self, request: RequestState) {
        self.request = request;
    }

    /// Starts over: the server has to send again what it has.
    pub(super) fn renew(&mut self) {
        *self = Self { request: self.request.renewed(), ..Self::default() };
    }

    /// Records that the locator was sent in a request. `held` is the answer by the variants that are held already:
    /// [`AnswerState::Pending`] if none serves. Whether there is an answer to wait for until `deadline`.
    pub(super) fn send(&mut self, request: u32, held: AnswerState, deadline: Instant) -> bool {
        self.request = RequestState::Sent { request };
        self.answer = match (self.answer, held) {
            (AnswerState::Pending, held) => held,
            (AnswerState::Answered, AnswerState::Borrowed) => AnswerState::Borrowed,
            (answer, _) => answer,
        };
        let waits = !self.is_settled();
        self.deadline = waits.then_some(deadline);
        waits
    }

    /// Records a variant that matches. Whether it is the first answer.
    pub(super) fn receive_variant(&mut self) -> bool {
        let first = !self.is_answered();
        (self.answer, self.deadline, self.error) = (AnswerState::Answered, None, None);
        first
    }

    /// Records that the server has nothing for the name.
    pub(super) fn receive_absence(&mut self) {
        (self.answer, self.deadline, self.error) = (AnswerState::Absent, None, None);
    }

    /// Records an error. What was known besides stays known.
    pub(super) fn receive_error(&mut self, error: Arc<ResourceError>) {
        if matches!(self.answer, AnswerState::Pending | AnswerState::Borrowed) {
            self.answer = AnswerState::Answered;
        }
        (self.deadline, self.error) = (None, Some(error));
    }

    /// Records that the error is over.
    pub(super) fn clear_error(&mut self) {
        self.error = None;
    }

    /// Records that all of the collection has come.
    pub(super) fn receive_whole(&mut self) {
        (self.answer, self.deadline) = (AnswerState::Answered, None);
    }

    /// Records that some of the collection has come. Whether the time begins in which more of it may come: anew, if what
    /// is held `grows`.
    pub(super) fn receive_part(&mut self, now: Instant, grows: bool) -> bool {
        let running = self.completes().filter(|_| !grows);
        let completes = Some(running.unwrap_or(now + QUIET));
        (self.answer, self.deadline) = (AnswerState::Partial { completes }, None);
        running.is_none()
    }

    /// Takes in what an earlier process knew.
    pub(super) fn restore(&mut self, answer: AnswerState) {
        (self.answer, self.deadline) = (answer, None);
    }

    /// Takes back the answer: what served the locator is gone, and the server may have something else for it.
    pub(super) fn retract(&mut self) {
        self.answer = AnswerState::Pending;
    }

    /// Waits for the server until `deadline`.
    pub(super) fn wait(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    /// Takes silence for the answer. It proves that all has come of a wildcard that was not in the first request, whose
    /// answer looks like that to others, and of a collection of which an earlier stream has brought a part, since the
    /// server may have nothing to add.
    pub(super) fn time_out(&mut self, is_collection: bool) -> Absence {
        let partial = matches!(self.answer, AnswerState::Partial { .. });
        let proves = is_collection && (partial || !self.request.is_in_first());
        self.deadline = None;
        self.answer = if proves { AnswerState::Answered } else { AnswerState::TimedOut };
        if proves { Absence::Known } else { Absence::TimedOut }
    }

    /// Forgets the stream; what is known stays.
    pub(super) fn close(&mut self) {
        (self.request, self.deadline) = (RequestState::NotSent, None);
        self.answer = match self.answer {
            AnswerState::Borrowed => AnswerState::Answered,
            AnswerState::Partial { .. } => AnswerState::Partial { completes: None },
            answer => answer,
        };
    }

    /// Panics in debug builds where the parts of the state contradict each other.
    pub(super) fn check(&self, breadth: Breadth) {
        let (name, sent, deadline) =
            (breadth == Breadth::Name, self.request.is_sent(), self.deadline.is_some());
        let consistent = match self.answer {
            AnswerState::Pending => deadline == sent,
            AnswerState::Partial { completes } => {
                !name && (completes.is_none() || sent && !deadline) && (sent || !deadline)
            }
            AnswerState::Answered | AnswerState::TimedOut => !deadline || name && sent,
            AnswerState::Borrowed => name && sent,
            AnswerState::Absent => name && !deadline,
        };
        debug_assert!(consistent, "{breadth:?} {self:?}");
    }
}
