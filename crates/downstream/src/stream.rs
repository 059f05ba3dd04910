//! The shell around one stream's machine.
//!
//! Two halves that never wait for each other: a future that reads requests into the machine, and the response
//! body, which takes the next step when HTTP/2 has room for it. Both run within the connection's task. Between
//! them is the machine behind a lock that is held only to turn it. There is no queue: a client that does not read
//! makes no steps.

mod body;
mod observe;
#[cfg(test)]
mod tests;
mod waiting;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::abortable;
use hyper::body::Incoming;
use hyper::rt::Executor as _;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};
use weir_database::ViewListener;
use weir_types::Dialect;
use weir_wire::services::Service;

pub(crate) use body::{ResponseBody, trailers};

use crate::admission::{NodeSlot, Opened, Refusal, Turn};
use crate::apart::apart;
use crate::clients::{DeliveryStatus, Entry, Millis};
use crate::connection::Within;
use crate::messages::Messages;
use crate::node::Client;
use crate::peer::Peer;
use crate::shared::Shared;
use crate::shared::now;
use crate::signal::Signal;
use crate::status::status;
use crate::tallies;
use weir_session::{ClientTransport, Handled, Request, Session};

/// One stream.
pub(crate) struct Stream {
    shared: Arc<Shared>,
    service: &'static Service,
    dialect: Dialect,
    peer: Arc<Peer>,
    since: Millis,
    /// Wakes the response body.
    signal: Arc<Signal>,
    state: Mutex<State>,
    within: Within,
    entry: Entry,
}

#[derive(Default)]
struct State {
    /// What the first message has made known.
    open: Option<Open>,
    /// Why the stream ends.
    end: Option<Status>,
}

struct Open {
    client: Arc<Client>,
    session: Session,
    /// For operators, of each type of the session.
    deliveries: Vec<DeliveryStatus>,
    /// How many names the largest request had that may not be answered yet.
    asked: usize,
    /// Whether the client sends no more requests, and is still sent what is due.
    half_closed: bool,
    /// Until when a timer runs for what waits.
    timer: Option<Instant>,
    /// To be sent the first response.
    turn: Turn,
    _slot: Option<NodeSlot>,
}

impl Stream {
    /// Opens a stream that reads `requests` within its connection until `ending`, and returns its response body.
    pub(crate) fn open<R: Request>(
        shared: Arc<Shared>,
        service: &'static Service,
        requests: Messages<R, Incoming>,
        peer: Arc<Peer>,
        within: &Within,
        ending: CancellationToken,
        opened: Opened,
    ) -> ResponseBody {
        shared.metrics.opened(R::DIALECT, Some(service));
        let stream = Arc::new(Self {
            service,
            dialect: R::DIALECT,
            signal: Arc::new(Signal::of(&peer)),
            peer,
            since: Millis::now(),
            state: Mutex::default(),
            within: within.clone(),
            entry: shared.registry.entry(),
            shared,
        });
        stream.entry.show(&stream);
        let (reading, reader) = abortable(Arc::clone(&stream).read(requests, ending));
        // An async block would hold the future twice.
        within.execute(reading.map(drop));
        ResponseBody { stream, reader, ended: false, within: within.clone(), _opened: opened }
    }

    /// Reads until the client has nothing more to send, or until `ending`.
    #[expect(clippy::manual_async_fn, reason = "an async fn has room for its arguments twice")]
    fn read<R: Request>(
        self: Arc<Self>,
        mut requests: Messages<R, Incoming>,
        ending: CancellationToken,
    ) -> impl Future<Output = ()> {
        async move {
            let end = tokio::select! {
                biased;
                end = self.read_all(&mut requests) => end,
                () = ending.cancelled() => Status::unavailable("the proxy asks its clients to connect anew"),
            };
            match end.code() {
                Code::Ok => self.half_close(),
                _ => self.end(end),
            }
        }
    }

    async fn read_all<R: Request>(self: &Arc<Self>, requests: &mut Messages<R, Incoming>) -> Status {
        loop {
            let take_in = |request: R| apart(self.weight(request.count()), || self.handle(request));
            match requests.next().await.and_then(|request| request.map(take_in).transpose()) {
                Ok(Some(true)) => self.signal.wake(),
                Ok(Some(false)) => {}
                Ok(None) => return Status::ok(""),
                Err(status) => return status,
            }
        }
    }

    /// How many names a request is about: with each that is new, or is given up, all of a stream are gone through.
    fn weight(&self, count: usize) -> usize {
        let subscribed = |open: &Open| open.session.subscribed();
        count.max(self.state.lock().open.as_ref().filter(|_| count > 0).map_or(0, subscribed))
    }

    /// Takes in a request, and states whether there may now be something to send.
    fn handle<R: Request>(self: &Arc<Self>, request: R) -> Result<bool, Status> {
        tallies::request(self.dialect);
        let mut state = self.state.lock();
        let open = match &mut state.open {
            Some(open) => open,
            none => none.insert(self.begin(&request)?),
        };
        open.asked = open.asked.max(request.count());
        let client = Arc::clone(&open.client);
        let subscriber = &(self.signal.clone() as Arc<dyn ViewListener>);
        let handled = open.session.handle_request(request, &self.shared.env(subscriber));
        let Handled { type_url, nonce, verdict, denied, refused, .. } =
            handled.map_err(|error| self.shared.refuse(error))?;
        tracing::debug!(node = %client.id, %type_url, nonce, "request");
        denied.iter().for_each(|denied| self.shared.deny(denied));
        self.shared.limit(&client, &type_url, &refused);
        let delivery = open.delivery(&type_url);
        if let Some(verdict) = verdict {
            if let Some(delivery) = delivery {
                delivery.record_verdict(&verdict);
            }
            open.turn.end();
            self.shared.judge(self.dialect, Some(self.entry.id()), &client, &type_url, &verdict);
        }
        if open.session.is_retrying() {
            self.set_timer(open);
        }
        Ok(open.is_due())
    }

    /// Makes the client's acquaintance by its first message.
    fn begin<R: Request>(&self, request: &R) -> Result<Open, Status> {
        let settings = self.shared.settings();
        let (client, wrapping) = self.shared.identify_client(&settings, &self.peer, request.node())?;
        let client = Arc::new(client);
        self.signal.belongs_to(&client);
        let slot = self.shared.gate.admit_node(&client.id).map_err(Refusal::status)?;
        tracing::info!(
            node = %client.id, cluster = %client.cluster, user_agent = %client.user_agent,
            service = self.service.short_name(), transport = self.service.version.as_str(),
            dialect = %self.dialect, parameters = %client.profile.parameters, "client connected"
        );
        let turn = self.shared.gate.turn();
        let settings = self.shared.session_settings();
        let transport = ClientTransport::Grpc(self.service, self.dialect);
        let profile = Arc::clone(&client.profile);
        let session = Session::new(transport, profile, wrapping, settings, fastrand::u32(..));
        Ok(Open {
            client,
            session,
            deliveries: Vec::new(),
            asked: 0,
            timer: None,
            half_closed: false,
            turn,
            _slot: slot,
        })
    }

    fn end(&self, status: Status) {
        let mut state = self.state.lock();
        let node = &*self.signal.name();
        let refused = matches!(
            status.code(),
            Code::DeadlineExceeded | Code::InvalidArgument | Code::ResourceExhausted | Code::PermissionDenied
        );
        if refused {
            self.shared.metrics.refused(self.dialect);
            tracing::warn!(node, code = ?status.code(), reason = status.message(), "stream rejected");
        } else {
            tracing::info!(node, code = ?status.code(), reason = status.message(), "client disconnected");
        }
        state.end = Some(status);
        // What the client was subscribed to is of no interest any more, even if it never reads the end.
        state.open = None;
        drop(state);
        self.signal.wake();
    }

    /// The next response, the end, or nothing for now.
    fn poll(self: &Arc<Self>, cx: &mut Context<'_>) -> Poll<Result<Bytes, Status>> {
        self.signal.register(cx);
        let mut state = self.state.lock();
        if let Some(end) = state.end.take() {
            return Poll::Ready(Err(end));
        }
        let Some(open) = &mut state.open else { return Poll::Pending };
        if let Some(end) = open.session.close_reason() {
            tracing::info!(node = %open.client.id, reason = end.message, "stream closed");
            self.shared.metrics.closed_cold(self.dialect);
            state.open = None;
            return Poll::Ready(Err(status(end)));
        }
        let due = matches!(open.turn, Turn::Over) || open.session.may_transmit();
        if due && open.turn.poll(cx).is_pending() {
            return Poll::Pending;
        }
        let transmit =
            due.then(|| apart(open.asked, || open.session.poll_transmit(&self.shared.responses, now())));
        if let Some(transmit) = &transmit {
            open.turn.used(transmit.is_some());
        }
        match transmit.flatten() {
            Some(transmit) => {
                if let Some(delivery) = open.deliveries.get_mut(transmit.index) {
                    delivery.send(transmit.version);
                }
                if let Some(type_subscription) = open.session.types().get(transmit.index) {
                    type_subscription.view().attachment().note_sent(transmit.nonce.commit);
                    let tally = tallies::of(self.dialect, type_subscription.type_url());
                    tally.response(transmit.frame.len());
                    if transmit.refreshes {
                        tally.heartbeat();
                    }
                    tracing::debug!(
                        node = %open.client.id, type_url = %type_subscription.type_url(), nonce = %transmit.nonce,
                        bytes = transmit.frame.len(), "response"
                    );
                }
                Poll::Ready(Ok(transmit.frame))
            }
            // What is waited for is waited for to the end.
            None if open.half_closed && !open.session.is_waiting() => {
                tracing::info!(node = %open.client.id, "client half-closed: stream ended");
                state.open = None;
                Poll::Ready(Err(Status::ok("")))
            }
            None => {
                open.asked = 0;
                self.set_timer(open);
                Poll::Pending
            }
        }
    }
}
