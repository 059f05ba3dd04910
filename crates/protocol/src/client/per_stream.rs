//! State of one type that lasts as long as one upstream stream.

use std::sync::Arc;
use std::time::Instant;

use weir_types::ResourceLocator;

use super::Request;
use super::locator_state::RequestState;
use super::outgoing::Outgoing;
use super::verdicts::Verdicts;
use crate::Dialect;

/// State of one type that lasts as long as one upstream stream.
#[derive(Debug)]
pub(super) struct PerStreamState {
    pub(super) exchange: ExchangeState,
    /// The number of requests that were sent.
    requests: u32,
    /// A subscription was added or given up since the last request.
    changed: bool,
    /// Why the stream has to be replaced by another one.
    reopen: Option<ReopenReason>,
    pub(super) verdicts: Verdicts,
    outgoing: Outgoing,
}

/// How far the exchange of requests and responses has come.
///
/// ```text
///   NotStarted, ForcingResponse ─ first request ─► Requested ─ first response ─► Responded
///
///   any ─ end of stream ─► NotStarted
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExchangeState {
    /// No request was sent.
    NotStarted,
    /// No request was sent. The first one leaves out some of what is held, so that the server has something to respond.
    ForcingResponse,
    /// A request was sent, and no response has come.
    Requested,
    /// A response has come.
    Responded,
}

/// Why a stream has to be replaced by another one: the server cannot be asked on this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReopenReason {
    /// A wildcard that was sent as an empty list was unsubscribed from, and is subscribed to again. No list
    /// means either.
    ImplicitWildcard,
    /// A collection was unsubscribed from and subscribed to again between two requests. No server has to send it again
    /// on the stream that it was sent on.
    CollectionResubscribed,
    /// Something has to be sent again that a server sends once on each stream.
    Renewal,
    /// The stream knows too many types that nobody subscribes to. None can be forgotten before the stream ends: its last
    /// nonce counts, and the server keeps its subscriptions.
    IdleTypes,
}

impl ExchangeState {
    /// Whether a request was sent.
    pub(super) fn is_started(self) -> bool {
        !matches!(self, Self::NotStarted | Self::ForcingResponse)
    }

    /// Whether the first request has to be one that the server responds to.
    pub(super) fn forces_response(self) -> bool {
        self == Self::ForcingResponse
    }

    /// Makes the first request one that the server responds to, if it was not sent yet.
    pub(super) fn force_response(&mut self) {
        if *self == Self::NotStarted {
            *self = Self::ForcingResponse;
        }
    }
}

impl PerStreamState {
    /// The state at the beginning of a stream.
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            exchange: ExchangeState::NotStarted,
            requests: 0,
            changed: false,
            reopen: None,
            verdicts: Verdicts::default(),
            outgoing: Outgoing::new(dialect),
        }
    }

    /// Starts over for the next stream. Whether answers are still to be given to responses of this one.
    pub(super) fn close(&mut self) -> bool {
        let verdicts = std::mem::take(&mut self.verdicts).outliving();
        let pending = !verdicts.is_empty();
        *self = Self { verdicts, ..Self::new(self.outgoing.dialect()) };
        pending
    }

    /// The number of the last request.
    pub(super) fn requests(&self) -> u32 {
        self.requests
    }

    /// Why the stream has to be replaced by another one, if it has to.
    pub(super) fn reopen_reason(&self) -> Option<ReopenReason> {
        self.reopen
    }

    /// Has the stream replaced by another one.
    pub(super) fn reopen(&mut self, reason: ReopenReason) {
        self.reopen = Some(reason);
    }

    /// Whether there is a request to send after the first one.
    pub(super) fn has_request(&self) -> bool {
        self.changed || self.verdicts.is_due() || !self.outgoing.is_empty()
    }

    /// Has a locator subscribed to with the next request, and those `again` that the server has to send again for it.
    /// `before` is what was sent of the locator. Gives what it starts from now.
    pub(super) fn subscribe(
        &mut self,
        locator: &ResourceLocator,
        before: RequestState,
        again: Vec<ResourceLocator>,
    ) -> RequestState {
        match &mut self.outgoing {
            Outgoing::Sotw(sotw) => {
                self.changed = true;
                if locator.is_wildcard() && sotw.has_retracted_wildcard() {
                    self.reopen = Some(ReopenReason::ImplicitWildcard);
                }
                RequestState::NotSent
            }
            Outgoing::Delta(delta) => {
                // The server never learns that it was given up, and need not send it again.
                let resubscribed = delta.subscribe(locator, again);
                if resubscribed && locator.is_collection() {
                    self.reopen = Some(ReopenReason::CollectionResubscribed);
                }
                if resubscribed { RequestState::Stale } else { before.renewed() }
            }
        }
    }

    /// Has a locator unsubscribed from with the next request. `before` is what was sent of it.
    pub(super) fn unsubscribe(&mut self, locator: &ResourceLocator, before: RequestState) {
        self.changed |= self.exchange.is_started();
        match &mut self.outgoing {
            Outgoing::Sotw(sotw) => sotw.unsubscribe(locator, before),
            Outgoing::Delta(delta) => delta.unsubscribe(locator, before),
        }
    }

    /// Has a locator sent once more.
    pub(super) fn resend(&mut self, locator: &ResourceLocator) {
        match &mut self.outgoing {
            Outgoing::Sotw(sotw) => {
                sotw.omit_once(locator);
                self.changed = true;
            }
            Outgoing::Delta(delta) => _ = delta.subscribe(locator, Vec::new()),
        }
    }

    /// Completes a request with what has to be sent on this stream. A wildcard is sent as an empty list where that
    /// `may_be_implicit`.
    pub(super) fn send(&mut self, request: &mut Request, may_be_implicit: bool) {
        if !self.exchange.is_started() {
            self.exchange = ExchangeState::Requested;
            self.outgoing.start(request);
        }
        self.requests += 1;
        self.changed = match &mut self.outgoing {
            Outgoing::Sotw(sotw) => sotw.send(request, &mut self.verdicts, may_be_implicit),
            Outgoing::Delta(delta) => {
                delta.send(request, &mut self.verdicts);
                false
            }
        };
    }

    /// Records a response that has to be answered.
    pub(super) fn receive(
        &mut self,
        number: u64,
        nonce: Arc<str>,
        version: Arc<str>,
        nack: Option<String>,
        now: Instant,
    ) {
        self.exchange = ExchangeState::Responded;
        self.verdicts.push(number, nonce, version, nack, now);
    }

    /// Lets locators be omitted that could not be while an answer was held back.
    pub(super) fn end_hold(&mut self) {
        if let Outgoing::Sotw(sotw) = &mut self.outgoing
            && !self.verdicts.is_held()
        {
            sotw.omit_deferred();
        }
    }

    /// Panics in debug builds where the parts of the state contradict each other.
    pub(super) fn check(&self, dialect: Dialect) {
        let started = self.exchange.is_started();
        debug_assert_eq!(started, self.requests > 0, "{self:?}");
        debug_assert!(started || !self.changed && self.reopen.is_none(), "{self:?}");
        debug_assert!(started || self.outgoing.is_new(), "{self:?}");
        debug_assert!(self.verdicts.is_held() || !self.outgoing.defers(), "{self:?}");
        debug_assert_eq!(self.outgoing.dialect(), dialect, "{self:?}");
    }
}
