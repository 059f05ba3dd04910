//! What a client's routes led to before: it stays for as long as the client may still send requests there.
//!
//! A client that subscribes to clusters by name, as gRPC does, acknowledges routes before it uses them: it first asks for the
//! clusters that they lead to now, then gives up those that they led to before. A removal that comes in between fails its
//! requests. Removals of names that it has, of clusters and endpoints, therefore stay behind for a while after routes or
//! listeners were sent, until the client has unsubscribed from them. A Weir downstream does that for its own clients.
//!
//! ```text
//!              routes or listeners are sent                  removals of names that the client has
//!   (settled) ──────────────────────────────> Possible(until) ───────────────────────────────> HoldsRemovals(until)
//!       ^                                      │    ^     │ more routes: a later time              │      │
//!       │       the time is up, or nobody      │    │     └──> Possible                            │      │
//!       ├──────────────────────────────────────┘    └──────────────────────────────────────────────┘      │
//!       │                                             the client has unsubscribed from all of them        │
//!       └─────────────────────────────────────────────────────────────────────────────────────────────────┘
//!                                                  the time is up
//! ```

use std::time::Instant;

/// Whether a client may still use what its routes led to before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rerouting {
    /// It does not: no routes were sent lately.
    #[default]
    Settled,
    /// It may, until then.
    Possible(Instant),
    /// It has names of which removals stay behind, until then and no longer.
    HoldsRemovals(Instant),
}

impl Rerouting {
    /// Notes that routes or listeners were sent, which the client will use by `until`.
    pub(super) fn begin(&mut self, until: Instant) {
        if !matches!(self, Self::HoldsRemovals(_)) {
            *self = Self::Possible(until);
        }
    }

    /// Notes whether there are removals of names that the client has, at `now`.
    pub(super) fn look_at_removals(&mut self, held: bool, now: Instant) {
        *self = match *self {
            Self::Possible(until) if until <= now => Self::Settled,
            Self::Possible(until) if held => Self::HoldsRemovals(until),
            Self::HoldsRemovals(until) if !held => Self::Possible(until),
            unchanged => unchanged,
        };
    }

    /// Ends the wait whose time is up at `now`. Returns whether removals have waited for it.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> bool {
        let is_over = self.deadline().is_some_and(|until| until <= now);
        if is_over {
            *self = Self::Settled;
        }
        is_over
    }

    /// Until when removals stay behind, if there are any.
    pub(super) fn deadline(self) -> Option<Instant> {
        if let Self::HoldsRemovals(until) = self { Some(until) } else { None }
    }

    /// Whether the client may use what its routes led to before.
    pub(super) fn is_under_way(self) -> bool {
        self != Self::Settled
    }
}
