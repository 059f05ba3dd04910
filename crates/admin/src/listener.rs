//! Connections of operators, with TLS or without.
//!
//! Handshakes go on beside each other: one that is slow holds up no other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use weir_tls::Acceptor;

use crate::auth::Peer;

/// How long to wait after nobody could be accepted: usually there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// How many connections there may be. Clients need the open files, and operators are few.
const CONNECTIONS: usize = 512;

/// The bytes of a connection.
pub(crate) trait Bytes: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Bytes for T {}

/// Whoever was let in.
pub(crate) struct Accepted {
    pub(crate) bytes: Box<dyn Bytes>,
    pub(crate) peer: Peer,
    /// There is room for another one when it is dropped.
    pub(crate) room: OwnedSemaphorePermit,
}

/// Accepts operators.
pub(crate) struct Operators {
    listener: TcpListener,
    tls: Option<Acceptor>,
    handshakes: JoinSet<Option<Accepted>>,
    room: Arc<Semaphore>,
    /// Whether it was said that there is none, since somebody was let in.
    said: bool,
}

impl Operators {
    pub(crate) fn new(listener: TcpListener, tls: Option<Acceptor>) -> Self {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        Self { listener, tls, handshakes: JoinSet::new(), room, said: false }
    }

    /// The next who is let in. Cancel-safe.
    pub(crate) async fn accept(&mut self) -> Accepted {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match (accepted, &self.tls) {
                    (Ok((client, address)), tls) => {
                        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
                            if !std::mem::replace(&mut self.said, true) {
                                tracing::warn!(peer = %address, limit = CONNECTIONS, "operators are turned away");
                            }
                            continue;
                        };
                        self.said = false;
                        let Some(tls) = tls else {
                            let peer = Peer { address, identity: None };
                            return Accepted { bytes: Box::new(client), peer, room };
                        };
                        self.handshakes.spawn(shake(tls.clone(), client, address, room));
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
}

async fn shake(
    tls: Acceptor,
    client: TcpStream,
    address: SocketAddr,
    room: OwnedSemaphorePermit,
) -> Option<Accepted> {
    match tls.accept(client, TcpStream::readable).await {
        Ok((stream, identity)) => {
            Some(Accepted { bytes: Box::new(stream), peer: Peer { address, identity }, room })
        }
        Err(error) => {
            tracing::info!(peer = %address, reason = %error, "an operator is not let in");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn operators_do_not_take_the_open_files_of_clients() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut operators = Operators::new(listener, None);
        let (mut ends, mut let_in) = (Vec::new(), Vec::new());
        for _ in 0..CONNECTIONS {
            ends.push(TcpStream::connect(address).await.unwrap());
            let_in.push(operators.accept().await);
        }
        let mut one_too_many = TcpStream::connect(address).await.unwrap();
        let mut nothing = [0];
        tokio::select! {
            read = one_too_many.read(&mut nothing) => assert!(matches!(read, Ok(0) | Err(_)), "{read:?}"),
            _ = operators.accept() => panic!("it is let in"),
        }
        let_in.pop();
        let _other = TcpStream::connect(address).await.unwrap();
        operators.accept().await;
    }
}
