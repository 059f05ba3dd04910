//! Ports for processes that take a port as an argument.

use std::net::SocketAddr;

use parking_lot::Mutex;
use tokio::net::TcpSocket;

/// A port on which nobody listens, and that nobody is given as long as this lives, in whatever process.
///
/// The socket is bound and does not listen: the system gives its port neither to who asks for any nor to outgoing
/// connections, and refuses who connects to it. Whoever names it may listen there if it sets `SO_REUSEADDR`, as servers
/// do.
pub(crate) struct Reserved(TcpSocket);

impl Reserved {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port is free");
        // Not before: two that are bound with it may be given one port.
        socket.set_reuseaddr(true).expect("others may listen there");
        Self(socket)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("a bound socket has an address")
    }
}

/// A port on which nobody listens, for this process as long as it runs.
pub fn free_port() -> u16 {
    static HELD: Mutex<Vec<Reserved>> = Mutex::new(Vec::new());
    let reserved = Reserved::new();
    let port = reserved.address().port();
    HELD.lock().push(reserved);
    port
}
