//! One client's connection: HTTP/1.1 or HTTP/2 over any socket, and everything that its streams do, in one task.
//!
//! Owns how bytes come and go: which protocol it is, the settings of HTTP, when is written and read. Never knows
//! what the streams are about: that is the service's. The bytes' way is socket, cut, HTTP library, and back
//! through what the socket gathers; [`turn`] states who is polled when.

mod cut;
mod socket;
mod stall;
mod turn;

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::rt::bounds::Http2ServerConnExec;
use hyper::server::conn::{http1, http2};
use hyper::service::HttpService;
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use self::socket::{Protocol, Socket};
use self::turn::{Http, Turns};

pub(crate) use self::stall::Watched;
pub(crate) use self::turn::Within;
use crate::settings::Settings;

/// The most pending stream resets before a connection counts as an attack. It is high because an Envoy without ADS
/// closes a stream for each changed cluster, many at a time.
const MAX_PENDING_RESETS: usize = 4096;

/// The largest header of an HTTP/2 request, in bytes: those of Envoy and gRPC take some hundreds.
const MAX_HEADERS: u32 = 16 << 10;

/// The same of an HTTP/1.1 request, whose body passes through the same buffer.
const MAX_BUFFER: usize = 64 << 10;

/// How much a stream may have waiting in the HTTP/2 library, in bytes, before it makes the next step. A slow client
/// still receives these buffered bytes, which may be outdated; a smaller buffer means fewer and larger responses.
const MAX_SEND_BUFFER: usize = 16 << 10;

/// Why a connection ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    /// The client breaks the protocol, or does not answer.
    #[error("serve HTTP")]
    Http(#[from] hyper::Error),
    /// The client is gone.
    #[error("use the socket")]
    Socket(#[from] io::Error),
    /// The client has not sent anything in time.
    #[error("wait for the first bytes")]
    Silent(#[from] Elapsed),
    /// The client opens streams and resets them, and does little else.
    #[error("the client resets too many streams")]
    Resets,
    /// The client does not read.
    #[error("the client has not read for too long")]
    Stalled,
}

/// Serves a client until it goes away. After `drain` it is asked to open no more streams here, `then` is run, and the
/// end is that of the last stream.
///
/// `service` is given what runs futures within the connection's task.
///
/// # Errors
/// When the connection breaks.
pub(crate) async fn serve<S, V, B>(
    stream: S,
    settings: Arc<Settings>,
    service: impl FnOnce(Within) -> V,
    mut drain: BoxFuture<'static, ()>,
    then: BoxFuture<'static, ()>,
) -> Result<(), ConnectionError>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
    V: HttpService<Incoming, ResBody = B> + Unpin,
    V::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: hyper::body::Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    Within: Http2ServerConnExec<V::Future, B>,
{
    let Settings { downstream, limits, .. } = &*settings;
    let (receive_timeout, stall_timeout) = (downstream.receive_timeout.get(), downstream.stall_timeout.get());
    let socket = Socket::new(stream);
    let protocol = tokio::select! {
        biased;
        // Boxed, since it is over soon.
        protocol = Box::pin(timeout(receive_timeout, socket.protocol())) => protocol??,
        () = &mut drain => {
            Box::pin(socket.linger()).await;
            return Ok(());
        }
    };
    let within = Within::default();
    within.drain_after(drain, then);
    let service = service(within.clone());
    match protocol {
        Protocol::Http1 => {
            let http = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(receive_timeout)
                .max_buf_size(MAX_BUFFER)
                .serve_connection(socket.clone(), service);
            Turns::new(http, socket.clone(), within, stall_timeout).await?;
        }
        Protocol::Http2 => {
            let http = http2::Builder::new(within.clone())
                .timer(TokioTimer::new())
                .max_concurrent_streams(limits.max_streams_per_connection.get())
                .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
                .keep_alive_interval(downstream.keepalive_interval.get())
                .keep_alive_timeout(downstream.keepalive_timeout.get())
                .max_header_list_size(MAX_HEADERS)
                .max_send_buf_size(MAX_SEND_BUFFER)
                // Nobody looks at it, and each connection's table of header fields would hold it.
                .auto_date_header(false)
                .serve_connection(socket.clone(), service);
            Turns::new(http, socket.clone(), within, stall_timeout).await?;
        }
    }
    Box::pin(socket.linger()).await;
    Ok(())
}

impl<S, V, B> Http for http1::Connection<Socket<S>, V>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
    V: HttpService<Incoming, ResBody = B>,
    V::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: hyper::body::Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn drain(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S, V, B> Http for http2::Connection<Socket<S>, V, Within>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
    V: HttpService<Incoming, ResBody = B>,
    V::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: hyper::body::Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    Within: Http2ServerConnExec<V::Future, B>,
{
    fn drain(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::{Future, pending, ready};

    use bytes::Bytes;
    use futures_util::FutureExt as _;
    use http::{Request, Response};
    use http_body_util::{BodyExt, Full};
    use hyper::service::service_fn;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    /// A client's end of a connection to a server that answers with what it is sent.
    fn connect(
        drain: impl Future<Output = ()> + Send + 'static,
    ) -> (DuplexStream, impl Future<Output = Result<(), ConnectionError>>) {
        let (ours, client) = duplex(4 << 10);
        let echo = service_fn(async |request: Request<Incoming>| {
            let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
            Ok::<_, Infallible>(Response::new(Full::new(body.unwrap_or_default())))
        });
        (client, serve(ours, Arc::default(), move |_| echo, drain.boxed(), ready(()).boxed()))
    }

    #[tokio::test]
    async fn http_1_is_served_on_the_same_port() {
        let (mut client, server) = connect(pending());
        let asking = async {
            let request =
                b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello";
            client.write_all(request).await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let (answer, ended) = tokio::join!(asking, server);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"), "{answer}");
        ended.unwrap();
    }

    #[tokio::test]
    async fn large_bodies_pass_both_ways_over_http_2() {
        let (client, server) = connect(pending());
        let body: Bytes = (0..300_000u32).map(|i| (i % 251) as u8).collect();
        let asking = async {
            let io = TokioIo::new(client);
            let (mut sender, http) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
            let http = tokio::spawn(http);
            let request = Request::post("http://x/").body(Full::new(body.clone())).unwrap();
            let answer = sender.send_request(request).await.unwrap().into_body().collect().await.unwrap();
            drop(sender);
            http.await.unwrap().unwrap();
            answer.to_bytes()
        };
        let (answer, ended) = tokio::join!(asking, server);
        assert!(answer == body, "{} bytes", answer.len());
        ended.unwrap();
    }

    #[tokio::test]
    async fn a_client_that_sends_nothing_does_not_hold_up_the_end() {
        let (_client, server) = connect(ready(()));
        server.await.unwrap();
    }
}
