//! Requests out of a gRPC body, one by one.
//!
//! Owns what has arrived of a message that is not complete. Between messages it holds nothing: the 61 kB of
//! node in an Envoy's every request leave no buffer behind on thousands of idle streams. After the first request
//! nobody reads them, so they are dropped as they arrive.

mod omit;

use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;

use bytes::{Buf, Bytes};
use http_body::Body;
use tonic::Status;
use weir_protocol::Dialect;

use self::omit::Omit;
use crate::request::Request;

/// The length of a gRPC frame's header: a flag, and the length of the message.
const HEADER: usize = 5;

/// For how much of a message there is room before it has arrived, in bytes.
const ADVANCE: usize = 64 << 10;

/// The messages of a body.
pub(crate) struct Messages<R, B> {
    body: B,
    /// The largest message that is read, in bytes.
    limit: usize,
    /// What nobody has looked at yet.
    arrived: Bytes,
    header: [u8; HEADER],
    /// How much of the header has arrived.
    have: usize,
    partial: Option<Partial>,
    /// Whether the node is left out: the client is known.
    omit_node: bool,
    request: PhantomData<fn() -> R>,
}

/// A message of which some has arrived.
struct Partial {
    /// How much is to come.
    left: usize,
    kept: Vec<u8>,
    omit: Option<Omit>,
}

impl<R: Request, B: Body<Data = Bytes> + Unpin> Messages<R, B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    pub(crate) fn new(body: B, limit: usize) -> Self {
        Self {
            body,
            limit,
            arrived: Bytes::new(),
            header: [0; HEADER],
            have: 0,
            partial: None,
            omit_node: false,
            request: PhantomData,
        }
    }

    /// The next message; none when the client has nothing more to say. After an error, the stream is over. All
    /// but the first may be without the node.
    ///
    /// # Errors
    /// CANCELLED when the client is gone; otherwise what is wrong with what it sent.
    pub(crate) async fn next(&mut self) -> Result<Option<R>, Status> {
        loop {
            if let Some(message) = self.take()? {
                self.omit_node = true;
                return R::decode(message)
                    .map(Some)
                    .map_err(|error| Status::internal(format!("cannot decode the request: {error}")));
            }
            match poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await {
                Some(Ok(frame)) => self.arrived = frame.into_data().unwrap_or_default(),
                None if self.have == 0 && self.partial.is_none() => return Ok(None),
                None => return Err(Status::internal("the stream ends inside of a message")),
                Some(Err(error)) => {
                    tracing::debug!(error = error.into(), "read a request");
                    return Err(Status::cancelled("the client is gone"));
                }
            }
        }
    }

    /// The next message, if all of it has arrived. Otherwise nothing that has arrived is left over.
    fn take(&mut self) -> Result<Option<Bytes>, Status> {
        let mut partial = match self.partial.take() {
            Some(partial) => partial,
            None => {
                let Some(length) = self.take_header()? else { return Ok(None) };
                if self.arrived.len() >= length {
                    return Ok(Some(self.take_arrived(length)));
                }
                Partial::new(length, self.omit_node.then(|| Omit::new(node(R::DIALECT))))
            }
        };
        partial.add(&self.take_arrived(partial.left));
        if partial.left == 0 {
            return Ok(Some(partial.finish()));
        }
        self.partial = Some(partial);
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
        if length > self.limit {
            let limit = self.limit;
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
}

impl Partial {
    fn new(length: usize, omit: Option<Omit>) -> Self {
        let room = if omit.is_some() { 0 } else { length.min(ADVANCE) };
        Self { left: length, kept: Vec::with_capacity(room), omit }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.left -= bytes.len();
        match &mut self.omit {
            Some(omit) => omit.pass(bytes, &mut self.kept),
            None => self.kept.extend_from_slice(bytes),
        }
    }

    fn finish(mut self) -> Bytes {
        if let Some(omit) = &mut self.omit {
            omit.finish(&mut self.kept);
        }
        self.kept.into()
    }
}

/// The number of the field that has the node.
fn node(dialect: Dialect) -> u64 {
    match dialect {
        Dialect::Sotw => 2,
        Dialect::Delta => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::task::{Context, Poll};

    use bytes::BufMut;
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

    fn read(bytes: &[u8], piece: usize, limit: usize) -> (Vec<DiscoveryRequest>, Option<Status>, bool) {
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
        (read, end, messages.arrived.is_empty() && messages.partial.is_none())
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
                type_url: length.to_string(),
                ..DiscoveryRequest::default()
            }).collect();
            let bytes: Vec<u8> = requests.iter().flat_map(framed).collect();
            let (read, end, at_rest) = read(&bytes, piece, 1000);
            let named = |request: &DiscoveryRequest| request.type_url.clone();
            prop_assert_eq!(read.iter().map(named).collect::<Vec<_>>(), requests.iter().map(named).collect::<Vec<_>>());
            prop_assert_eq!(read.first(), requests.first(), "the first has its node");
            prop_assert!(end.is_none());
            prop_assert!(at_rest, "nothing is held between messages");
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
