//! Connections to endpoints, for gRPC and REST alike.
//!
//! Owns the way from a URL to bytes: a name is looked up for each connection, since what it stands for changes; every
//! address is tried, one after another; and TLS is used where the URL is `https`.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use crate::Settings;
use crate::lookup::{Lookup, System};

/// Makes connections.
#[derive(Clone, Debug)]
pub(crate) struct Connector<L = System> {
    lookup: L,
    tls: Option<weir_tls::Client>,
    /// How long it may take in all.
    timeout: Duration,
    /// Where to, whatever is asked for.
    to: Option<Uri>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("look up {host}: {error}")]
    Lookup { host: String, error: io::Error },
    #[error("{0} resolved to no addresses")]
    NoAddress(String),
    #[error("connect to {}", list(.0))]
    Unreachable(Vec<(SocketAddr, io::Error)>),
    #[error(transparent)]
    Tls(#[from] weir_tls::ConnectError),
    #[error("{0} is https, and TLS is not configured")]
    NoTls(Uri),
    #[error("no connection to {0} within {1:?}")]
    Timeout(Uri, Duration),
}

fn list(tried: &[(SocketAddr, io::Error)]) -> String {
    let tried: Vec<_> = tried.iter().map(|(address, error)| format!("{address}: {error}")).collect();
    tried.join("; ")
}

impl Connector {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { lookup: System, tls: settings.tls.clone(), timeout: settings.connect_timeout, to: None }
    }
}

impl<L: Lookup> Connector<L> {
    /// Connects to `uri` only.
    pub(crate) fn to(self, uri: Uri) -> Self {
        Self { to: Some(uri), ..self }
    }

    /// A connection to whoever listens at `uri`.
    pub(crate) async fn connect(&self, uri: Uri) -> Result<Io, ConnectError> {
        let deadline = Instant::now() + self.timeout;
        match timeout_at(deadline, self.try_connect(&uri, deadline)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ConnectError::Timeout(uri, self.timeout)),
        }
    }

    async fn try_connect(&self, uri: &Uri, deadline: Instant) -> Result<Io, ConnectError> {
        let is_https = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        let found = self.lookup.addresses(host, port).await;
        let addresses = found.map_err(|error| ConnectError::Lookup { host: host.to_owned(), error })?;
        if addresses.is_empty() {
            return Err(ConnectError::NoAddress(host.to_owned()));
        }
        let socket = first_reachable(&addresses, deadline).await?;
        // Requests are small, and must not wait for each other's acknowledgements.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "set TCP_NODELAY");
        }
        let stream = match (&self.tls, is_https) {
            (_, false) => Stream::Plain(socket),
            (Some(tls), true) => Stream::Tls(Box::new(tls.connect(host, socket).await?)),
            (None, true) => return Err(ConnectError::NoTls(uri.clone())),
        };
        Ok(Io(TokioIo::new(stream)))
    }
}

/// Each address gets an equal share of the time that is left, so that one that does not answer leaves some to others.
async fn first_reachable(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, ConnectError> {
    let mut tried = Vec::new();
    for (i, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(addresses.len() - i).unwrap_or(u32::MAX);
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => return Ok(socket),
            Ok(Err(error)) => tried.push((*address, error)),
            Err(_) => tried.push((*address, io::ErrorKind::TimedOut.into())),
        }
    }
    Err(ConnectError::Unreachable(tried))
}

/// A connection, as the HTTP library takes it.
pub(crate) struct Io(TokioIo<Stream>);

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl<L: Lookup> Service<Uri> for Connector<L> {
    type Response = Io;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Io, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        let uri = connector.to.clone().unwrap_or(uri);
        Box::pin(async move { connector.connect(uri).await })
    }
}

impl Connection for Io {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl hyper::rt::Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl hyper::rt::Write for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, slices)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    fn connector<L>(lookup: L) -> Connector<L> {
        Connector { lookup, tls: None, timeout: Duration::from_secs(10), to: None }
    }

    /// What every name stands for at the time.
    #[derive(Clone)]
    struct Moving(Arc<Mutex<SocketAddr>>);

    impl Lookup for Moving {
        async fn addresses(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
            Ok(vec![*self.0.lock()])
        }
    }

    #[tokio::test]
    async fn u03_a_name_is_looked_up_for_each_connection() {
        let (first, second) = (listener().await, listener().await);
        let current = Arc::new(Mutex::new(first.local_addr().unwrap()));
        let mut connector = connector(Moving(Arc::clone(&current)));
        let mut connect = || connector.call(Uri::from_static("http://control-plane.example"));
        assert!(connect().await.is_ok());
        first.accept().await.unwrap();
        *current.lock() = second.local_addr().unwrap();
        drop(first);
        assert!(connect().await.is_ok());
        second.accept().await.unwrap();
    }

    async fn listener() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").await.unwrap()
    }

    #[tokio::test]
    async fn u03_every_address_is_tried() {
        let listener = listener().await;
        let good = listener.local_addr().unwrap();
        // Nobody listens on a port that is merely held.
        let held = TcpSocket::new_v4().unwrap();
        held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let gone = held.local_addr().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        first_reachable(&[gone, good], deadline).await.unwrap();
        let error = first_reachable(&[gone], deadline).await.unwrap_err().to_string();
        assert_eq!(error, format!("connect to {gone}: Connection refused (os error 111)"));
    }

    #[tokio::test]
    async fn what_is_wrong_with_an_endpoint_is_reported() {
        let connector = connector(System);
        let error = |uri: &'static str| {
            let connecting = connector.connect(Uri::from_static(uri));
            async { connecting.await.err().map(|error| error.to_string()).unwrap_or_default() }
        };
        let listener = listener().await;
        let uri = format!("https://{}", listener.local_addr().unwrap()).leak();
        assert_eq!(error(uri).await, format!("{uri}/ is https, and TLS is not configured"));
        let found = error("http://no-such-host.invalid:1").await;
        assert!(found.starts_with("look up no-such-host.invalid: "), "{found}");
    }
}
