//! A port whose connections can be cut at once.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::{Connected, TcpConnectInfo};

/// TLS settings for new connections.
pub(crate) type SharedTls = Arc<Mutex<Arc<ServerConfig>>>;

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A listening port.
pub(crate) struct Port {
    address: SocketAddr,
    accepting: JoinHandle<()>,
    cut: CancellationToken,
}

impl Port {
    /// Listens, and hands out what connects. Port 0 takes a free one.
    pub(crate) async fn listen(
        address: SocketAddr,
        tls: Option<SharedTls>,
    ) -> (Self, UnboundedReceiverStream<io::Result<Connection>>) {
        let listener =
            TcpListener::bind(address).await.unwrap_or_else(|e| panic!("listen on {address}: {e}"));
        let address = listener.local_addr().expect("a bound socket has an address");
        let (connections, accepted) = mpsc::unbounded_channel();
        let cut = CancellationToken::new();
        let token = cut.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let info = stream.connect_info();
                let cut = Box::pin(token.clone().cancelled_owned());
                let Some(tls) = &tls else {
                    if connections.send(Ok(Connection { stream: Box::new(stream), info, cut })).is_err() {
                        break;
                    }
                    continue;
                };
                let (tls, connections) = (TlsAcceptor::from(tls.lock().clone()), connections.clone());
                tokio::spawn(async move {
                    // TLS reports the refusal to the client.
                    if let Ok(stream) = tls.accept(stream).await {
                        _ = connections.send(Ok(Connection { stream: Box::new(stream), info, cut }));
                    }
                });
            }
        });
        (Self { address, accepting, cut }, UnboundedReceiverStream::new(accepted))
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the port and cuts every connection; returns when the port is free.
    pub(crate) async fn close(mut self) {
        self.cut.cancel();
        self.accepting.abort();
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.cut.cancel();
        self.accepting.abort();
    }
}

/// A connection that fails once its port is closed.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    info: TcpConnectInfo,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Connection {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.cut.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionReset.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.info.clone()
    }
}
