//! Load reports of clients (LRS) on their way to a control plane.
//!
//! Owns the streams that carry them, one for each stream of a client, and where these go: to the endpoint that discovery
//! uses for the same client. Never reads, makes up, repeats or sums up a report: such control planes balance load by who
//! reports from where, and nothing acknowledges a report.

mod codec;
mod connections;

use std::collections::HashMap;
use std::error::Error as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataMap;
use tonic::{Extensions, Request, Status as GrpcStatus};
use weir_types::{ClientParameters, DynamicParameters};
use weir_wire::load_stats;

use self::codec::Unread;
use self::connections::{Connections, Place};
use crate::driver::describe;
use crate::status::StreamPlace;
use crate::{Naming, Settings, Status};

/// How long a control plane has to end a stream whose client is gone.
const LINGER: Duration = Duration::from_secs(5);

/// Passes on load reports, to the control plane that is configured to have them. Cheap to clone.
#[derive(Clone, Default)]
pub struct LoadRelay {
    /// Where they go; none where they go nowhere. A change ends every stream.
    target: watch::Sender<Option<Arc<Target>>>,
    status: Status,
}

/// The control plane, with the connections that carry load reports.
struct Target {
    settings: Arc<Settings>,
    connections: Mutex<HashMap<Arc<str>, Connections>>,
}

/// A stream that has been opened.
struct Relayed {
    relay: LoadRelay,
    /// The parameter set of the client; none where one stream serves all.
    set: Option<DynamicParameters>,
    target: Arc<Target>,
    place: StreamPlace,
    targets: watch::Receiver<Option<Arc<Target>>>,
    connects: watch::Receiver<()>,
    responses: BoxStream<'static, Result<Bytes, GrpcStatus>>,
}

// === impl LoadRelay ===

impl LoadRelay {
    /// A relay to where the streams are that `status` shows.
    pub fn new(status: Status) -> Self {
        Self { status, ..Self::default() }
    }

    /// Whether load reports go anywhere.
    pub fn is_on(&self) -> bool {
        self.target.borrow().is_some()
    }

    /// Has load reports go by these settings of a control plane from now on.
    pub(crate) fn follow(&self, settings: &Arc<Settings>) {
        if settings.load_reports {
            let target = Target { settings: Arc::clone(settings), connections: Mutex::default() };
            self.target.send_replace(Some(Arc::new(target)));
        } else {
            self.forget(&settings.authority);
        }
    }

    /// No load reports go to the control plane of `authority` any more.
    pub(crate) fn forget(&self, authority: &str) {
        self.target.send_if_modified(|target| {
            target.take_if(|target| target.settings.authority == authority).is_some()
        });
    }

    /// Opens a stream for a client with these parameters, and returns what the control plane sends on it, with the status
    /// that it ends with. The reports are taken one by one; their end is the half-close.
    pub fn open(
        &self,
        parameters: &ClientParameters,
        reports: BoxStream<'static, Bytes>,
    ) -> BoxStream<'static, Result<Bytes, GrpcStatus>> {
        let opening = self.clone().relay(parameters.clone(), reports);
        let relayed =
            stream::once(opening).map_ok(|relayed| stream::unfold(Box::new(relayed), Relayed::next));
        relayed.try_flatten().boxed()
    }

    async fn relay(
        self,
        parameters: ClientParameters,
        reports: BoxStream<'static, Bytes>,
    ) -> Result<Relayed, GrpcStatus> {
        let (mut targets, connects) = (self.target.subscribe(), self.status.connects());
        let target = targets.borrow_and_update().clone();
        let target = target.ok_or_else(|| GrpcStatus::unavailable("load reports go nowhere any more"))?;
        let settings = Arc::clone(&target.settings);
        let set = target.set(&parameters);
        let place = self.status.place_of(&settings.authority, set.as_ref());
        let place =
            place.ok_or_else(|| GrpcStatus::unavailable("the control plane of load reports is away"))?;
        let connection = target.connections(&place.endpoint).place().await.map_err(|reason| {
            let (authority, endpoint) = (&settings.authority, &place.endpoint);
            tracing::warn!(authority, %endpoint, %reason, "no connection for load reports");
            GrpcStatus::unavailable("there is no connection to the control plane for load reports")
        })?;
        let values = header_values(parameters.for_authority(&settings.authority));
        let responses = call(&settings, &Arc::new(connection), &values, reports).boxed();
        Ok(Relayed { relay: self, set, target, place, targets, connects, responses })
    }
}

// === impl Target ===

impl Target {
    /// The set that a client with these parameters belongs to.
    fn set(&self, parameters: &ClientParameters) -> Option<DynamicParameters> {
        let Naming::Streams { keys, .. } = &self.settings.naming else { return None };
        Some(parameters.for_authority(&self.settings.authority).projected(keys))
    }

    fn connections(&self, endpoint: &Arc<str>) -> Connections {
        let new = || Connections::new(Arc::clone(&self.settings), endpoint);
        self.connections.lock().entry(Arc::clone(endpoint)).or_insert_with(new).clone()
    }
}

// === impl Relayed ===

impl Relayed {
    /// What comes next, with what may come after it.
    async fn next(mut self: Box<Self>) -> Option<(Result<Bytes, GrpcStatus>, Box<Self>)> {
        let message = loop {
            tokio::select! {
                biased;
                _ = self.targets.changed() => {
                    break Err(GrpcStatus::unavailable("load reports go elsewhere now: connect anew"));
                }
                Ok(()) = self.connects.changed() => {
                    let Self { relay, set, target, place, .. } = &mut *self;
                    if relay.status.has_moved(&target.settings.authority, set.as_ref(), place) {
                        break Err(GrpcStatus::unavailable("the control plane is used elsewhere now: connect anew"));
                    }
                }
                message = self.responses.next() => break message?.map_err(of_stream),
            }
        };
        Some((message, self))
    }
}

/// What headers are filled with for a client with these parameters.
fn header_values(parameters: &DynamicParameters) -> DynamicParameters {
    parameters.node().map_or_else(DynamicParameters::empty, |node| node.header_values().clone())
}

/// One direction of a call, which has its place on a connection for as long as either is open.
struct Direction<S> {
    messages: S,
    _place: Arc<Place>,
}

impl<S: Stream + Unpin> Stream for Direction<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.messages.poll_next_unpin(cx)
    }
}

/// What a control plane sends. When it is dropped, the control plane still has time to end the stream, since the reports
/// have ended: a reset could overtake what it has yet to read.
struct Responses(Option<BoxStream<'static, Result<Bytes, GrpcStatus>>>);

impl Stream for Responses {
    type Item = Result<Bytes, GrpcStatus>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(responses) = &mut self.0 else { return Poll::Ready(None) };
        let next = ready!(responses.poll_next_unpin(cx));
        if !matches!(next, Some(Ok(_))) {
            self.0 = None;
        }
        Poll::Ready(next)
    }
}

impl Drop for Responses {
    fn drop(&mut self) {
        if let (Some(responses), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            let ends = responses
                .take_while(|next| std::future::ready(next.is_ok()))
                .for_each(|_| std::future::ready(()));
            runtime.spawn(async { _ = timeout(LINGER, ends).await });
        }
    }
}

/// Calls the service. A server may hold back its headers until it has something to send, so the call is made by reading
/// the responses, while reports are sent already.
fn call(
    settings: &Settings,
    place: &Arc<Place>,
    values: &DynamicParameters,
    reports: BoxStream<'static, Bytes>,
) -> impl Stream<Item = Result<Bytes, GrpcStatus>> + Send + use<> {
    let mut client = place
        .calls()
        .max_decoding_message_size(settings.max_message_size)
        .max_encoding_message_size(usize::MAX);
    let metadata = MetadataMap::from_headers(settings.credentials.headers(values));
    let path = PathAndQuery::from_static(load_stats::path_of(settings.transport));
    let reports = Direction { messages: reports, _place: Arc::clone(place) };
    let call = async move {
        client.ready().await.map_err(|error| GrpcStatus::unavailable(error.to_string()))?;
        let request = Request::from_parts(metadata, Extensions::default(), reports);
        client.streaming(request, path, Unread).await
    };
    let responses = stream::once(call).map_ok(tonic::Response::into_inner).try_flatten();
    Responses(Some(Direction { messages: responses.boxed(), _place: Arc::clone(place) }.boxed()))
}

/// The status that a client is sent: that of the control plane, if it has sent one.
fn of_stream(status: GrpcStatus) -> GrpcStatus {
    if status.source().is_none() {
        return status;
    }
    tracing::info!(reason = describe(&status), "stream of load reports broke");
    GrpcStatus::unavailable("the stream to the control plane broke")
}
