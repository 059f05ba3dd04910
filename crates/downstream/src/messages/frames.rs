//! The frames of a gRPC body: messages, before anybody knows what they are.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame};
use tonic::Status;

use super::Bounds;
use super::begun::Begun;
use super::omit::Omit;
use crate::admission::{Gate, Refusal};

/// The length of a frame's header: a flag, and the length of the message.
pub(super) const HEADER: usize = 5;

/// What a body has next, if it goes on.
type Arrived<B> = Option<Result<Frame<Bytes>, <B as Body>::Error>>;

/// The frames of a body.
pub(crate) struct Frames<B> {
    body: B,
    pub(super) bounds: Bounds,
    /// What nobody has looked at yet.
    arrived: Bytes,
    header: [u8; HEADER],
    /// How much of the header has arrived.
    have: usize,
    begun: Option<Begun>,
}

impl<B: Body<Data = Bytes> + Unpin> Frames<B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    pub(crate) fn new(body: B, bounds: Bounds) -> Self {
        Self { body, bounds, arrived: Bytes::new(), header: [0; HEADER], have: 0, begun: None }
    }

    /// Counts what is kept of messages.
    pub(crate) fn gate(&self) -> &Gate {
        &self.bounds.gate
    }

    /// The message of the next frame; none at the end. It may be without the field of the number `omit`, if there is
    /// one.
    ///
    /// # Errors
    /// CANCELLED when the client is gone; otherwise what is wrong with what it sent.
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        omit: Option<u64>,
    ) -> Poll<Result<Option<Bytes>, Status>> {
        loop {
            if let Some(message) = self.take(omit)? {
                return Poll::Ready(Ok(Some(message)));
            }
            match ready!(self.poll_frame(cx))? {
                Some(Ok(frame)) => self.arrived = frame.into_data().unwrap_or_default(),
                None if self.have == 0 && self.begun.is_none() => return Poll::Ready(Ok(None)),
                None => return Poll::Ready(Err(Status::internal("the stream ends inside of a message"))),
                Some(Err(error)) => {
                    tracing::debug!(error = error.into(), "read a request");
                    return Poll::Ready(Err(Status::cancelled("the client is gone")));
                }
            }
        }
    }

    /// What comes next of the body.
    ///
    /// # Errors
    /// When it is too late for a message that has begun.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Arrived<B>, Status>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(Ok(frame));
        }
        match &mut self.begun {
            Some(begun) => begun.poll_late(cx, self.bounds.pace).map(Err),
            None => Poll::Pending,
        }
    }

    /// The next message, if all of it has arrived. Otherwise nothing that has arrived is left over.
    fn take(&mut self, omit: Option<u64>) -> Result<Option<Bytes>, Status> {
        let mut begun = match self.begun.take() {
            Some(begun) => begun,
            None => {
                let Some(length) = self.take_header()? else { return Ok(None) };
                if self.arrived.len() >= length {
                    return Ok(Some(self.take_arrived(length)));
                }
                Begun::new(length, omit.map(Omit::new), &self.bounds)
            }
        };
        begun.add(&self.take_arrived(begun.left), self.bounds.pace).map_err(Refusal::status)?;
        if begun.left == 0 {
            return begun.finish().map(Some).map_err(Refusal::status);
        }
        self.begun = Some(begun);
        Ok(None)
    }

    /// The length of the next message, if its header has arrived.
    fn take_header(&mut self) -> Result<Option<usize>, Status> {
        let part = self.take_arrived(HEADER - self.have);
        self.header[self.have..self.have + part.len()].copy_from_slice(&part);
        self.have += part.len();
        if self.have < HEADER {
            return Ok(None);
        }
        self.have = 0;
        let mut header = &self.header[..];
        if header.get_u8() != 0 {
            return Err(Status::unimplemented("compressed requests are not supported"));
        }
        let length = header.get_u32() as usize;
        let limit = self.bounds.message;
        if length > limit {
            return Err(Status::resource_exhausted(format!(
                "a request of {length} bytes is over the limit of {limit}"
            )));
        }
        Ok(Some(length))
    }

    /// At most `length` bytes of what has arrived.
    fn take_arrived(&mut self, length: usize) -> Bytes {
        self.arrived.split_to(length.min(self.arrived.len()))
    }

    /// Whether nothing is held.
    #[cfg(test)]
    pub(super) fn is_at_rest(&self) -> bool {
        self.arrived.is_empty() && self.begun.is_none()
    }
}
