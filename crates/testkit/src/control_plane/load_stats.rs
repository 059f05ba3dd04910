//! The load reporting service: it records reports, and sends what the test has it send.

use std::future::{Ready, ready};
use std::sync::Arc;

use bytes::Bytes;
use hyper::HeaderMap;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::server::{Grpc, StreamingService};
use tonic::service::AxumBody;
use tonic::{Code, Status, Streaming};

use super::{FakeControlPlane, Shared};
use crate::raw::Raw;

/// The largest message, in bytes.
const LARGEST: usize = 64 << 20;

/// A stream of load reports.
#[derive(Clone, Debug)]
pub struct LoadStream {
    /// The path of the method that opened it: `/SERVICE/METHOD`.
    pub path: String,
    /// With which headers.
    pub headers: HeaderMap,
    /// Every message that came on it.
    pub reports: Vec<Bytes>,
    /// Whether the client has sent its last message.
    pub half_closed: bool,
    /// Whether it is still there.
    pub open: bool,
    responses: Vec<Bytes>,
    end: Option<(Code, String)>,
}

type Replies = mpsc::UnboundedSender<Result<Bytes, Status>>;

pub(super) async fn serve(shared: Arc<Shared>, request: Request<AxumBody>) -> Response<Body> {
    let opening = Opening { shared, path: request.uri().path().to_owned() };
    Grpc::new(Raw).max_decoding_message_size(LARGEST).streaming(opening, request).await
}

struct Opening {
    shared: Arc<Shared>,
    path: String,
}

impl StreamingService<Bytes> for Opening {
    type Response = Bytes;
    type ResponseStream = UnboundedReceiverStream<Result<Bytes, Status>>;
    type Future = Ready<Result<tonic::Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<Bytes>>) -> Self::Future {
        let (replies, outbound) = mpsc::unbounded_channel();
        let (shared, path) = (Arc::clone(&self.shared), self.path.clone());
        let headers = request.metadata().clone().into_headers();
        tokio::spawn(async move {
            let stream = shared.change(|state| {
                let (reports, responses) = (Vec::new(), Vec::new());
                let (half_closed, open, end) = (false, true, None);
                state.loads.push(LoadStream { path, headers, reports, half_closed, open, responses, end });
                state.loads.len() - 1
            });
            drive(&shared, stream, request.into_inner(), &replies).await;
            shared.change(|state| state.loads[stream].open = false);
        });
        ready(Ok(tonic::Response::new(UnboundedReceiverStream::new(outbound))))
    }
}

/// Records and sends until the stream ends, on whichever side.
async fn drive(shared: &Shared, stream: usize, mut inbound: Streaming<Bytes>, replies: &Replies) {
    let mut changes = shared.state.subscribe();
    let (resets, mut sent) = (changes.borrow_and_update().resets, 0);
    loop {
        let (due, end, reads) = {
            let state = changes.borrow_and_update();
            let load = &state.loads[stream];
            let reset = || (Code::Unavailable, "the test ends this stream".to_owned());
            let end = load.end.clone().or_else(|| (state.resets != resets).then(reset));
            (load.responses[sent..].to_vec(), end, !state.loads_unread && !load.half_closed)
        };
        sent += due.len();
        due.into_iter().for_each(|response| _ = replies.send(Ok(response)));
        match end {
            Some((Code::Ok, _)) => return,
            Some((code, message)) => {
                _ = replies.send(Err(Status::new(code, message)));
                return;
            }
            None => {}
        }
        tokio::select! {
            biased;
            message = inbound.message(), if reads => match message {
                Ok(Some(report)) => shared.change(|state| state.loads[stream].reports.push(report)),
                Ok(None) => shared.change(|state| state.loads[stream].half_closed = true),
                Err(_) => return,
            },
            _ = changes.changed() => {}
            () = replies.closed() => return,
        }
    }
}

impl FakeControlPlane {
    /// Sends this on a stream of load reports.
    pub fn send_on_load(&self, stream: usize, response: &[u8]) {
        let response = Bytes::copy_from_slice(response);
        self.shared.change(|state| state.loads[stream].responses.push(response));
    }

    /// Ends a stream of load reports.
    pub fn end_load(&self, stream: usize, code: Code, message: &str) {
        self.shared.change(|state| state.loads[stream].end = Some((code, message.to_owned())));
    }

    /// Whether load reports are read from now on.
    pub fn read_loads(&self, reads: bool) {
        self.shared.change(|state| state.loads_unread = !reads);
    }

    /// Waits until so many messages have come on a stream of load reports, and returns all of them.
    pub async fn wait_for_reports(&self, stream: usize, count: usize) -> Vec<Bytes> {
        self.wait_for(&format!("{count} load reports on stream {stream}"), |state| {
            let load = state.loads.get(stream)?;
            (load.reports.len() >= count).then(|| load.reports.clone())
        })
        .await
    }
}
