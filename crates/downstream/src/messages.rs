//! Requests out of a gRPC body, one by one.
//!
//! Owns what has arrived of a message that is not complete, within what there is room for, and for as long as it goes
//! on. Between messages it holds nothing: the 61 kB of
//! node in an Envoy's every request leave no buffer behind on thousands of idle streams. After the first request
//! nobody reads them, so they are dropped as they arrive.

mod begun;
mod frames;
mod omit;
mod whole;

use std::future::poll_fn;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use tonic::Status;
use weir_types::Dialect;

pub(crate) use self::frames::Frames;
pub(crate) use self::whole::{Whole, frame};
use crate::admission::{Gate, Room};
use crate::apart::apart;
use crate::metrics::Metrics;
use crate::settings::Settings;
use crate::status::status;
use weir_session::{Limits, Request};

/// How many bytes take about as long to decode as a name takes to subscribe to, at least.
const BYTES_OF_A_NAME: usize = 64;

/// How much is read.
#[derive(Clone)]
pub struct Bounds {
    /// The largest message, in bytes.
    pub(crate) message: usize,
    /// The most names in one message.
    pub(crate) names: usize,
    /// How long a client may take for each 64 KiB of a message that has begun.
    pub(crate) pace: Duration,
    /// States how much may have arrived of what is not complete.
    pub(crate) gate: Gate,
}

impl Bounds {
    /// As `settings` have it, for clients of `gate`.
    pub(crate) fn of(settings: &Settings, gate: &Gate) -> Self {
        let Settings { downstream, limits, .. } = settings;
        Self {
            message: downstream.max_request_size.get(),
            names: limits.max_names.get(),
            pace: downstream.receive_timeout.get(),
            gate: gate.clone(),
        }
    }

    /// Of what `limits` allow, 64 KiB of which take no longer than `pace`, for a client that is alone.
    pub fn alone(limits: &Limits, pace: Duration) -> Self {
        Self {
            message: limits.message,
            names: limits.names,
            pace,
            gate: Gate::new(Room::default(), Arc::new(Metrics::new())),
        }
    }
}

/// The messages of a body.
pub struct Messages<R, B> {
    frames: Frames<B>,
    /// Whether the node is left out: the client is known.
    omit_node: bool,
    request: PhantomData<fn() -> R>,
}

impl<R: Request, B: Body<Data = Bytes> + Unpin> Messages<R, B>
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// What is in `body`, within `bounds`.
    pub fn new(body: B, bounds: Bounds) -> Self {
        Self { frames: Frames::new(body, bounds), omit_node: false, request: PhantomData }
    }

    /// The next message; none when the client has nothing more to send. After an error, the stream is over. All
    /// but the first may be without the node.
    ///
    /// # Errors
    /// CANCELLED when the client is gone; otherwise what is wrong with what it sent.
    pub async fn next(&mut self) -> Result<Option<R>, Status> {
        let Some(message) = poll_fn(|cx| self.poll_next(cx)).await? else { return Ok(None) };
        self.omit_node = true;
        let names = message.len() / BYTES_OF_A_NAME;
        let request = apart(names, || {
            Limits::check_fields(self.frames.bounds.names, &message, R::LOCATORS).map_err(status)?;
            Ok::<_, Status>(R::decode(message))
        })?;
        request.map(Some).map_err(|error| Status::internal(format!("cannot decode the request: {error}")))
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Status>> {
        let omit = self.omit_node.then(|| node(R::DIALECT));
        self.frames.poll_next(cx, omit)
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
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use bytes::BufMut;
    use http_body::Frame;
    use proptest::prelude::*;
    use prost::Message;
    use weir_wire::discovery::DiscoveryRequest;

    use super::*;
    use tokio::time::{Instant, Sleep, sleep};

    use crate::metrics::Metrics;

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

    /// A body of which this comes, piece by piece, with so much time in between, and then nothing.
    struct Slow(VecDeque<Bytes>, Duration, Option<Pin<Box<Sleep>>>);

    impl Body for Slow {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            let pause = self.1;
            let wait = self.2.get_or_insert_with(|| Box::pin(sleep(pause)));
            if wait.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.2 = None;
            match self.0.pop_front() {
                Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
                None => Poll::Pending,
            }
        }
    }

    /// How long a client is waited for that sends a megabyte in pieces, one a second.
    async fn patience(piece: usize) -> (Option<tonic::Code>, u64) {
        let bytes =
            framed(&DiscoveryRequest { node: Some(vec![7; 1 << 20].into()), ..DiscoveryRequest::default() });
        let pieces = bytes.chunks(piece).map(Bytes::copy_from_slice).collect();
        let body = Slow(pieces, Duration::from_secs(1), None);
        let mut messages = Messages::<DiscoveryRequest, _>::new(body, bounds(2 << 20, 8 << 20));
        let start = Instant::now();
        let end = messages.next().await.err();
        (end.map(|end| end.code()), start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_comes_too_slowly_is_given_up() {
        assert_eq!(patience(4 << 10).await, (None, 257), "a steady client is read to the end");
        let (end, after) = patience(1 << 10).await;
        assert_eq!(end, Some(tonic::Code::DeadlineExceeded));
        assert!((30..=32).contains(&after), "{after}");
        let (end, after) = patience(512 << 10).await;
        assert_eq!((end, after), (None, 3), "and so is a fast one");
    }

    #[test]
    fn e05_a_message_that_there_is_no_room_for_while_it_arrives_ends_the_stream() {
        let bytes =
            framed(&DiscoveryRequest { node: Some(vec![7; 1 << 20].into()), ..DiscoveryRequest::default() });
        let (read, end, _) = read(&bytes, 8 << 10, 2 << 20);
        assert!(read.is_empty());
        let end = end.unwrap();
        assert_eq!(end.code(), tonic::Code::ResourceExhausted);
        assert!(end.message().contains("among the 1048576 bytes"), "{end}");
        assert!(end.message().contains("limits.max_partial_requests"), "{end}");
    }

    fn read(bytes: &[u8], piece: usize, limit: usize) -> (Vec<DiscoveryRequest>, Option<Status>, bool) {
        let pieces = bytes.chunks(piece).map(Bytes::copy_from_slice).collect();
        let mut messages = Messages::new(Pieces(pieces), bounds(limit, 1 << 20));
        let mut read = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let end = runtime.block_on(async {
            loop {
                match messages.next().await {
                    Ok(Some(request)) => read.push(request),
                    Ok(None) => return None,
                    Err(status) => return Some(status),
                }
            }
        });
        (read, end, messages.frames.is_at_rest())
    }

    fn bounds(message: usize, partial_requests: usize) -> Bounds {
        let max_partial_requests = partial_requests.try_into().unwrap();
        let limits = weir_config::Limits { max_partial_requests, ..weir_config::Limits::default() };
        let room = Room { limits, ..Room::default() };
        Bounds {
            message,
            names: 100,
            pace: Duration::from_secs(30),
            gate: Gate::new(room, Arc::new(Metrics::new())),
        }
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
