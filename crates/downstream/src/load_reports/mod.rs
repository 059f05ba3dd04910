//! Streams of load reports (LRS): a client's, on its way to a control plane.
//!
//! Owns which of them are let in, and who the client is. Never reads a report but for the node in the first one, and never
//! holds more than one message each way: what the other side does not take is not read here.

mod body;
mod metrics;
mod reports;

use std::future::poll_fn;
use std::sync::{Arc, Once};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::body::Body;
use weir_types::ClientParameters;

use self::body::{LoadBody, Reporter, SharedReporter};
use self::metrics::LoadMetrics;
use self::reports::Reports;
use crate::admission::{LoadOpened, Refusal};
use crate::connection::Within;
use crate::messages::{Bounds, Frames};
use crate::peer::Peer;
use crate::shared::Shared;

/// Where the load reports of clients go.
pub trait LoadReporting: Send + Sync {
    /// Whether they go anywhere.
    fn is_on(&self) -> bool;

    /// Opens a stream to the control plane for a client with these parameters. Returns what comes on it, with the status
    /// that it ends with; the end of the reports is the half-close.
    fn open(
        &self,
        parameters: &ClientParameters,
        reports: BoxStream<'static, Bytes>,
    ) -> BoxStream<'static, Result<Bytes, Status>>;
}

/// The service.
pub(crate) struct LoadReports {
    /// None where there is nothing that could take them.
    to: Option<Arc<dyn LoadReporting>>,
    metrics: Arc<LoadMetrics>,
}

/// Logs that there is no such service.
static OFF: Once = Once::new();

impl LoadReports {
    /// The service of reports that go there.
    pub(crate) fn new(to: Option<Arc<dyn LoadReporting>>) -> Self {
        Self { to, metrics: Arc::new(LoadMetrics::new()) }
    }

    /// The answer to a client that opens a stream: what comes on it until `ending`.
    pub(crate) fn answer(
        &self,
        request: Request<Incoming>,
        shared: &Arc<Shared>,
        peer: &Arc<Peer>,
        within: &Within,
        ending: CancellationToken,
    ) -> Response<Body> {
        let Some(to) = self.to.clone().filter(|to| to.is_on()) else { return off(peer).into_http() };
        let opened = match shared.gate.open_load() {
            Ok(opened) => Arc::new(opened),
            Err(refusal) => return refusal.into_grpc(),
        };
        self.metrics.opened();
        let (reporter, over) = (SharedReporter::default(), CancellationToken::new());
        let (failed, failure) = oneshot::channel();
        let opening = Opening {
            shared: Arc::clone(shared),
            peer: Arc::clone(peer),
            frames: Frames::new(request.into_body(), Bounds::of(&shared.settings(), &shared.gate)),
            to,
            reporter: Arc::clone(&reporter),
            over: over.clone(),
            failed,
            metrics: Arc::clone(&self.metrics),
            opened: Arc::clone(&opened),
        };
        let body = LoadBody {
            responses: stream::once(opening.open()).try_flatten().boxed(),
            failure: failure.fuse(),
            ending: Box::pin(ending.cancelled_owned()),
            reporter,
            metrics: Arc::clone(&self.metrics),
            within: within.clone(),
            ended: false,
            _reports: over.drop_guard(),
            _opened: opened,
        };
        let mut response = Response::new(Body::new(body));
        response.headers_mut().insert(http::header::CONTENT_TYPE, tonic::metadata::GRPC_CONTENT_TYPE);
        response
    }
}

/// The answer where load reports go nowhere.
fn off(peer: &Peer) -> Status {
    OFF.call_once(|| {
        tracing::info!(
            peer = %peer.address,
            "a client reports load, which goes nowhere: upstream.load_reports = \"relay\" passes it on; logged once"
        );
    });
    Status::unimplemented("load reports are not taken (upstream.load_reports is \"off\")")
}

/// A stream that waits for its first message.
struct Opening {
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    frames: Frames<Incoming>,
    to: Arc<dyn LoadReporting>,
    reporter: SharedReporter,
    /// Cancelled when the client's stream is over.
    over: CancellationToken,
    failed: oneshot::Sender<Status>,
    metrics: Arc<LoadMetrics>,
    opened: Arc<LoadOpened>,
}

impl Opening {
    /// Reads the first message, and opens the stream to the control plane. A client that sends nothing has none.
    async fn open(mut self) -> Result<BoxStream<'static, Result<Bytes, Status>>, Status> {
        let first = poll_fn(|cx| self.frames.poll_next(cx, None)).await?;
        let Some(first) = first else { return Ok(stream::empty().boxed()) };
        let node = weir_wire::load_stats::node_of(first.clone());
        let node = node.map_err(|error| Status::internal(format!("cannot decode the report: {error}")))?;
        let settings = self.shared.settings();
        let client = self.shared.identify_reporter(&settings, &self.peer, &node)?;
        let slot = self.shared.gate.admit_node(&client.id).map_err(Refusal::status)?;
        tracing::info!(
            node = %client.id, cluster = %client.cluster, user_agent = %client.user_agent,
            "load reports of a client are relayed"
        );
        *self.reporter.lock() = Some(Reporter { id: client.id.clone(), _slot: slot });
        let ending = Box::pin(self.over.cancelled_owned());
        let reports = Reports::new(first, self.frames, ending, self.failed, self.metrics, self.opened);
        Ok(self.to.open(&client.profile.parameters, reports.boxed()))
    }
}
