//! The response body of a stream of load reports: what the control plane sends, then the status.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::Fuse;
use futures_util::stream::BoxStream;
use http_body::Frame;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::{DropGuard, WaitForCancellationFutureOwned};
use tonic::{Code, Status};

use super::metrics::{LoadMetrics, Sender};
use crate::admission::{LoadOpened, NodeSlot};
use crate::connection::Within;
use crate::messages::frame;
use crate::stream::trailers;

/// The client, once it is known.
pub(super) type SharedReporter = Arc<Mutex<Option<Reporter>>>;

/// Who reports.
pub(super) struct Reporter {
    /// The id of its node.
    pub(super) id: String,
    pub(super) _slot: Option<NodeSlot>,
}

/// What a stream of load reports answers.
pub(super) struct LoadBody {
    pub(super) responses: BoxStream<'static, Result<Bytes, Status>>,
    /// What is wrong with what the client sends.
    pub(super) failure: Fuse<oneshot::Receiver<Status>>,
    /// The streams of the connection have to end.
    pub(super) ending: Pin<Box<WaitForCancellationFutureOwned>>,
    pub(super) reporter: SharedReporter,
    pub(super) metrics: Arc<LoadMetrics>,
    pub(super) within: Within,
    pub(super) ended: bool,
    /// Ends the reports.
    pub(super) _reports: DropGuard,
    pub(super) _opened: Arc<LoadOpened>,
}

impl LoadBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, Status>> {
        if let Poll::Ready(Ok(status)) = Pin::new(&mut self.failure).poll(cx) {
            return Poll::Ready(Err(status));
        }
        if let Poll::Ready(next) = self.responses.as_mut().poll_next(cx) {
            return Poll::Ready(next.unwrap_or_else(|| Err(Status::ok(""))));
        }
        let ending = self.ending.as_mut().poll(cx);
        ending.map(|()| Err(Status::unavailable("the proxy asks its clients to connect anew")))
    }

    fn end(&mut self, status: &Status) {
        self.ended = true;
        self.metrics.ended(status.code());
        let reporter = self.reporter.lock();
        let node = reporter.as_ref().map_or("", |reporter| &reporter.id);
        let reason = status.message();
        tracing::info!(node, code = ?status.code(), reason, "stream of load reports ended");
    }
}

impl http_body::Body for LoadBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match self.poll_next(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(message)) => {
                self.metrics.passed(Sender::ControlPlane, message.len());
                Poll::Ready(Some(Ok(Frame::data(frame(message)))))
            }
            Poll::Ready(Err(end)) => {
                self.end(&end);
                Poll::Ready(Some(Ok(Frame::trailers(trailers(&end)))))
            }
        }
    }
}

/// A client that goes away leaves nothing behind.
impl Drop for LoadBody {
    fn drop(&mut self) {
        let used = self.ended || self.reporter.lock().is_some();
        self.within.stream_ended(used);
        if !self.ended {
            self.end(&Status::new(Code::Cancelled, "the client is gone"));
        }
    }
}
