//! The sockets that listen, and whether another process listens where they do.

use std::io;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::net::{TcpListener, TcpSocket};
use weir_config::Config;

/// How many connections may wait to be accepted: a fleet that lost its connections comes back all at once.
const BACKLOG: u32 = 4096;

/// What listens.
pub(crate) struct Listeners {
    pub(crate) clients: Vec<TcpListener>,
    /// Without TLS, although there is some.
    pub(crate) plaintext: Vec<TcpListener>,
    pub(crate) admin: Option<TcpListener>,
    /// Where another process listens too.
    shared: Vec<SocketAddr>,
}

/// Where they listen, for people.
pub(crate) struct Addresses {
    pub(crate) clients: String,
    pub(crate) admin: String,
    /// Those where another process listens too; empty for none.
    pub(crate) shared: String,
}

impl Listeners {
    /// To be called in a tokio runtime.
    ///
    /// # Errors
    /// When an address cannot be listened on.
    pub(crate) fn bind(config: &Config) -> Result<Self> {
        let (downstream, admin) = (&config.downstream, config.admin.as_ref().map(|admin| admin.listen));
        let all = downstream.listen.iter().chain(&downstream.listen_plaintext).chain(&admin);
        let shared = all.copied().filter(|address| is_shared(*address)).collect();
        let for_clients = |addresses: &[SocketAddr]| {
            addresses.iter().map(|address| bind(*address, "clients")).collect::<Result<Vec<_>>>()
        };
        Ok(Self {
            clients: for_clients(&downstream.listen)?,
            plaintext: for_clients(&downstream.listen_plaintext)?,
            admin: admin.map(|address| bind(address, "the admin interface")).transpose()?,
            shared,
        })
    }

    /// The addresses, with the ports that were taken.
    ///
    /// # Errors
    /// When the system does not know them.
    pub(crate) fn addresses(&self) -> io::Result<Addresses> {
        let addresses =
            self.clients.iter().chain(&self.plaintext).map(|listener| Ok(listener.local_addr()?.to_string()));
        let clients = addresses.collect::<io::Result<Vec<_>>>()?.join(",");
        let admin = match &self.admin {
            Some(listener) => listener.local_addr()?.to_string(),
            None => "none".to_owned(),
        };
        let shared = self.shared.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        Ok(Addresses { clients, admin, shared })
    }
}

fn bind(address: SocketAddr, whom: &str) -> Result<TcpListener> {
    listen(address).with_context(|| format!("listen on {address} for {whom}"))
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket(address)?;
    // A second instance may listen here too, and takes over when this one is drained.
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Whether somebody listens on an address already: then it cannot be had alone.
fn is_shared(address: SocketAddr) -> bool {
    let alone = socket(address).and_then(|socket| socket.bind(address));
    address.port() != 0 && alone.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // What has just been closed here is in nobody's way.
    socket.set_reuseaddr(true)?;
    Ok(socket)
}
