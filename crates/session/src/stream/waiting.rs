//! What a stream waits for, and for how long: clusters that warm, clients that leave what is gone, and names that a first
//! response lacks.
//!
//! Owns the deadlines. A deadline is set once and never extended: a response leaves when it has waited for as long as
//! [`Patience`] allows, even if something newer is still pending. Never knows why something is slow.
//!
//! ```text
//!                  CDS response with new EDS clusters
//!      (ready) ─────────────────────────────────────────> Warming { endpoints, deadline }
//!         ^                                                  │     │ a newer CDS response: its clusters,
//!         │   acknowledged, and the endpoints settled,       │     │ the same deadline
//!         └──────────── or the deadline has passed ──────────┘<────┘
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_types::{Dialect, Kind, Name};

use super::response_state::FirstResponse;
use super::{Mode, ServerStream, TypeSubscription};
use crate::profile::ClientKind;

/// For how long a stream waits for what may never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// What may refer to clusters waits for new ones to warm, and removals of what a client has by name for it to leave that.
    pub warming: Duration,
    /// The first state-of-the-world response to explicit names waits for those that are unanswered.
    pub first_response: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { warming: Duration::from_secs(1), first_response: Duration::from_secs(1) }
    }
}

/// What something has waited for in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Clusters that are not warm yet.
    Warming,
    /// Removals of clusters and endpoints that a client has by name: for it to leave them.
    Leaving,
    /// First responses: for names that are not answered yet.
    FirstResponse,
}

/// Whether the client has got ready the clusters that it was sent last.
#[derive(Debug, Default)]
pub(super) enum ClusterWarming {
    /// Nothing is waited for.
    #[default]
    Ready,
    /// The newest CDS response has new clusters with EDS. Boxed, since most streams wait for nothing.
    Warming(Box<NewClusters>),
}

/// New clusters of a CDS response, as long as they warm.
#[derive(Debug)]
pub(super) struct NewClusters {
    /// The names of their endpoints.
    endpoints: Arc<[Name]>,
    /// How many of them, from the start, were found to be settled.
    settled: usize,
    /// When nothing waits for them any more.
    deadline: Instant,
}

impl ServerStream {
    /// Ends the waits whose time is up, and returns for what something has waited. To be called at [`Self::poll_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Vec<Wait> {
        let mut ended = Vec::new();
        if matches!(&self.clusters, ClusterWarming::Warming(new) if new.deadline <= now) {
            if self.is_due() {
                ended.push(Wait::Warming);
            }
            self.clusters = ClusterWarming::Ready;
        }
        if self.held_removals.handle_timeout(now) {
            ended.push(Wait::Leaving);
        }
        let mut lacks_names = false;
        for type_subscription in &mut self.types {
            if matches!(type_subscription.responses.first(), Some(FirstResponse::Patient(until)) if until <= now)
            {
                lacks_names |= type_subscription.is_known_in_part() && type_subscription.view.under_way() > 0;
                type_subscription.responses.set_first(FirstResponse::Incomplete);
            }
        }
        if lacks_names {
            ended.push(Wait::FirstResponse);
        }
        ended
    }

    /// Returns the earliest deadline at which a response can leave.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let warming = match &self.clusters {
            ClusterWarming::Warming(new) if self.is_due() => Some(new.deadline),
            _ => None,
        };
        let names = self.types.iter().filter_map(TypeSubscription::waits_for_names_until);
        names.chain(warming).chain(self.held_removals.deadline()).min()
    }

    /// Notes that a response with clusters has left, at `now`, and which endpoints its new clusters take.
    pub(super) fn begin_warming(&mut self, endpoints: Option<Arc<[Name]>>, now: Instant) {
        if self.mode != Mode::Aggregated {
            return;
        }
        let deadline = match &self.clusters {
            ClusterWarming::Warming(new) if new.deadline > now => new.deadline,
            _ => now + self.patience.warming,
        };
        self.clusters = match endpoints {
            Some(endpoints) => {
                ClusterWarming::Warming(Box::new(NewClusters { endpoints, settled: 0, deadline }))
            }
            None => ClusterWarming::Ready,
        };
    }

    /// Takes note of endpoints that have been answered since.
    pub(super) fn look_at_endpoints(&mut self) {
        let ClusterWarming::Warming(new) = &mut self.clusters else { return };
        let NewClusters { endpoints, settled, .. } = &mut **new;
        let of_kind =
            |kind| self.types.iter().find(move |type_subscription| type_subscription.type_url.kind() == kind);
        if of_kind(Kind::Cluster).is_some_and(|clusters| clusters.responses.is_outstanding()) {
            return;
        }
        match of_kind(Kind::ClusterLoadAssignment).map(|type_subscription| &type_subscription.view) {
            Some(view) if view.unsettled().0 > 0 => *settled += view.settled_of(&endpoints[*settled..]),
            _ => *settled = endpoints.len(),
        }
        if *settled == endpoints.len() {
            self.clusters = ClusterWarming::Ready;
        }
    }

    /// Returns whether the newest clusters were still warming at the last [`Self::look_at_endpoints`].
    pub(super) fn clusters_are_warming(&self) -> bool {
        matches!(self.clusters, ClusterWarming::Warming(_))
    }
}

impl TypeSubscription {
    /// Whether the first response waits for upstream, and is then sent even if it is empty: clients wait for
    /// it, and would take what is missing in it for deleted.
    pub(super) fn gates_first_response(&self, dialect: Dialect) -> bool {
        let subscription = self.view.subscription();
        !subscription.is_empty() && (self.is_full_state(dialect) || self.asks_for_collections())
    }

    /// Whether each response carries all there is.
    pub(super) fn is_full_state(&self, dialect: Dialect) -> bool {
        dialect == Dialect::Sotw && self.type_url.is_full_state()
    }

    fn asks_for_collections(&self) -> bool {
        self.view.subscription().collections() > 0
    }

    /// Chooses how complete the first response must be. A Weir downstream treats it as the answer to all its names,
    /// and may cache resources without stating a version: `Complete`. Other clients delete missing resources of
    /// full-state types only: `Proved` if they state a version, `Patient` if not. All other responses may be
    /// `Incomplete`.
    pub(super) fn expect_first(&mut self, dialect: Dialect, client: ClientKind, deadline: Instant) {
        let is_proved = self.responses.first() == Some(FirstResponse::Proved);
        self.responses.set_first(match self.is_full_state(dialect) {
            true if is_proved => FirstResponse::Proved,
            _ if client == ClientKind::Weir => FirstResponse::Complete,
            true => FirstResponse::Patient(deadline),
            false => FirstResponse::Incomplete,
        });
    }

    /// Returns when the first response leaves even if names are unanswered.
    fn waits_for_names_until(&self) -> Option<Instant> {
        let Some(FirstResponse::Patient(deadline)) = self.responses.first() else { return None };
        (self.view.unsettled().0 > 0 && !self.asks_for_collections()).then_some(deadline)
    }

    /// Whether some, and only some, of explicit names are answered.
    fn is_known_in_part(&self) -> bool {
        self.view.unsettled().0 > 0 && !self.asks_for_collections() && self.answers_a_name()
    }

    /// Whether an explicit name is answered.
    fn answers_a_name(&self) -> bool {
        let subscription = self.view.subscription();
        let explicit = subscription.len() - subscription.collections();
        explicit > self.view.unsettled().0 + self.view.failing()
    }

    /// Whether the first response, which waits for upstream, may leave.
    ///
    /// Clients treat resources that a full-state response lacks as deleted. The response therefore waits for pending
    /// names, until the deadline if the client stated no version. Other responses wait only while they would be
    /// empty.
    pub(super) fn may_respond_first(&self, dialect: Dialect) -> bool {
        let (names, collections) = self.view.unsettled();
        let Some(first) = self.responses.first() else { return false };
        let is_proved = first == FirstResponse::Proved;
        if !self.is_full_state(dialect) {
            return collections == 0 || first != FirstResponse::Complete && self.answers_a_name();
        }
        if collections > 0 || is_proved && self.view.unproved() > 0 {
            return false;
        }
        if names == 0 && !(is_proved && self.view.failing() > 0) {
            return true;
        }
        match first {
            FirstResponse::Proved | FirstResponse::Complete => false,
            FirstResponse::Patient(_) => self.is_known_in_part() && self.view.under_way() == 0,
            FirstResponse::Incomplete => self.is_known_in_part(),
        }
    }
}
