//! A gRPC body of which only whole messages are seen.
//!
//! For who would keep what arrives of one for as long as it takes, and count it nowhere.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame};
use tonic::Status;

use super::Bounds;
use super::frames::{Frames, HEADER};

/// A frame of the body for each message.
pub(crate) struct Whole<B>(Frames<B>);

impl<B: Body<Data = Bytes> + Unpin> Whole<B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// What is in `body`, within `bounds`.
    pub(crate) fn new(body: B, bounds: Bounds) -> Self {
        Self(Frames::new(body, bounds))
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Whole<B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(message) = ready!(self.0.poll_next(cx, None))? else { return Poll::Ready(None) };
        Poll::Ready(Some(Ok(Frame::data(frame(message)))))
    }
}

/// `message` as a gRPC body has it.
pub(crate) fn frame(message: Bytes) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEADER + message.len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.put(message);
    frame.freeze()
}
