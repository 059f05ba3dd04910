//! The response body of a stream: the half that writes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::AbortHandle;
use http::{HeaderMap, HeaderValue};
use http_body::Frame;
use tonic::Status;
use weir_database::ViewListener;

use super::Stream;
use crate::admission::Opened;
use crate::apart::apart;
use crate::connection::Within;

/// What a stream answers: frames as they become due, then the status.
pub(crate) struct ResponseBody {
    pub(super) stream: Arc<Stream>,
    pub(super) reader: AbortHandle,
    pub(super) ended: bool,
    pub(super) within: Within,
    pub(super) _opened: Opened,
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match self.stream.poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(frame)) => Poll::Ready(Some(Ok(Frame::data(frame)))),
            Poll::Ready(Err(end)) => {
                self.ended = true;
                Poll::Ready(Some(Ok(Frame::trailers(trailers(&end)))))
            }
        }
    }
}

/// The end of a stream with this status.
pub(crate) fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    if status.add_header(&mut trailers).is_err() {
        trailers.insert(Status::GRPC_STATUS, HeaderValue::from(tonic::Code::Unknown as i32));
    }
    trailers
}

/// A client that goes away leaves nothing behind.
impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.reader.abort();
        self.stream.shared.metrics.closed(self.stream.dialect, Some(self.stream.service));
        let open = self.stream.state.lock().open.take();
        let was_open = open.is_some();
        let names = open.as_ref().map_or(0, |open| open.session.subscribed());
        apart(names, || drop(open));
        self.within.stream_ended(was_open || self.ended);
        if was_open {
            tracing::info!(node = &*self.stream.signal.name(), "client gone");
        }
    }
}
