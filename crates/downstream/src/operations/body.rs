//! Answers that end with their connection, however long they would go on.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::Status;
use tonic::body::Body;

use crate::admission::Opened;
use crate::stream::trailers;

/// A body that ends with UNAVAILABLE when its connection does.
pub(super) struct Ending {
    body: Body,
    ending: Pin<Box<WaitForCancellationFutureOwned>>,
    ended: bool,
    /// It counts as a stream for as long as it goes on.
    _opened: Option<Opened>,
}

impl Ending {
    pub(super) fn new(body: Body, ending: CancellationToken, opened: Option<Opened>) -> Self {
        Self { body, ending: Box::pin(ending.cancelled_owned()), ended: false, _opened: opened }
    }
}

impl http_body::Body for Ending {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        if self.ending.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.ended = true;
        Poll::Ready(Some(Ok(Frame::trailers(trailers(&Status::unavailable("the connection ends"))))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended || http_body::Body::is_end_stream(&self.body)
    }
}
