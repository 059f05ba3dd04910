//! One upstream stream without IO: what is subscribed on it, and what becomes of its responses.
//!
//! Owns the [`UpstreamSession`] and what surrounds it: bursts that are debounced, acknowledgements that are deferred,
//! which endpoint to use, and what an earlier process left. It outlives the connections that a driver opens for it. Never
//! connects, reads, writes or waits: time is an argument, and what happens goes to an [`EventSink`].
//!
//! The driver calls [`UpstreamStream::handle_command`] at any time, connected or not; between
//! [`UpstreamStream::handle_connected`] and [`UpstreamStream::handle_disconnected`] also
//! [`UpstreamStream::handle_response`], [`UpstreamStream::poll_transmit`] while there is room for a request, and
//! [`UpstreamStream::handle_timeout`] at [`UpstreamStream::poll_timeout`]. After commands and responses it looks up what
//! [`UpstreamStream::poll_look_up`] gives.

pub(crate) mod acknowledgement;
mod command;
pub(crate) mod debounce;
mod event;
pub(crate) mod failover;
mod memory;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_protocol::client::{Applied, Request, Response, UpstreamSession};
use weir_types::Batch;

use self::acknowledgement::{About, DeferredAcks};
pub(crate) use self::command::{Command, Needs};
use self::debounce::Collected;
pub(crate) use self::event::{Event, EventSink};
use self::failover::Failover;
use self::memory::Memory;
use crate::arrival::Arrival;
use crate::connections::Carrier;
use crate::{Acknowledge, Settings};

/// What is subscribed at a control plane by one stream, connected or not.
pub(crate) struct UpstreamStream<S> {
    session: UpstreamSession,
    settings: Arc<Settings>,
    sink: S,
    failover: Failover,
    /// Acknowledgements that wait for subscribers.
    deferred: DeferredAcks,
    /// Changes that wait for more.
    collected: Collected,
    /// What outlives the process; none where nothing does.
    memory: Option<Memory>,
    /// Whether unknown locators are reported as unavailable.
    unavailable: bool,
    connection: Connection,
}

/// What is known of the endpoint that is connected, or was last.
#[derive(Debug, Default)]
struct Connection {
    endpoint: Option<Arc<str>>,
    /// Whether a live endpoint has to send something.
    owes_answer: bool,
    /// Whether something is known of everything that was subscribed to on this connection.
    in_sync: bool,
}

impl<S: EventSink> UpstreamStream<S> {
    /// A stream on which nothing is subscribed yet. Where it `remembers`, resources of an earlier process are looked up.
    pub(crate) fn new(session: UpstreamSession, settings: Arc<Settings>, remembers: bool, sink: S) -> Self {
        let failover = settings.failover();
        let memory = remembers.then(|| Memory::new(settings.versions_last()));
        let (deferred, collected, connection) = Default::default();
        Self {
            session,
            settings,
            sink,
            failover,
            deferred,
            collected,
            memory,
            unavailable: false,
            connection,
        }
    }

    /// The configuration of the control plane.
    pub(crate) fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Whether nothing is subscribed, so that no connection is needed.
    pub(crate) fn is_idle(&self) -> bool {
        self.session.is_idle()
    }

    /// Which endpoint to connect to, and how long to wait before: for ever, where there is none. Where that is not at
    /// once, no endpoint is left, and what is unknown is unavailable.
    pub(crate) fn next_endpoint(&mut self, now: Instant) -> (usize, Duration) {
        let (index, wait) = self.failover.next(now);
        if !wait.is_zero() {
            self.unavailable = true;
            self.report_unavailable();
        }
        (index, wait)
    }

    /// Notes a connection to an endpoint, on which a stream is opened.
    pub(crate) fn handle_connected(
        &mut self,
        endpoint: &Arc<str>,
        index: usize,
        carrier: Option<Carrier>,
        now: Instant,
    ) {
        if std::mem::take(&mut self.unavailable) {
            let back = self.session.available();
            self.commit(back);
        }
        self.sink.note(Event::Connected { endpoint: Arc::clone(endpoint), index, carrier });
        self.failover.opened(index, now);
        let last = self.connection.endpoint.replace(Arc::clone(endpoint));
        if last.is_some_and(|last| last != *endpoint) && !self.settings.shared_versions {
            self.session.forget_versions();
        }
        self.session.connected();
        self.connection.owes_answer = self.settings.endpoints.len() > 1 && self.session.demand_answer();
        self.connection.in_sync = false;
    }

    /// Notes that the stream is closed. What is cached stays.
    pub(crate) fn handle_disconnected(&mut self) {
        let collected = self.collected.take_all();
        self.commit(collected);
        self.session.disconnected();
    }

    /// Notes that the connection to an endpoint failed, or could not be made.
    pub(crate) fn handle_failure(&mut self, endpoint: Arc<str>, index: usize, reason: String, now: Instant) {
        self.failover.failed(index, now);
        self.sink.note(Event::Disconnected { endpoint, reason });
    }

    /// Takes in a response; none is the answer of a poll that there is nothing new.
    pub(crate) fn handle_response(&mut self, response: Option<(Response, Arrival)>, now: Instant) {
        let response =
            response.map(|(response, arrival)| (self.session.handle_response(response, now), arrival));
        if response.as_ref().is_none_or(|(applied, _)| applied.is_answer()) {
            self.failover.answered(now);
            self.connection.owes_answer = false;
        }
        if let Some((applied, arrival)) = response {
            self.apply_or_debounce(applied, arrival, now);
        }
        self.report_unconfirmed();
    }

    /// The next request, if there is one. The caller has room to send it.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Request> {
        self.session.poll_transmit(now)
    }

    /// When there is something to do, beside [`Self::poll_probe`].
    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        let collected = self.settings.debounce.and_then(|settings| self.collected.deadline(settings));
        [self.session.poll_timeout(), self.deferred.deadline(), collected].into_iter().flatten().min()
    }

    /// Commits what it is time for. To be called at [`Self::poll_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let collected = self.settings.debounce.map(|settings| self.collected.take_due(settings, now));
        self.commit(collected.into_iter().flatten());
        let known = self.session.handle_timeout(now);
        // What is known now is known of what came before.
        let before: Vec<_> = known.iter().flat_map(|batch| self.collected.before(batch)).collect();
        self.commit(before.into_iter().chain(known));
    }

    /// Completes the acknowledgements that have waited for long enough; whether there are any.
    pub(crate) fn complete_acks(&mut self, now: Instant) -> bool {
        let due = self.deferred.take_due(now);
        let any = !due.is_empty();
        for release in due {
            self.session.complete_ack(&release.ticket, release.rejection.clone());
            self.sink.note(Event::AckCompleted(release));
        }
        any
    }

    /// Which endpoint to try beside the one in use, and when.
    pub(crate) fn poll_probe(&self, now: Instant) -> Option<(usize, Instant)> {
        self.failover.beside(now)
    }

    /// A session that subscribes to something that an endpoint has to answer, for a probe, and how long a probe's stream
    /// has to last once it was answered.
    pub(crate) fn probe(&self) -> (UpstreamSession, Duration) {
        (self.session.sample(), self.failover.lasting())
    }

    /// Notes that another endpoint was tried and is of no use.
    pub(crate) fn handle_failed_probe(
        &mut self,
        endpoint: Arc<str>,
        index: usize,
        reason: String,
        now: Instant,
    ) {
        self.failover.failed(index, now);
        self.sink.note(Event::Unfit { endpoint, reason });
    }

    /// Reports what the last responses, requests and timeouts came to. To be called after them.
    pub(crate) fn report_progress(&mut self, now: Instant) {
        self.report_shrinks();
        let in_sync = self.session.is_in_sync();
        if std::mem::replace(&mut self.connection.in_sync, in_sync) != in_sync {
            self.sink.note(Event::InSync(in_sync));
        }
        self.failover.expect(self.connection.owes_answer || !in_sync, now);
    }

    /// Reports what the last commands came to. To be called after them.
    pub(crate) fn report_commands(&mut self) {
        self.report_unavailable();
        self.report_unconfirmed();
    }

    /// Reports unknown locators as unavailable, while no endpoint is left.
    fn report_unavailable(&mut self) {
        if self.unavailable {
            let unavailable = self.session.unavailable();
            self.commit(unavailable);
        }
    }

    /// Reports what became of removals.
    fn report_shrinks(&mut self) {
        while let Some(shrink) = self.session.poll_shrink() {
            self.sink.note(Event::Shrink(shrink));
        }
    }

    /// Commits changes that are no response, or came some time after it.
    fn commit(&mut self, batches: impl IntoIterator<Item = Batch>) {
        batches.into_iter().for_each(|batch| self.sink.note(Event::Known(batch)));
    }

    /// Has a response committed, unless it is only a change and may wait for more.
    fn apply_or_debounce(&mut self, mut applied: Applied, arrival: Arrival, now: Instant) {
        if self.settings.debounce.is_none() {
            return self.apply(applied, arrival, now);
        }
        if applied.answers || !Collected::may_wait(&applied.batch) {
            let before = self.collected.before(&applied.batch);
            self.commit(before);
            return self.apply(applied, arrival, now);
        }
        let Batch { type_url, provenance, .. } = &applied.batch;
        let empty = Batch::new(type_url.clone(), *provenance);
        let batch = std::mem::replace(&mut applied.batch, empty);
        self.apply(applied, arrival, now);
        if !batch.is_empty() {
            let type_url = batch.type_url.clone();
            if self.collected.add(batch, now) {
                self.sink.note(Event::Debounced(type_url));
            }
        }
    }

    /// Has a response committed. Its acknowledgement is deferred where that is watched, and concerns any subscriber.
    fn apply(&mut self, applied: Applied, arrival: Arrival, now: Instant) {
        let deferred = match (self.settings.acknowledge, &applied.ticket) {
            (Acknowledge::AfterSubscribers(policy), Some(ticket)) => {
                Some((ticket.clone(), About::new(&applied.batch), policy))
            }
            _ => None,
        };
        let watch = self.sink.apply(applied, arrival).filter(|watch| watch.tally().subscribers > 0);
        if let (Some((ticket, about, policy)), Some(watch)) = (deferred, watch) {
            self.session.defer_ack(&ticket);
            self.deferred.add(ticket, about, watch, policy, now);
            self.sink.note(Event::AckDeferred);
        }
    }
}
