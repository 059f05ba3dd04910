//! HTTP/2 alone: a server on the HTTP library that Weir uses, which passes each response of the control plane on to
//! every stream, byte for byte, and looks at nothing that clients send.
//!
//! What it needs is what the library and the kernel need, and no server on them can do with less. It knows just
//! enough to be measured in the place of a Weir where all clients want the same and nobody comes late: it keeps no
//! state of the resources, only the last response of each type.

use std::convert::Infallible;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::{BufMut, Bytes, BytesMut};
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, header};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use prost::Message;
use tokio::net::{TcpListener, TcpStream};
use tokio_stream::StreamExt;
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic_prost::ProstCodec;
use weir_wire::discovery::{DeltaDiscoveryRequest, DeltaDiscoveryResponse};

use super::options::Options;
use super::plan::Dialect;
use super::resources;

/// The types that clients want, in the order in which they are sent.
const TYPES: [&str; 4] = ["cds", "eds", "lds", "rds"];

/// After how much silence a client is pinged: as a Weir does it by default.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Serves until it is killed, and prints its address on standard error, as a Weir does.
pub(crate) fn serve(options: &Options) -> Result<()> {
    super::process::raise_file_limit();
    let upstream = options.upstream.clone().context("a bare server needs --upstream")?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        // The standard library lets 128 wait to be accepted.
        rustix::net::listen(&listener, 4096)?;
        let feed = Arc::new(Feed::default());
        let fed = tokio::spawn(subscribe(upstream, Arc::clone(&feed)));
        eprintln!("{}", serde_json::json!({ "clients": listener.local_addr()?.to_string() }));
        tokio::select! {
            ended = accept(listener, feed) => ended,
            ended = fed => ended?,
        }
    })
}

/// Passes on everything that the control plane sends.
async fn subscribe(upstream: String, feed: Arc<Feed>) -> Result<()> {
    let channel = Endpoint::from_shared(format!("http://{upstream}"))?.connect().await?;
    let mut grpc = Grpc::new(channel).max_decoding_message_size(usize::MAX);
    grpc.ready().await?;
    let wildcard =
        |short| DeltaDiscoveryRequest { type_url: resources::type_url(short), ..Default::default() };
    let requests = tokio_stream::iter(TYPES.map(wildcard)).chain(tokio_stream::pending());
    let path = PathAndQuery::from_static(Dialect::Delta.path());
    let mut responses =
        grpc.streaming(tonic::Request::new(requests), path, ProstCodec::default()).await?.into_inner();
    while let Some(response) = responses.message().await? {
        feed.pass(&response);
    }
    Ok(())
}

async fn accept(listener: TcpListener, feed: Arc<Feed>) -> Result<()> {
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(connection(socket, Arc::clone(&feed)));
    }
}

async fn connection(socket: TcpStream, feed: Arc<Feed>) {
    let answer = move |request: Request<Incoming>| {
        let body = Relay { requests: request.into_body(), feed: Arc::clone(&feed), passed: 0 };
        let mut response = Response::new(body);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        ready(Ok::<_, Infallible>(response))
    };
    let http = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        // Whoever serves clients for days has to find out which of them are gone.
        .keep_alive_interval(KEEPALIVE)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(socket), service_fn(answer));
    // A client that goes away is no concern of the others.
    _ = http.await;
}

/// The last response of each type, and who waits for the next.
#[derive(Default)]
struct Feed(Mutex<State>);

#[derive(Default)]
struct State {
    /// How many responses there have been.
    count: u64,
    /// By type: which it was, and the message with its gRPC header.
    last: [(u64, Bytes); TYPES.len()],
    waiting: Vec<Waker>,
}

impl Feed {
    fn pass(&self, response: &DeltaDiscoveryResponse) {
        let kind = TYPES.iter().position(|short| resources::type_url(short) == response.type_url);
        let Some(kind) = kind.filter(|_| !response.resources.is_empty()) else { return };
        let length = response.encoded_len();
        let mut frame = BytesMut::with_capacity(length + 5);
        frame.put_u8(0);
        frame.put_u32(length as u32);
        frame.extend_from_slice(&response.encode_to_vec());
        let mut state = self.0.lock();
        state.count += 1;
        state.last[kind] = (state.count, frame.freeze());
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The oldest of the last responses after the one with this number; without any, the caller is woken by it.
    fn after(&self, passed: u64, cx: &Context<'_>) -> Option<(u64, Bytes)> {
        let mut state = self.0.lock();
        let next = state.last.iter().filter(|(number, _)| *number > passed).min_by_key(|(number, _)| *number);
        let next = next.cloned();
        if next.is_none() {
            state.waiting.push(cx.waker().clone());
        }
        next
    }
}

/// What a stream is answered.
struct Relay {
    requests: Incoming,
    feed: Arc<Feed>,
    passed: u64,
}

impl Body for Relay {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        while let Poll::Ready(frame) = Pin::new(&mut self.requests).poll_frame(cx) {
            if !matches!(frame, Some(Ok(_))) {
                return Poll::Ready(None);
            }
        }
        match self.feed.after(self.passed, cx) {
            Some((number, frame)) => {
                self.passed = number;
                Poll::Ready(Some(Ok(Frame::data(frame))))
            }
            None => Poll::Pending,
        }
    }
}
