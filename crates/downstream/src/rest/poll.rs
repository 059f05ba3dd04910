//! The shell around a poll's machine: a stream of one request.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll as Ready};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};
use weir_database::ViewListener;
use weir_wire::discovery::DiscoveryRequest;
use weir_wire::json::discovery::ResponseError;

use super::Failure;
use super::frames::Json;
use crate::admission::NodeSlot;
use crate::clients::{Condition, DeliveryStatus, Entry, Millis, Observed, Snapshot, TypeStatus};
use crate::metrics::Speech;
use crate::node::Client;
use crate::peer::Peer;
use crate::shared::Shared;
use crate::shared::now;
use crate::signal::Signal;
use crate::status::status;
use crate::tallies;
use weir_session::{ClientTransport, Handled, Request, Session, Wait};

/// A request that waits for its answer.
pub(super) struct Poll {
    shared: Arc<Shared>,
    session: Session,
    client: Arc<Client>,
    seen: Arc<Seen>,
    signal: Arc<Signal>,
    slot: Option<NodeSlot>,
}

/// What operators see of a poll.
struct Seen {
    client: Arc<Client>,
    peer: Arc<Peer>,
    since: Millis,
    /// As it was when the request was taken in.
    types: Mutex<Vec<TypeStatus>>,
    entry: Entry,
}

impl Observed for Seen {
    fn observe(&self) -> Option<Snapshot> {
        let dialect = Speech::Rest.as_str();
        Some(Snapshot {
            id: self.entry.id(),
            client: Arc::clone(&self.client),
            peer: self.peer.address,
            service: dialect,
            transport: "v3",
            dialect,
            since: self.since.into(),
            types: self.types.lock().clone(),
        })
    }

    fn client(&self) -> Option<(Arc<Client>, &'static str)> {
        let dialect = Speech::Rest.as_str();
        Some((Arc::clone(&self.client), dialect))
    }

    fn stand(&self) -> Option<Vec<(u64, Condition)>> {
        Some(self.types.lock().iter().map(|status| (status.view, status.condition)).collect())
    }
}

impl Poll {
    /// The poll of the client whose request this is.
    ///
    /// # Errors
    /// When its node cannot be read, or has too many polls.
    pub(super) fn of_client(
        shared: Arc<Shared>,
        peer: Arc<Peer>,
        request: &DiscoveryRequest,
    ) -> Result<Self, Failure> {
        let settings = shared.settings();
        let (client, wrapping) = shared.identify_client(&settings, &peer, Request::node(request))?;
        let slot = shared.gate.admit_node(&client.id)?;
        let (client, entry) = (Arc::new(client), shared.registry.entry());
        let (since, types) = (Millis::now(), Mutex::default());
        let signal = Arc::new(Signal::of(&peer));
        let seen = Arc::new(Seen { client: Arc::clone(&client), peer, since, types, entry });
        seen.entry.show(&seen);
        shared.metrics.opened(Speech::Rest, None);
        let (profile, settings) = (Arc::clone(&client.profile), shared.session_settings());
        let session = Session::new(ClientTransport::Rest, profile, wrapping, settings, fastrand::u32(..));
        signal.belongs_to(&client);
        Ok(Self { shared, session, client, seen, signal, slot })
    }

    /// Who polls.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Takes in the request.
    ///
    /// # Errors
    /// When the client asks for what it cannot have.
    pub(super) fn handle(&mut self, request: DiscoveryRequest) -> Result<(), Status> {
        let subscriber: Arc<dyn ViewListener> = self.signal.clone();
        let handled = self.session.handle_request(request, &self.shared.env(&subscriber));
        let Handled { type_url, version, verdict, denied, .. } =
            handled.map_err(|error| self.shared.refuse(error))?;
        tracing::debug!(node = %self.client.id, %type_url, ?version, "poll");
        denied.iter().for_each(|denied| self.shared.deny(denied));
        let mut delivery = DeliveryStatus::default();
        if let Some(verdict) = verdict {
            delivery.record_verdict(&verdict);
            self.shared.judge(Speech::Rest, None, &self.client, &type_url, &verdict);
        }
        let types =
            self.session.types().iter().map(|type_subscription| TypeStatus::of(type_subscription, &delivery));
        *self.seen.types.lock() = types.collect();
        Ok(())
    }

    /// The answer, once there is one; none if there is nothing new for as long as `hold`, or until `ending`.
    ///
    /// # Errors
    /// When the answer has no JSON form, and when the server stops.
    pub(super) async fn answered(
        &mut self,
        hold: Duration,
        ending: &CancellationToken,
    ) -> Result<Option<Bytes>, Failure> {
        let shared = Arc::clone(&self.shared);
        let over = Instant::now() + hold;
        let json = loop {
            let deadline = self.session.poll_timeout().map(Instant::from_std).filter(|at| *at < over);
            tokio::select! {
                biased;
                json = poll_fn(|cx| self.poll(cx)) => break json?,
                () = shared.phases.stop.cancelled() => {
                    return Err(Status::unavailable("the proxy is shutting down").into());
                }
                () = sleep_until(deadline.unwrap_or(over)) => {
                    if deadline.is_none() {
                        return Ok(None);
                    }
                    if self.session.handle_timeout(now()).contains(&Wait::FirstResponse) {
                        shared.metrics.first_response_timeout(Speech::Rest);
                    }
                }
                () = ending.cancelled() => return Ok(None),
            }
        };
        let unsayable = |error: Arc<ResponseError>| {
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, error.to_string())
        };
        json.map(Some).map_err(unsayable)
    }

    /// Ends the poll, and gives what its client counts by.
    pub(super) fn over(mut self) -> Option<NodeSlot> {
        self.slot.take()
    }

    fn poll(&mut self, cx: &Context<'_>) -> Ready<Result<Json, Status>> {
        self.signal.register(cx);
        if let Some(end) = self.session.close_reason() {
            self.shared.metrics.closed_cold(Speech::Rest);
            return Ready::Ready(Err(status(end)));
        }
        let transmit = self.session.poll_transmit(&self.shared.responses, now());
        let Some(transmit) = transmit else { return Ready::Pending };
        let json = self.shared.json.of(transmit.frame, transmit.version, transmit.uncacheable);
        if let (Some(type_subscription), Ok(json)) = (self.session.types().get(transmit.index), &json) {
            let type_url = type_subscription.type_url();
            type_subscription.view().attachment().note_sent(transmit.nonce.commit);
            tallies::of(Speech::Rest, type_url).response(json.len());
            tracing::debug!(node = %self.client.id, %type_url, bytes = json.len(), "response");
        }
        Ready::Ready(Ok(json))
    }
}

/// A client that goes away leaves nothing behind.
impl Drop for Poll {
    fn drop(&mut self) {
        self.shared.metrics.closed(Speech::Rest, None);
    }
}
