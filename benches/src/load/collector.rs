//! A collector of traces for a run: it takes what it is sent over OTLP, and keeps nothing but how much that was.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The collector; ended on drop.
pub(crate) struct Collector {
    address: SocketAddr,
    bytes: Arc<AtomicU64>,
    /// Its thread ends with it.
    _runtime: Runtime,
}

impl Collector {
    /// Listens on a port of the loopback interface.
    pub(crate) fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("collector")
            .enable_all()
            .build()
            .context("start the collector's runtime")?;
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
        let (address, bytes) = (listener.local_addr()?, Arc::<AtomicU64>::default());
        runtime.spawn(serve(listener, Arc::clone(&bytes)));
        Ok(Self { address, bytes, _runtime: runtime })
    }

    /// Where it is, as `http://` URI.
    pub(crate) fn uri(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many bytes it was sent.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

async fn serve(listener: TcpListener, bytes: Arc<AtomicU64>) {
    while let Ok((socket, _)) = listener.accept().await {
        let bytes = Arc::clone(&bytes);
        let take = service_fn(move |request: Request<Incoming>| {
            let bytes = Arc::clone(&bytes);
            async move {
                let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
                bytes.fetch_add(body.map_or(0, |body| body.len() as u64), Ordering::Relaxed);
                Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
            }
        });
        // Who sends notices by himself that a connection has failed.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), take));
    }
}
