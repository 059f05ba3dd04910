//! How far the exchange of responses and verdicts of one type has come.
//!
//! ```text
//!                        nothing to send
//!  AwaitingFirst ──────────────────────────> NothingSent
//!        │                                        │
//!        │ response                               │ response
//!        v              ACK or NACK               v
//!    Outstanding ─────────────────────────> Acknowledged
//!        ^ │                                      │
//!        └─┴────────────── response ──────────────┘
//! ```
//!
//! A response may also leave while another is outstanding; the verdict on the older one is then stale. A NACK
//! acknowledges too: whether the newest verdict is a rejection is independent of it, and stands beside it.

use std::time::Instant;

use super::Nonce;

/// How a first response that names unanswered resources may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstResponse {
    /// Complete and proved only: the client has stated a version, so it has resources of an earlier stream (SotW).
    Proved,
    /// Complete only: it waits for every name.
    Complete,
    /// It waits for names that are under way, but not beyond the deadline.
    Patient(Instant),
    /// With what is answered.
    Incomplete,
}

/// How far the exchange of responses and verdicts of one type has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResponseState {
    /// The first response is due.
    AwaitingFirst(FirstResponse),
    /// There was nothing to send yet.
    NothingSent,
    /// The client has yet to accept or reject the newest response.
    Outstanding(Nonce),
    /// The client has accepted or rejected the newest response.
    Acknowledged(Nonce),
}

impl ResponseState {
    /// The first response is due, to a client that `has_version` of an earlier stream or not.
    pub(super) fn new(has_version: bool) -> Self {
        Self::AwaitingFirst(if has_version { FirstResponse::Proved } else { FirstResponse::Complete })
    }

    /// Whether the first response is due.
    pub(super) fn is_awaiting_first(&self) -> bool {
        matches!(self, Self::AwaitingFirst(_))
    }

    /// How the first response may leave, while it is due.
    pub(super) fn first(&self) -> Option<FirstResponse> {
        if let Self::AwaitingFirst(first) = self { Some(*first) } else { None }
    }

    /// Decides how the first response may leave, while it is due.
    pub(super) fn set_first(&mut self, decided: FirstResponse) {
        if let Self::AwaitingFirst(first) = self {
            *first = decided;
        }
    }

    /// The nonce of the newest response.
    pub(super) fn nonce(&self) -> Option<Nonce> {
        match self {
            Self::Outstanding(nonce) | Self::Acknowledged(nonce) => Some(*nonce),
            Self::AwaitingFirst(_) | Self::NothingSent => None,
        }
    }

    /// Whether the client has accepted or rejected the newest response.
    pub(super) fn is_acknowledged(&self) -> bool {
        matches!(self, Self::Acknowledged(_))
    }

    /// Whether the client has yet to accept or reject the newest response.
    pub(super) fn is_outstanding(&self) -> bool {
        matches!(self, Self::Outstanding(_))
    }

    /// The client has accepted or rejected the newest response. Whether that was outstanding.
    pub(super) fn acknowledge(&mut self) -> bool {
        let Self::Outstanding(nonce) = *self else { return false };
        *self = Self::Acknowledged(nonce);
        true
    }

    /// A step was made that had nothing to send, or of which the response follows.
    pub(super) fn make_step(&mut self) {
        if self.is_awaiting_first() {
            *self = Self::NothingSent;
        }
    }

    /// A response was sent.
    pub(super) fn send(&mut self, nonce: Nonce) {
        *self = Self::Outstanding(nonce);
    }
}
