//! What Envoy sends requests to: a server that answers every one with its name.

use std::convert::Infallible;
use std::net::SocketAddr;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio_stream::StreamExt as _;

use crate::listener::Port;

/// The server; its port is closed on drop.
pub struct Backend {
    port: Port,
}

impl Backend {
    /// Starts one of this name.
    pub async fn start(name: &str) -> Self {
        let (port, mut connections) = Port::listen(SocketAddr::from(([127, 0, 0, 1], 0)), None).await;
        let name = Bytes::copy_from_slice(name.as_bytes());
        tokio::spawn(async move {
            while let Some(Ok(connection)) = connections.next().await {
                let name = name.clone();
                let answer = service_fn(move |_: Request<hyper::body::Incoming>| {
                    std::future::ready(Ok::<_, Infallible>(Response::new(Full::new(name.clone()))))
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(connection), answer));
            }
        });
        Self { port }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }
}
