//! Removals of clusters and endpoints that a client has by name: they stay behind for as long as it may send requests there.
//!
//! A client that subscribes to clusters by name, as gRPC does, acknowledges routes before it uses them: it first asks for the
//! clusters that they lead to now, then gives up those that they led to before. A removal that comes earlier fails its
//! requests, and a control plane may send it even before the routes. A Weir downstream holds back for its own clients.
//!
//! ```text
//!            names that the client has are gone                    the time is up
//!   (none) ─────────────────────────────────────> Until(deadline) ────────────────> Due
//!     ^                                                │                             │
//!     │   the client has unsubscribed from all of them │                             │ their removals have left
//!     └────────────────────────────────────────────────┴─────────────────────────────┘
//! ```

use std::time::{Duration, Instant};

/// Whether removals of names that the client has stay behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HeldRemovals {
    /// There are none.
    #[default]
    None,
    /// Until then, unless the client unsubscribes before.
    Until(Instant),
    /// Not any more: the client has not unsubscribed in time.
    Due,
}

impl HeldRemovals {
    /// Notes at `now` whether there are such removals, which may stay behind for as long as `patience`.
    pub(super) fn look(&mut self, there_are: bool, now: Instant, patience: Duration) {
        *self = match *self {
            _ if !there_are => Self::None,
            Self::None if patience.is_zero() => Self::Due,
            Self::None => Self::Until(now + patience),
            unchanged => unchanged,
        };
    }

    /// Whether their time is up at `now`, and was not before.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> bool {
        let is_over = self.deadline().is_some_and(|deadline| deadline <= now);
        if is_over {
            *self = Self::Due;
        }
        is_over
    }

    /// When they leave.
    pub(super) fn deadline(self) -> Option<Instant> {
        if let Self::Until(deadline) = self { Some(deadline) } else { None }
    }
}
