//! State of one wanted locator.

use std::sync::Arc;
use std::time::Instant;

use weir_types::{Absence, ResourceError};

/// How a locator stands.
#[derive(Clone, Debug, Default)]
pub(super) struct LocatorState {
    pub(super) request: RequestState,
    /// Something is known of it: a variant came, or it is known or taken to be absent.
    pub(super) answered: bool,
    /// What is known of it came on this stream for others, and the server has not spoken of it since it was asked.
    pub(super) borrowed: bool,
    /// What that is, while nothing matches.
    pub(super) absence: Absence,
    /// What the server last said to be wrong with it, while it is.
    pub(super) error: Option<Arc<ResourceError>>,
    /// When it will be taken to be absent.
    pub(super) deadline: Option<Instant>,
    /// Of a collection: some of it has come, and there may be more.
    pub(super) partial: bool,
    /// When all that has come of it is taken for all there is.
    pub(super) completes: Option<Instant>,
}

impl LocatorState {
    /// Whether the server has not spoken of it, though its silence may have been taken for an answer.
    pub(super) fn is_open(&self) -> bool {
        !self.answered || self.absence == Absence::TimedOut
    }
}

/// What was sent of a locator on the current stream.
///
/// ```text
///                send                     renew
///   NotSent ──────────────► Sent ──────────────────► Stale
///    ▲ ▲ │                  │  ▲                     │ ▲ │
///    │ │ │                  │  └──────── send ───────┘ │ │
///    │ │ └───── subscribe before the server has ───────┘ │
///    │ │        read that it was unsubscribed            │
///    │ └─────── end of stream ─┘                         │
///    └───────── end of stream ───────────────────────────┘
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
