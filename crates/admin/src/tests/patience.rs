//! How long an operator may take.

use std::future::pending;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

use super::endpoints::instance;
use crate::server::PATIENCE;

/// A connection to a server of its own.
async fn connect() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_, auth) = tokio::sync::watch::channel(crate::Auth::default());
    tokio::spawn(crate::serve(listener, None, auth, instance(0), pending()));
    TcpStream::connect(address).await.unwrap()
}

/// Waits until the server closes the connection, which takes no real time.
async fn is_closed(operator: &mut TcpStream) {
    tokio::time::pause();
    let (start, mut rest) = (Instant::now(), String::new());
    let read = timeout(10 * PATIENCE, operator.read_to_string(&mut rest)).await;
    read.expect("the connection is closed").unwrap();
    // The server may have begun to wait in real time, before it was paused.
    let waited = start.elapsed() + Duration::from_secs(5);
    assert!(waited >= PATIENCE && rest.is_empty(), "{rest:?} after {:?}", start.elapsed());
    tokio::time::resume();
}

#[tokio::test]
async fn a_header_that_does_not_end_is_not_waited_for() {
    for sent in ["", "GET /live", "GET /live HTTP/1.1\r\nhost: x\r\n"] {
        let mut operator = connect().await;
        operator.write_all(sent.as_bytes()).await.unwrap();
        is_closed(&mut operator).await;
    }
}

#[tokio::test]
async fn a_connection_on_which_nothing_more_is_asked_is_closed() {
    let mut operator = connect().await;
    operator.write_all(b"GET /live HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nlive\n") {
        assert_ne!(operator.read_buf(&mut answer).await.unwrap(), 0, "{}", answer.escape_ascii());
    }
    is_closed(&mut operator).await;
}

#[tokio::test]
async fn who_does_not_read_is_not_waited_for() {
    const ASKED: usize = 200;
    let mut operator = connect().await;
    operator.write_all(&b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(ASKED)).await.unwrap();
    operator.readable().await.unwrap();
    tokio::time::pause();
    tokio::time::sleep(2 * PATIENCE).await;
    tokio::time::resume();
    let mut answers = Vec::new();
    // The connection may have been reset.
    _ = operator.read_to_end(&mut answers).await;
    let answered = String::from_utf8_lossy(&answers).matches("HTTP/1.1 200 OK").count();
    assert!(answered < ASKED, "{answered} were answered");
}

#[tokio::test]
async fn a_body_that_does_not_end_is_not_waited_for() {
    let mut operator = connect().await;
    let sent = "PUT /log-level HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    operator.write_all(sent.as_bytes()).await.unwrap();
    tokio::time::pause();
    let (start, mut answer) = (Instant::now(), String::new());
    let read = timeout(10 * PATIENCE, operator.read_to_string(&mut answer)).await;
    read.expect("the connection is closed").unwrap();
    assert!(start.elapsed() >= PATIENCE && answer.starts_with("HTTP/1.1 408 "), "{answer}");
}
