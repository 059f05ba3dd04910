//! As much of an HTTP client as tests need.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::Secured;

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// A connection that is kept while it works.
pub struct Connection {
    server: SocketAddr,
    secured: Option<Secured>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

/// One request on a connection of its own.
///
/// # Errors
/// When no whole answer came.
pub async fn get(server: SocketAddr, path: &str) -> Result<Answer, String> {
    Connection::to(server).get(path).await
}

/// One request on a connection of its own, with these headers.
///
/// # Errors
/// When no whole answer came.
pub async fn get_with(server: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Result<Answer, String> {
    Connection::to(server).send("GET", path, headers, "").await.map_err(|e| e.to_string())
}

/// One request of any kind on a connection of its own.
///
/// # Errors
/// When no whole answer came.
pub async fn request(
    server: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Answer, String> {
    Connection::to(server).send(method, path, headers, body).await.map_err(|e| e.to_string())
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// As [`request`], over TLS if that is used.
///
/// # Errors
/// When no whole answer came.
pub async fn send(
    server: SocketAddr,
    secured: Option<&Secured>,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Answer, String> {
    let mut connection = Connection { secured: secured.cloned(), ..Connection::to(server) };
    let headers = [&[("host", "localhost")], headers].concat();
    connection.send(method, path, &headers, body).await.map_err(|e| e.to_string())
}

impl Connection {
    /// A connection, made with the first request.
    pub fn to(server: SocketAddr) -> Self {
        Self { server, secured: None, sender: None }
    }

    /// One request, on the same connection as the last if it is still open.
    ///
    /// # Errors
    /// When no whole answer came.
    pub async fn get(&mut self, path: &str) -> Result<Answer, String> {
        let outcome = self.send("GET", path, &[("host", "test")], "").await;
        if outcome.is_err() {
            self.sender = None;
        }
        outcome.map_err(|e| e.to_string())
    }

    async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Answer, Failure> {
        let mut sender = match self.sender.take() {
            Some(sender) if !sender.is_closed() => sender,
            _ => self.connect().await?,
        };
        sender.ready().await?;
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes())))?;
        let response = sender.send_request(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        self.sender = Some(sender);
        Ok(Answer { status, body: String::from_utf8_lossy(&body).into_owned() })
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let stream = TcpStream::connect(self.server).await?;
        match &self.secured {
            None => open(stream).await,
            Some(secured) => open(secured.connect_http(stream).await?).await,
        }
    }
}

async fn open(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Full<Bytes>>, Failure> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}
