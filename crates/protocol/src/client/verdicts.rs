//! The answers that responses still have to get, in order. Some are held back until they are released, and repeated
//! rejections for a while.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use weir_types::TypeUrl;

use super::nack_backoff::NackBackoff;
use super::{Connection, UpstreamSession};

/// How many answers may wait behind a rejection that is deferred.
const MAX_DEFERRED: usize = 32;

/// Which response an answer is for; never given twice by one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub(super) type_url: TypeUrl,
    pub(super) number: u64,
}

impl Ticket {
    /// Of which type the response is.
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }
}

/// The answer that a response still has to get.
#[derive(Debug)]
pub(super) struct Verdict {
    /// None when the stream is gone that it came on: nobody is to be answered, but what comes after it waits.
    pub(super) nonce: Option<Arc<str>>,
    /// What is accepted with it, in SotW.
    pub(super) version: Arc<str>,
    pub(super) nack: Option<String>,
    number: u64,
    received: Instant,
    state: VerdictState,
}

/// When an answer may be given.
///
/// ```text
///   response ─┬─ accepted, or rejected for a new reason ► Due ─ hold ► Held
///             └─ rejected for a repeated reason ────────► Deferred ─ time, too many answers ► Due
///
///   Held ─ release ► Due, Deferred
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VerdictState {
    /// With the next request.
    Due,
    /// With the next request that there is another reason for: a repeated rejection is not sent on its own before this
    /// time.
    Deferred { until: Instant },
    /// Not before it is released.
    Held,
}

impl VerdictState {
    fn new(deferred_until: Option<Instant>) -> Self {
        deferred_until.map_or(Self::Due, |until| Self::Deferred { until })
    }

    /// Ends the deferral. Held answers stay held.
    fn undefer(&mut self) {
        if let Self::Deferred { .. } = self {
            *self = Self::Due;
        }
    }
}

impl Verdict {
    fn is_held(&self) -> bool {
        self.state == VerdictState::Held
    }

    fn deferred_until(&self) -> Option<Instant> {
        match self.state {
            VerdictState::Deferred { until } => Some(until),
            VerdictState::Due | VerdictState::Held => None,
        }
    }
}

/// The answers of one type that are still to be given, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    queue: VecDeque<Verdict>,
    backoff: NackBackoff,
}

impl Verdicts {
    pub(super) fn push(
        &mut self,
        number: u64,
        nonce: Arc<str>,
        version: Arc<str>,
        nack: Option<String>,
        received: Instant,
    ) {
        let deferred_until = nack.as_deref().and_then(|nack| self.backoff.until(nack, received));
        let nonce = Some(nonce);
        let state = VerdictState::new(deferred_until);
        self.queue.push_back(Verdict { nonce, version, nack, number, received, state });
        if self.queue.len() > MAX_DEFERRED {
            self.queue.iter_mut().for_each(|verdict| verdict.state.undefer());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether there is one to give now, though there is no other request.
    pub(super) fn is_due(&self) -> bool {
        self.queue.front().is_some_and(|first| first.state == VerdictState::Due)
    }

    /// Until when the next one is deferred.
    fn deferred_until(&self) -> Option<Instant> {
        self.queue.front()?.deferred_until()
    }

    /// Whether one has to wait.
    pub(super) fn is_held(&self) -> bool {
        self.queue.front().is_some_and(Verdict::is_held)
    }

    /// The one to give with the next request. A deferred one goes too: a request has to name the newest response.
    pub(super) fn pop(&mut self) -> Option<Verdict> {
        self.queue.front().filter(|first| !first.is_held())?;
        self.queue.pop_front()
    }

    /// What is left of them when their stream is gone.
    pub(super) fn outliving(self) -> Self {
        let held = self.queue.into_iter().filter(Verdict::is_held);
        let queue = held.map(|verdict| Verdict { nonce: None, ..verdict }).collect();
        Self { queue, backoff: NackBackoff::default() }
    }

    fn find(&mut self, ticket: &Ticket) -> Option<&mut Verdict> {
        self.queue.iter_mut().find(|verdict| verdict.number == ticket.number)
    }

    fn complete(&mut self, ticket: &Ticket, rejection: Option<String>) {
        let deferred_until = self
            .find(ticket)
            .map(|verdict| verdict.received)
            .and_then(|received| rejection.as_deref().and_then(|nack| self.backoff.until(nack, received)));
        if let Some(verdict) = self.find(ticket) {
            verdict.nack = verdict.nack.take().or(rejection);
            verdict.state = VerdictState::new(deferred_until);
        }
        while self.queue.front().is_some_and(|first| !first.is_held() && first.nonce.is_none()) {
            self.queue.pop_front();
        }
    }
}

impl UpstreamSession {
    /// When the next deferred rejection is sent.
    pub(super) fn next_deferred(&self) -> Option<Instant> {
        let until = self
            .types
            .values()
            .filter_map(|upstream_type| upstream_type.per_stream.verdicts.deferred_until());
        until.min().filter(|_| self.connection != Connection::Away)
    }

    /// Lets the rejections go that were deferred until `now`.
    pub(super) fn end_deferral(&mut self, now: Instant) {
        for upstream_type in self.types.values_mut() {
            let first = upstream_type.per_stream.verdicts.queue.front_mut();
            let first = first.filter(|first| first.deferred_until().is_some_and(|until| until <= now));
            first.into_iter().for_each(|first| first.state.undefer());
        }
    }

    /// Defers the ACK of a response, and with it those of later ones of its type, until it is completed.
    /// To be called before the next [`poll_transmit`](Self::poll_transmit). Outlives the stream: what a new one
    /// brings is not answered before either.
    pub fn defer_ack(&mut self, ticket: &Ticket) {
        let upstream_type = self.types.get_mut(&ticket.type_url);
        if let Some(verdict) =
            upstream_type.and_then(|upstream_type| upstream_type.per_stream.verdicts.find(ticket))
        {
            verdict.state = VerdictState::Held;
        }
    }

    /// Completes a deferred ACK: the response is accepted, or rejected for a reason. What it has brought is held
    /// all the same, so that in SotW no version stands for that any more.
    pub fn complete_ack(&mut self, ticket: &Ticket, rejection: Option<String>) {
        let Some(upstream_type) = self.types.get_mut(&ticket.type_url) else { return };
        upstream_type.check(self.settings.dialect);
        if rejection.is_some() {
            upstream_type.version = None;
        }
        upstream_type.per_stream.verdicts.complete(ticket, rejection);
        upstream_type.per_stream.end_hold();
    }
}
