//! The end of a connection that we end.
//!
//! A socket that is closed while there is something to read is reset, and a client that is writing at that moment
//! learns of the reset before it has read our last words: what should have asked it to go elsewhere looks like a
//! failure. So our side is closed first, and what the client still sends is read and forgotten, until it closes its
//! own; for a short time only, and not endlessly much.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;

use super::{Inner, ROUND, Socket};

/// How long a client may take to read our last words and to go: some round trips.
const LONGEST: Duration = Duration::from_secs(2);

/// How much it may send meanwhile, in bytes: what windows of HTTP/2 and buffers of sockets may hold.
const MOST: usize = 4 << 20;

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    /// Ends the connection so that the client has our last words. Returns when the client has closed its side, or has
    /// had its time.
    pub(in super::super) async fn linger(&self) {
        _ = timeout(LONGEST, self.outlast()).await;
    }

    async fn outlast(&self) -> io::Result<()> {
        poll_fn(|cx| self.0.lock().poll_close(cx)).await?;
        let mut left = MOST;
        loop {
            let read = poll_fn(|cx| self.0.lock().poll_discard(cx)).await?;
            left = left.saturating_sub(read);
            if read == 0 || left == 0 {
                return Ok(());
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Inner<S> {
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_release(cx))?;
        // The HTTP library may have done it.
        _ = ready!(Pin::new(&mut self.stream).poll_shutdown(cx));
        Poll::Ready(Ok(()))
    }

    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut bytes = [0; ROUND];
        let mut buffer = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// Both ends of a connection over the loopback device.
    async fn pair() -> (Socket<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Socket::new(listener.accept().await.unwrap().0), client)
    }

    #[tokio::test]
    async fn a_client_that_is_writing_reads_our_last_words() {
        let (socket, mut client) = pair().await;
        socket.0.lock().outgoing.extend_from_slice(b"go elsewhere");
        client.write_all(&[0; 100_000]).await.unwrap();
        let leaving = async {
            socket.linger().await;
            drop(socket);
        };
        let received = async {
            let mut received = String::new();
            client.read_to_string(&mut received).await?;
            // It is still writing when it has read to the end.
            client.write_all(&[0; 100_000]).await?;
            client.shutdown().await.map(|()| received)
        };
        let (received, ()) = tokio::join!(received, leaving);
        assert_eq!(received.unwrap(), "go elsewhere");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_go_is_left_after_a_while() {
        let (socket, client) = pair().await;
        let before = tokio::time::Instant::now();
        socket.linger().await;
        assert_eq!(before.elapsed().as_secs(), LONGEST.as_secs());
        drop(client);
    }

    #[tokio::test]
    async fn a_client_that_goes_on_talking_is_left_after_a_while() {
        let (socket, mut client) = pair().await;
        let talking = async { while client.write_all(&[0; 64 << 10]).await.is_ok() {} };
        let leaving = async {
            socket.outlast().await.unwrap();
            drop(socket);
        };
        tokio::join!(talking, leaving);
    }
}
