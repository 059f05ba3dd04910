//! The listeners: who is let in, and until when.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use weir_config::PositiveDuration;
use weir_database::Database;
use weir_tls::Acceptor;

use crate::admission::{Connected, Handshake};
use crate::clients::Registry;
use crate::connection::{self, ConnectionError};
use crate::drain::Phases;
use crate::load_reports::{LoadReporting, LoadReports};
use crate::operations::Operations;
use crate::peer::Peer;
use crate::service::Services;
use crate::settings::Settings;
use crate::shared::Shared;

/// How long to wait after a client could not be accepted: usually there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// A port that clients connect to.
#[derive(Debug)]
pub struct Listener {
    /// The port.
    pub tcp: TcpListener,
    /// TLS settings; none without TLS.
    pub tls: Option<Acceptor>,
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self { tcp, tls: None }
    }
}

/// Why serving ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A listener has no address.
    #[error("read the address of a listener")]
    Address(#[from] io::Error),
}

/// The downstream side.
pub struct Server {
    shared: Arc<Shared>,
    operations: Arc<Operations>,
    load_reports: Arc<LoadReports>,
}

impl Server {
    /// A server of what `database` holds, which states that it is healthy.
    pub fn new(settings: Settings, database: Database) -> Self {
        Self::with_readiness(settings, database, || true)
    }

    /// A server of what `database` holds, which states that it is healthy while it is `ready`.
    pub fn with_readiness(
        settings: Settings,
        database: Database,
        ready: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::new(settings, database));
        let operations = Arc::new(Operations::new(&shared, Arc::new(ready)));
        Self { shared, operations, load_reports: Arc::new(LoadReports::new(None)) }
    }

    /// Has load reports of clients go there.
    #[must_use]
    pub fn with_load_reports(self, to: impl LoadReporting + 'static) -> Self {
        Self { load_reports: Arc::new(LoadReports::new(Some(Arc::new(to)))), ..self }
    }

    /// Directs it while it serves.
    pub fn control(&self) -> Control {
        Control { shared: Arc::clone(&self.shared) }
    }

    /// Everything that is open, to be looked at.
    pub fn registry(&self) -> Registry {
        self.shared.registry.clone()
    }

    /// Serves on `listeners` until the last client has gone after [`Control::drain`], or until `shutdown`, which ends
    /// every stream with UNAVAILABLE.
    ///
    /// # Errors
    /// When a listener is none.
    pub async fn serve(
        self,
        listeners: impl IntoIterator<Item = impl Into<Listener>>,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        let stop = self.shared.phases.stop.clone();
        let server = Arc::new(self);
        let mut tasks = JoinSet::new();
        for listener in listeners {
            let Listener { tcp, tls } = listener.into();
            let address = tcp.local_addr()?.to_string();
            tasks.spawn(Arc::clone(&server).listen(tcp, tls, address));
        }
        tokio::spawn(async move {
            shutdown.await;
            stop.cancel();
        });
        while let Some(ended) = tasks.join_next().await {
            report(ended);
        }
        Ok(())
    }

    /// Accepts clients until the server drains or stops, and waits for the last of them to go.
    async fn listen(self: Arc<Self>, listener: TcpListener, tls: Option<Acceptor>, address: String) {
        let mut connections = JoinSet::new();
        let mut closes = std::pin::pin!(self.closes());
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((client, address)) => Arc::clone(&self).admit(client, address, tls.as_ref(), &mut connections),
                    Err(error) => {
                        tracing::warn!(%error, address, "client connection could not be accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                Some(ended) = connections.join_next() => report(ended),
                () = &mut closes => break,
            }
        }
        for (client, address) in waiting(listener) {
            Arc::clone(&self).admit(client, address, tls.as_ref(), &mut connections);
        }
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    }

    /// Waits until no more clients are to be accepted.
    async fn closes(&self) {
        let Phases { draining, stop } = &self.shared.phases;
        let drained = async {
            draining.cancelled().await;
            tokio::time::sleep(self.shared.settings().drain.delay).await;
        };
        tokio::select! {
            () = drained => {}
            () = stop.cancelled() => {}
        }
    }

    /// Serves a client, if there is room. Before it has sent anything, there is no way to send it the rejection.
    fn admit(
        self: Arc<Self>,
        client: TcpStream,
        address: SocketAddr,
        tls: Option<&Acceptor>,
        connections: &mut JoinSet<()>,
    ) {
        let Ok(connected) = self.shared.gate.connect(address.ip()) else { return };
        // Small responses should not wait for an acknowledgement of the last one.
        if let Err(error) = client.set_nodelay(true) {
            tracing::debug!(%error, "set TCP_NODELAY");
        }
        // A task each: one for both would be as large as the larger, and ten thousand of them wait.
        match tls {
            Some(tls) => {
                let handshake = self.shared.gate.handshake(address.ip());
                connections.spawn(self.secured(client, address, tls.clone(), (connected, handshake)))
            }
            None => connections.spawn(self.connection(client, Peer::new(address, None), connected)),
        };
    }

    async fn secured(
        self: Arc<Self>,
        client: TcpStream,
        address: SocketAddr,
        tls: Acceptor,
        (connected, handshake): (Connected, Handshake),
    ) {
        let stop = self.shared.phases.stop.clone();
        let shaken = tokio::select! {
            shaken = Box::pin(tls.accept(client, TcpStream::readable)) => shaken,
            () = handshake.evicted() => return self.shared.metrics.evicted(),
            () = stop.cancelled() => return,
        };
        drop(handshake);
        self.shared.metrics.shaken(shaken.as_ref().err());
        match shaken {
            Ok((client, identity)) => {
                let client = Box::new(client);
                self.connection(client, Peer::new(address, identity), connected).await
            }
            Err(error) => tracing::info!(peer = %address, reason = %error, "connection rejected"),
        }
    }

    async fn connection(
        self: Arc<Self>,
        client: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: Peer,
        _connected: Connected,
    ) {
        let settings = self.shared.settings();
        let age = settings.downstream.max_connection_age.map(PositiveDuration::get);
        let shared = Arc::clone(&self.shared);
        let metrics = Arc::clone(&shared.metrics);
        let peer = Arc::new(peer);
        let client_of = Arc::clone(&peer);
        let ending = shared.phases.stop.child_token();
        let (asking, granting) = (Arc::clone(&shared), Arc::clone(&shared));
        let asked = shared.phases.clone().time_to_go(age, move || asking.settings().drain.over);
        let asked = asked.map(move |reason| metrics.moved(reason)).boxed();
        let ended = ending.clone();
        let then = async move {
            tokio::time::sleep(granting.settings().drain.grace).await;
            ended.cancel();
        }
        .boxed();
        let (operations, load_reports) = (Arc::clone(&self.operations), Arc::clone(&self.load_reports));
        let service = |within| Services { shared, operations, load_reports, peer, within, ending };
        match connection::serve(client, settings, service, asked, then).await {
            Ok(()) => {}
            Err(ConnectionError::Stalled) => {
                self.shared.metrics.stalled();
                let peer = client_of.address;
                tracing::warn!(%peer, "connection closed: the client does not read (downstream.stall_timeout)");
            }
            Err(error) => tracing::debug!(error = &error as &dyn std::error::Error, "connection failed"),
        }
    }
}

/// Directs a server while it serves. Cheap to clone.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
}

impl Control {
    /// Moves all clients elsewhere: accepts no more of them, and asks each of those that are here to connect anew.
    pub fn drain(&self) {
        self.shared.phases.draining.cancel();
    }

    /// What counts for who comes now.
    pub fn settings(&self) -> Arc<Settings> {
        self.shared.settings()
    }

    /// Has `settings` count from now on: limits of how many there are, and the drain, at once; everything else for who
    /// comes. The identifier, the cache and `max_response_size` stay as they were at the start.
    pub fn apply_settings(&self, settings: Settings) {
        self.shared.apply_settings(settings);
    }
}

/// Closes `listener`, and gives the clients that are connected and were not accepted yet: the kernel would reset them.
fn waiting(listener: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    let Ok(listener) = listener.into_std() else { return Vec::new() };
    let clients = std::iter::from_fn(|| listener.accept().ok());
    clients
        .filter_map(|(client, address)| {
            client.set_nonblocking(true).ok()?;
            Some((TcpStream::from_std(client).ok()?, address))
        })
        .collect()
}

/// A panic is a bug, and ends no more than what panicked.
fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "server task failed");
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Each idle client holds as much.
    #[tokio::test]
    async fn a_connection_is_a_small_task() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (_served, address) = listener.accept().await.unwrap();
        let server =
            Arc::new(Server::new(Settings::default(), Database::new(weir_database::Settings::default())));
        let connected = server.shared.gate.connect(address.ip()).unwrap();
        let bytes = size_of_val(&server.connection(client, Peer::new(address, None), connected));
        assert!(bytes <= 800, "{bytes} bytes");
    }

    #[tokio::test]
    async fn who_is_connected_when_a_listener_closes_is_served() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut clients = Vec::new();
        for _ in 0..20 {
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        let mut accepted = waiting(listener);
        assert_eq!(accepted.len(), clients.len());
        for (client, (served, address_of)) in clients.iter_mut().zip(&mut accepted) {
            assert_eq!(*address_of, client.local_addr().unwrap());
            client.write_all(b"x").await.unwrap();
            assert_eq!(served.read_u8().await.unwrap(), b'x');
        }
        assert!(TcpStream::connect(address).await.is_err(), "the port is closed");
    }
}
