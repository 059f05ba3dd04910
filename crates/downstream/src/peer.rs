//! The other end of a connection.

use std::net::SocketAddr;
use std::sync::Arc;

use weir_database::Quota;
use weir_tls::Identity;

/// The peer of a connection, as far as the connection shows.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Where from.
    pub(crate) address: SocketAddr,
    /// What it has asked for that is new.
    pub(crate) quota: Arc<Quota>,
    /// Whom its certificate names; nobody where it has shown none.
    pub(crate) identity: Option<Identity>,
}

impl Peer {
    /// One that has asked for nothing yet.
    pub(crate) fn new(address: SocketAddr, identity: Option<Identity>) -> Self {
        Self { address, quota: Arc::default(), identity }
    }
}
