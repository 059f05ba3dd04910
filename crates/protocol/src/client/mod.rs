//! Upstream side of one xDS stream, in both dialects, without IO.
//!
//! An [`UpstreamSession`] owns what is subscribed to, what is cached, and which requests were sent. It is independent of
//! transports, of the database, and of other streams, and it outlives its connection: the next stream starts with what
//! is cached.
//!
//! # Contract
//! - [`subscribe`](UpstreamSession::subscribe) and [`unsubscribe`](UpstreamSession::unsubscribe) at any time.
//!   Wildcards and explicit names of one type belong on different streams, which the caller chooses: nothing in a
//!   response distinguishes the resources of the one from those of the other. Globs share a stream with names, since
//!   the name of a resource shows which glob it belongs to.
//! - [`connected`](UpstreamSession::connected) when a new stream is open, [`disconnected`] when it is gone.
//!   Nothing is withdrawn in between.
//! - [`handle_response`] for each response, in order. Its batch is committed *before* the next
//!   [`poll_transmit`], which acknowledges it.
//! - [`defer_ack`](UpstreamSession::defer_ack) between the two, if subscribers are waited for;
//!   [`complete_ack`](UpstreamSession::complete_ack) when they have answered.
//! - [`remember`](UpstreamSession::remember) what an earlier process knew of a locator, if
//!   [`may_remember`](UpstreamSession::may_remember) allows it.
//! - [`poll_transmit`] whenever something was done and a request can be sent, until it gives none. A short
//!   wait before it lets a growing list of names go in one request.
//! - [`handle_timeout`] at [`poll_timeout`].
//! - [`poll_shrink`](UpstreamSession::poll_shrink) after these, for the observer of removals.
//! - [`renew`](UpstreamSession::renew) when a resource is needed again that came already and must not be cached.
//! - [`forget_versions`](UpstreamSession::forget_versions) before [`connected`](UpstreamSession::connected), if the server
//!   is another one; [`demand_answer`](UpstreamSession::demand_answer) after it, to distinguish a server that does not
//!   respond from one that has no news.
//! - A new stream in place of the current one when [`needs_new_stream`](UpstreamSession::needs_new_stream) after any
//!   of these: subscribing, unsubscribing, [`recall`](UpstreamSession::recall), [`renew`](UpstreamSession::renew).
//!
//! [`disconnected`]: UpstreamSession::disconnected
//! [`handle_response`]: UpstreamSession::handle_response
//! [`handle_timeout`]: UpstreamSession::handle_timeout
//! [`poll_timeout`]: UpstreamSession::poll_timeout
//! [`poll_transmit`]: UpstreamSession::poll_transmit

mod collections;
mod emptied;
mod errors;
mod in_flight_removals;
mod locator_state;
mod memory;
mod message;
mod nack_backoff;
mod outgoing;
mod parsed_response;
mod peers;
mod per_stream;
mod progress;
mod removals;
mod renewal;
mod requests;
mod responses;
mod shrink;
mod subscriptions;
mod timers;
mod upstream_cache;
mod upstream_type;
mod verdicts;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_types::constraints::Expr;
use weir_types::{
    Absence, Absent, Answered, Batch, Code, Constraints, DynamicParameters, Name, ResourceLocator, Scope,
    TypeUrl, VariantKey,
};

pub use self::emptied::EndpointGuard;
pub use self::errors::Reported;
pub use self::memory::Memory;
pub use self::message::{Applied, Rejected, Request, Response};
pub use self::per_stream::ReopenReason;
pub use self::shrink::{Loss, Outcome, Shrink, ShrinkGuard};
pub use self::subscriptions::Handover;
pub use self::verdicts::Ticket;

use self::timers::Deadline;
use self::upstream_type::UpstreamType;
use crate::Dialect;

/// How many types a stream may know that nobody wants any more: clients make up as many as they like.
const MAX_IDLE_TYPES: usize = 256;

/// How the server is asked for variants.
#[derive(Clone, Debug)]
pub enum Naming {
    /// By locators, for all parameters on one stream: the server uses TP2.
    Locators,
    /// By plain names: the server goes by the `Node`, which stands for one parameter set. What it sends is
    /// stored with constraints over all of `keys`.
    Names {
        /// The key universe.
        keys: Arc<[Arc<str>]>,
        /// The values of those keys that the `Node` stands for; the others are absent.
        parameters: DynamicParameters,
        /// What that makes of a resource without constraints.
        constraints: Constraints,
    },
}

impl Naming {
    /// Plain names, for clients whose parameters are, on `keys`, equal to `parameters`.
    pub fn names(keys: Arc<[Arc<str>]>, parameters: &DynamicParameters) -> Self {
        let parameters = parameters.projected(&keys);
        let exact = keys.iter().map(|key| match parameters.get(key) {
            Some(value) => Expr::value(Arc::clone(key), value),
            None => Expr::not(Expr::exists(Arc::clone(key))),
        });
        let constraints = Constraints::new(Expr::All(exact.collect()));
        Self::Names { keys, parameters, constraints }
    }

    /// The variant that the server means by `key`.
    fn stored(&self, key: &VariantKey) -> VariantKey {
        match self {
            Self::Locators => key.clone(),
            Self::Names { constraints, .. } if key.constraints.is_unconstrained() => {
                VariantKey::new(key.name.clone(), constraints.clone())
            }
            Self::Names { constraints, .. } => {
                let both = vec![constraints.expr().clone(), key.constraints.expr().clone()];
                VariantKey::new(key.name.clone(), Constraints::new(Expr::All(both)))
            }
        }
    }

    /// Whether a locator with `parameters` is for a variant with `constraints`. By name only, where the
    /// server goes by the `Node`.
    fn matches(&self, constraints: &Constraints, parameters: &DynamicParameters) -> bool {
        match self {
            Self::Locators => constraints.matches(parameters),
            Self::Names { .. } => true,
        }
    }

    /// The parameter sets for which a statement about a locator with `parameters` is true.
    fn scope(&self, parameters: &DynamicParameters) -> Scope {
        match self {
            Self::Locators => Scope::Exactly(parameters.clone()),
            Self::Names { keys, parameters, .. } => {
                Scope::Projected { keys: Arc::clone(keys), parameters: parameters.clone() }
            }
        }
    }

    fn answered(&self, collection: &ResourceLocator, absence: Absence) -> Answered {
        let scope = self.scope(&collection.parameters);
        Answered { collection: Some(collection.name.clone()), scope, absence }
    }

    fn absent(&self, name: &Name, parameters: &DynamicParameters, absence: Absence) -> Absent {
        Absent { name: name.clone(), scope: self.scope(parameters), absence }
    }
}

/// Settings of an [`UpstreamSession`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// Dialect of the stream.
    pub dialect: Dialect,
    /// How variants are asked for.
    pub naming: Naming,
    /// After how long without an answer a locator is taken to be absent, counted from the request that named
    /// it, only while connected.
    pub does_not_exist: Duration,
    /// Whether the server is polled: what it has sent, it sends again only to those who state no version.
    pub polled: bool,
    /// On which errors of a resource what is held of it is gone. Transient ones never count.
    pub drop_on_errors: Arc<[Code]>,
    /// How much may go at once, if not everything.
    pub shrink_guard: Option<ShrinkGuard>,
    /// How many assignments may be emptied at once, if not all.
    pub endpoint_guard: Option<EndpointGuard>,
}

type Types = BTreeMap<TypeUrl, UpstreamType>;

/// Protocol state of one upstream stream, which outlives it. See the module for how to use it.
#[derive(Debug)]
pub struct UpstreamSession {
    settings: Settings,
    types: Types,
    connection: Connection,
    deadlines: VecDeque<Deadline>,
    /// When collections are complete, in order of time.
    completions: VecDeque<Deadline>,
    /// How many answers were owed so far.
    tickets: u64,
    /// What became of removals, until it is asked for.
    shrinks: VecDeque<Shrink>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    Away,
    /// Connected, nothing sent yet: the next request carries the `Node`.
    New,
    Open,
}

impl UpstreamSession {
    /// A session without a stream and without subscriptions.
    pub fn new(settings: Settings) -> Self {
        let (types, deadlines, completions, shrinks) = Default::default();
        Self { settings, types, connection: Connection::Away, deadlines, completions, tickets: 0, shrinks }
    }

    /// What it goes by.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Goes by other settings from now on, on a new stream; the dialect and the naming stay. Returns the batches to
    /// commit: withheld losses are accepted where the guard is off now.
    pub fn apply_settings(&mut self, settings: Settings) -> Vec<Batch> {
        let Settings { dialect, naming, .. } = self.settings.clone();
        self.settings = Settings { dialect, naming, ..settings };
        let types: Vec<_> = self.types.keys().cloned().collect();
        let mut batches = Vec::new();
        if self.settings.shrink_guard.is_none() {
            batches.extend(types.iter().filter_map(|of| self.accept_removals(of, Outcome::Confirmed)));
        }
        if self.settings.endpoint_guard.is_none() {
            batches.extend(types.iter().filter_map(|of| self.accept_emptied(of, Outcome::Confirmed)));
        }
        batches
    }

    /// A new stream is open. Everything that is wanted will be requested on it.
    pub fn connected(&mut self) {
        self.disconnected();
        self.connection = Connection::New;
    }

    /// The stream is gone. What is held stays, and so does what is wanted.
    pub fn disconnected(&mut self) {
        self.check();
        self.connection = Connection::Away;
        self.deadlines.clear();
        self.completions.clear();
        self.types.retain(|_, upstream_type| !upstream_type.is_idle());
        self.types.values_mut().for_each(UpstreamType::close);
    }

    /// Whether every type that is wanted was answered on the current stream.
    pub fn is_in_sync(&mut self) -> bool {
        let open = self.connection == Connection::Open || self.types.is_empty();
        open && self
            .types
            .values_mut()
            .all(|upstream_type| upstream_type.is_idle() || upstream_type.is_settled())
    }

    /// Why the stream has to be replaced by another one, if it has to.
    pub fn reopen_reason(&self) -> Option<ReopenReason> {
        let idle = || self.types.values().filter(|upstream_type| upstream_type.is_idle()).count();
        let heaped = self.types.len() > MAX_IDLE_TYPES && idle() > MAX_IDLE_TYPES;
        let of_type =
            || self.types.values().find_map(|upstream_type| upstream_type.per_stream.reopen_reason());
        heaped.then_some(ReopenReason::IdleTypes).or_else(of_type)
    }

    /// Whether the stream has to be replaced by another one.
    pub fn needs_new_stream(&self) -> bool {
        self.reopen_reason().is_some()
    }

    /// Whether nothing is wanted.
    pub fn is_idle(&self) -> bool {
        self.types.values().all(UpstreamType::is_idle)
    }

    /// Panics in debug builds where the state of a type contradicts itself.
    fn check(&self) {
        for upstream_type in self.types.values() {
            upstream_type.check(self.settings.dialect);
            let away = self.connection == Connection::Away;
            debug_assert!(!away || !upstream_type.per_stream.exchange.is_started(), "{upstream_type:?}");
        }
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let next =
            [self.next_deadline(), self.next_completion(), self.next_acceptance(), self.next_deferred()];
        next.into_iter().flatten().min()
    }
}
