//! Connections of operators, with TLS or without.
//!
//! Handshakes go on beside each other: one that is slow holds up no other.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use weir_tls::Acceptor;

use crate::auth::Peer;

/// How long to wait after nobody could be accepted: usually there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// The bytes of a connection.
pub(crate) trait Bytes: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Bytes for T {}

/// A connection that was let in.
type Accepted = (Box<dyn Bytes>, Peer);

/// Accepts operators.
pub(crate) struct Operators {
    listener: TcpListener,
    tls: Option<Acceptor>,
    handshakes: JoinSet<Option<Accepted>>,
}

impl Operators {
    pub(crate) fn new(listener: TcpListener, tls: Option<Acceptor>) -> Self {
        Self { listener, tls, handshakes: JoinSet::new() }
    }
}

async fn shake(tls: Acceptor, client: TcpStream, address: SocketAddr) -> Option<Accepted> {
    match tls.accept(client, TcpStream::readable).await {
        Ok((stream, identity)) => Some((Box::new(stream), Peer { address, identity })),
        Err(error) => {
            tracing::info!(peer = %address, reason = %error, "an operator is not let in");
            None
        }
    }
}

impl Listener for Operators {
    type Io = Box<dyn Bytes>;
    type Addr = Peer;

    async fn accept(&mut self) -> Accepted {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match (accepted, &self.tls) {
                    (Ok((client, address)), None) => {
                        return (Box::new(client), Peer { address, identity: None });
                    }
                    (Ok((client, address)), Some(tls)) => {
                        self.handshakes.spawn(shake(tls.clone(), client, address));
                    }
                    (Err(error), _) => {
                        tracing::warn!(%error, "an operator cannot be accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                Some(Ok(Some(accepted))) = self.handshakes.join_next() => return accepted,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer { address: self.listener.local_addr()?, identity: None })
    }
}

impl Connected<IncomingStream<'_, Operators>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Operators>) -> Self {
        stream.remote_addr().clone()
    }
}
