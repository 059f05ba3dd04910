//! Requests out of a gRPC body, one by one.
//!
//! Owns what has arrived of a message that is not complete. Between messages it holds nothing: the 61 kB of
//! node in an Envoy's every request leave no buffer behind on thousands of idle streams.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::Body;
use tonic::Status;

use crate::request::Request;

/// The length of a gRPC frame's header: a flag, and the length of the message.
const HEADER: usize = 5;

/// The messages of a body.
pub(crate) struct Messages<R, B> {
    body: B,
    /// The largest message that is read, in bytes.
    limit: usize,
    arrived: VecDeque<Bytes>,
    request: PhantomData<fn() -> R>,
}

impl<R: Request, B: Body<Data = Bytes> + Unpin> Messages<R, B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    pub(crate) fn new(body: B, limit: usize) -> Self {
        Self { body, limit, arrived: VecDeque::new(), request: PhantomData }
    }

    /// The next message; none when the client has nothing more to say. After an error, the stream is over.
    ///
    /// # Errors
    /// CANCELLED when the client is gone; otherwise what is wrong with what it sent.
    pub(crate) async fn next(&mut self) -> Result<Option<R>, Status> {
        loop {
            if let Some(message) = self.take()? {
                return R::decode(message)
                    .map(Some)
                    .map_err(|error| Status::internal(format!("cannot decode the request: {error}")));
            }
            match poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await {
                Some(Ok(frame)) => self.arrived.extend(frame.into_data().ok().filter(Bytes::has_remaining)),
                None if self.arrived.is_empty() => return Ok(None),
                None => return Err(Status::internal("the stream ends inside of a message")),
                Some(Err(error)) => {
                    tracing::debug!(error = error.into(), "read a request");
                    return Err(Status::cancelled("the client is gone"));
                }
            }
        }
    }

    /// The next message, if all of it has arrived.
    fn take(&mut self) -> Result<Option<Bytes>, Status> {
        let available: usize = self.arrived.iter().map(Bytes::len).sum();
        if available < HEADER {
            return Ok(None);
        }
        let header: Vec<u8> = self.arrived.iter().flatten().take(HEADER).copied().collect();
        let mut header = &header[..];
        if header.get_u8() != 0 {
            return Err(Status::unimplemented("compressed requests are not supported"));
        }
        let length = header.get_u32() as usize;
        if length > self.limit {
            let limit = self.limit;
            return Err(Status::resource_exhausted(format!(
                "a request of {length} bytes is over the limit of {limit}"
            )));
        }
        if available < HEADER + length {
            return Ok(None);
        }
        self.copy_to_bytes(HEADER);
        let message = self.copy_to_bytes(length);
        if self.arrived.is_empty() {
            self.arrived = VecDeque::new();
        }
        Ok(Some(message))
    }

    /// The next `length` bytes of what has arrived; without a copy where they came in one piece.
    fn copy_to_bytes(&mut self, length: usize) -> Bytes {
        if let Some(first) = self.arrived.front_mut().filter(|first| first.len() > length) {
            return first.split_to(length);
        }
        if self.arrived.front().is_some_and(|first| first.len() == length) {
            return self.arrived.pop_front().unwrap_or_default();
        }
        let mut whole = BytesMut::with_capacity(length);
        while let Some(first) = self.arrived.front_mut().filter(|_| whole.len() < length) {
            let part = first.split_to(first.len().min(length - whole.len()));
            whole.put(part);
            if first.is_empty() {
                self.arrived.pop_front();
            }
        }
        whole.freeze()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll};

    use http_body::Frame;
    use proptest::prelude::*;
    use prost::Message;
    use weir_wire::discovery::DiscoveryRequest;

    use super::*;

    /// A body that arrives in these pieces.
    struct Pieces(VecDeque<Bytes>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
        }
    }

    fn read(bytes: &[u8], piece: usize, limit: usize) -> (Vec<DiscoveryRequest>, Option<Status>, usize) {
        let pieces = bytes.chunks(piece).map(Bytes::copy_from_slice).collect();
        let mut messages = Messages::new(Pieces(pieces), limit);
        let mut read = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let end = runtime.block_on(async {
            loop {
                match messages.next().await {
                    Ok(Some(request)) => read.push(request),
                    Ok(None) => return None,
                    Err(status) => return Some(status),
                }
            }
        });
        (read, end, messages.arrived.capacity())
    }

    fn framed(request: &DiscoveryRequest) -> Vec<u8> {
        let body = request.encode_to_vec();
        let mut frame = vec![0];
        frame.put_u32(body.len() as u32);
        frame.extend(body);
        frame
    }

    proptest! {
        #[test]
        fn messages_are_read_however_they_are_cut(
            nodes in prop::collection::vec(0usize..400, 0..6),
            piece in 1usize..500,
        ) {
            let requests: Vec<_> = nodes.iter().map(|length| DiscoveryRequest {
                node: Some(vec![7; *length].into()),
                ..DiscoveryRequest::default()
            }).collect();
            let bytes: Vec<u8> = requests.iter().flat_map(framed).collect();
            let (read, end, held) = read(&bytes, piece, 1000);
            prop_assert_eq!(read, requests);
            prop_assert!(end.is_none());
            prop_assert_eq!(held, 0, "nothing is held between messages");
        }
    }

    #[test]
    fn e05_what_cannot_be_read_ends_the_stream() {
        let good = framed(&DiscoveryRequest { type_url: "x".into(), ..DiscoveryRequest::default() });
        for (bytes, limit, code, message) in [
            (
                vec![0, 0, 0, 0, 9],
                8,
                tonic::Code::ResourceExhausted,
                "a request of 9 bytes is over the limit of 8",
            ),
            (vec![1, 0, 0, 0, 0], 8, tonic::Code::Unimplemented, "compressed requests are not supported"),
            (vec![0, 0, 0, 0, 9, 1], 9, tonic::Code::Internal, "the stream ends inside of a message"),
            (vec![0, 0, 0, 0, 1, 0xff], 9, tonic::Code::Internal, "cannot decode the request: "),
        ] {
            let bytes = [&good[..], &bytes].concat();
            let (read, end, _) = read(&bytes, 3, limit);
            let end = end.unwrap();
            assert_eq!(read.len(), 1, "what was good is read");
            assert_eq!(end.code(), code);
            assert!(end.message().starts_with(message), "{end}");
        }
    }
}
