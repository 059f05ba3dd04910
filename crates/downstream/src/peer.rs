//! The other end of a connection.

use std::net::SocketAddr;

/// Who connected, as far as the connection tells.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Where from.
    pub(crate) address: SocketAddr,
}
