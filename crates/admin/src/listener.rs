//! Connections of operators, with TLS or without.
//!
//! Handshakes go on beside each other: one that is slow holds up no other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use weir_tls::Acceptor;

use crate::auth::Peer;
use crate::room::{CONNECTIONS, Room, Seat};

/// How long to wait after nobody could be accepted: usually there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// The bytes of a connection.
pub(crate) trait Bytes: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Bytes for T {}

/// Whoever was let in.
pub(crate) struct Accepted {
    pub(crate) bytes: Box<dyn Bytes>,
    pub(crate) peer: Peer,
    pub(crate) seat: Arc<Seat>,
}

/// Accepts operators.
pub(crate) struct Operators {
    listener: TcpListener,
    tls: Option<Acceptor>,
    handshakes: JoinSet<Option<Accepted>>,
    room: Room,
    /// Whether the shortage is logged, until an operator is accepted again.
    is_logged: bool,
}

impl Operators {
    pub(crate) fn new(listener: TcpListener, tls: Option<Acceptor>) -> Self {
        Self { listener, tls, handshakes: JoinSet::new(), room: Room::default(), is_logged: false }
    }

    /// The next who is let in. Cancel-safe.
    pub(crate) async fn accept(&mut self) -> Accepted {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match (accepted, &self.tls) {
                    (Ok((client, address)), tls) => {
                        let Some(seat) = self.room.enter() else {
                            if !std::mem::replace(&mut self.is_logged, true) {
                                tracing::warn!(peer = %address, limit = CONNECTIONS, "operator connections rejected: limit reached");
                            }
                            continue;
                        };
                        self.is_logged = false;
                        let Some(tls) = tls else {
                            let peer = Peer { address, identity: None };
                            return Accepted { bytes: Box::new(client), peer, seat };
                        };
                        self.handshakes.spawn(shake(tls.clone(), client, address, seat));
                    }
                    (Err(error), _) => {
                        tracing::warn!(%error, "operator connection could not be accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                Some(Ok(Some(accepted))) = self.handshakes.join_next() => return accepted,
            }
        }
    }
}

async fn shake(tls: Acceptor, client: TcpStream, address: SocketAddr, seat: Arc<Seat>) -> Option<Accepted> {
    let accepted = tokio::select! {
        accepted = tls.accept(client, TcpStream::readable) => accepted,
        () = seat.evicted() => return None,
    };
    match accepted {
        Ok((stream, identity)) => {
            Some(Accepted { bytes: Box::new(stream), peer: Peer { address, identity }, seat })
        }
        Err(error) => {
            tracing::info!(peer = %address, reason = %error, "operator connection rejected");
            None
        }
    }
}
