//! Connections to endpoints, for gRPC and REST alike.
//!
//! Owns the way from a URL to bytes: a name is looked up for each connection, since what it stands for changes; every
//! address is tried, one after another; and TLS is used where the URL is `https`.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tower_service::Service;

use crate::Settings;
use crate::connections::{Addresses, Link};
use crate::lookup::{Lookup, System};
use crate::socket::{Io, Stream, Watch};

/// Makes connections.
#[derive(Clone, Debug)]
pub(crate) struct Connector<L = System> {
    lookup: L,
    tls: Option<weir_tls::Client>,
    /// How long it may take in all.
    timeout: Duration,
    /// Where to, whatever is asked for.
    to: Option<Uri>,
    /// The connection that is made, where streams share it.
    shared: Option<SharedLink>,
}

/// A connection that streams share, and what it has in common with others.
#[derive(Clone, Debug)]
struct SharedLink {
    link: Weak<Link>,
    addresses: Arc<Addresses>,
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
    #[error("no answer within {0:?}: the server has sent no HTTP/2 settings")]
    NoSettings(Duration),
    #[error("the connection has ended")]
    Ended,
}

fn list(tried: &[(SocketAddr, io::Error)]) -> String {
    let tried: Vec<_> = tried.iter().map(|(address, error)| format!("{address}: {error}")).collect();
    tried.join("; ")
}

impl Connector {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            lookup: System,
            tls: settings.tls.clone(),
            timeout: settings.connect_timeout,
            to: None,
            shared: None,
        }
    }
}

impl<L: Lookup> Connector<L> {
    /// Connects to `uri` only.
    pub(crate) fn to(self, uri: Uri) -> Self {
        Self { to: Some(uri), ..self }
    }

    /// Makes the connection `link`, once, to one of the addresses with the fewest.
    pub(crate) fn of(self, link: &Arc<Link>, addresses: Arc<Addresses>) -> Self {
        Self { shared: Some(SharedLink { link: Arc::downgrade(link), addresses }), ..self }
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
        let mut addresses = found.map_err(|error| ConnectError::Lookup { host: host.to_owned(), error })?;
        if addresses.is_empty() {
            return Err(ConnectError::NoAddress(host.to_owned()));
        }
        let spread = self.shared.as_ref().map(|shared| &*shared.addresses);
        if let Some(spread) = spread {
            spread.order(&mut addresses);
        }
        let (address, socket) = first_reachable(&addresses, spread, deadline).await?;
        // Requests are small, and must not wait for each other's acknowledgements.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "set TCP_NODELAY");
        }
        let stream = match (&self.tls, is_https) {
            (_, false) => Stream::Plain(socket),
            (Some(tls), true) => Stream::Tls(Box::new(tls.connect(host, socket).await?)),
            (None, true) => return Err(ConnectError::NoTls(uri.clone())),
        };
        let watch = self.shared.as_ref().map(|SharedLink { link, addresses }| {
            link.upgrade().iter().for_each(|link| link.connected(address));
            Watch::new(link.clone(), addresses.opened(address))
        });
        Ok(Io::new(stream, watch))
    }
}

/// Each address gets an equal share of the time that is left, so that one that does not answer leaves some to others.
async fn first_reachable(
    addresses: &[SocketAddr],
    spread: Option<&Addresses>,
    deadline: Instant,
) -> Result<(SocketAddr, TcpStream), ConnectError> {
    let mut tried = Vec::new();
    for (i, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(addresses.len() - i).unwrap_or(u32::MAX);
        let error = match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => return Ok((*address, socket)),
            Ok(Err(error)) => error,
            Err(_) => io::ErrorKind::TimedOut.into(),
        };
        spread.iter().for_each(|spread| spread.failed(*address));
        tried.push((*address, error));
    }
    Err(ConnectError::Unreachable(tried))
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
        let link = connector.shared.as_ref().map(|shared| shared.link.upgrade());
        // Streams on it are opened anew by whoever has them, on another one.
        let may_connect = link.is_none_or(|link| link.is_some_and(|link| link.begin()));
        Box::pin(async move {
            match may_connect {
                true => connector.connect(uri).await,
                false => Err(ConnectError::Ended),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    fn connector<L>(lookup: L) -> Connector<L> {
        Connector { lookup, tls: None, timeout: Duration::from_secs(10), to: None, shared: None }
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
        first_reachable(&[gone, good], None, deadline).await.unwrap();
        let error = first_reachable(&[gone], None, deadline).await.unwrap_err().to_string();
        assert_eq!(error, format!("connect to {gone}: Connection refused (os error 111)"));
    }

    /// What every name stands for.
    #[derive(Clone)]
    struct Fixed(Vec<SocketAddr>);

    impl Lookup for Fixed {
        async fn addresses(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
            Ok(self.0.clone())
        }
    }

    #[tokio::test]
    async fn u16_connections_that_are_shared_are_spread_over_the_addresses_of_an_endpoint() {
        let listeners = [listener().await, listener().await, listener().await];
        let addresses: Vec<_> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        let settings =
            Arc::new(Settings::new("", Vec::new(), crate::Naming::Native { node: Default::default() }));
        let (spread, mut open) = (Arc::new(Addresses::default()), Vec::new());
        for (id, expected) in [0, 1, 2, 0, 1].into_iter().enumerate() {
            let link = Arc::new(Link::new(id as u64, Arc::clone(&settings), "a"));
            let mut connector = connector(Fixed(addresses.clone())).of(&link, Arc::clone(&spread));
            open.push(connector.call(Uri::from_static("http://a")).await.unwrap());
            listeners[expected].accept().await.unwrap();
            let again = connector.call(Uri::from_static("http://a")).await;
            assert!(matches!(again, Err(ConnectError::Ended)), "it is made once");
        }
        open.remove(2);
        let link = Arc::new(Link::new(9, settings, "a"));
        connector(Fixed(addresses)).of(&link, spread).call(Uri::from_static("http://a")).await.unwrap();
        listeners[2].accept().await.unwrap();
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
