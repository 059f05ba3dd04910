//! Operators' tools that mean harm, or are broken.

use std::future::pending;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::endpoints::instance;
use crate::room::{CONNECTIONS, REQUESTS};

async fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_, auth) = tokio::sync::watch::channel(crate::Auth::default());
    tokio::spawn(crate::serve(listener, None, auth, instance(0), pending()));
    address
}

/// Everything that comes back, until the server closes the connection.
async fn exchange(server: SocketAddr, request: &str) -> String {
    let mut operator = TcpStream::connect(server).await.unwrap();
    operator.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // Where more was sent than is read, the connection is reset.
    _ = operator.read_to_string(&mut answer).await;
    answer
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or(answer)
}

#[tokio::test]
async fn idle_connections_keep_no_probe_out() {
    let server = serve().await;
    let mut idle = Vec::new();
    for _ in 0..CONNECTIONS + 88 {
        idle.push(TcpStream::connect(server).await.unwrap());
    }
    for probe in ["/live", "/ready", "/metrics"] {
        let answer =
            exchange(server, &format!("GET {probe} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await;
        assert!(
            ["200", "503"].contains(&status(&answer)) && answer.contains("\r\n\r\n"),
            "{probe}: {answer}"
        );
    }
}

#[tokio::test]
async fn requests_without_end_keep_no_probe_out() {
    let server = serve().await;
    let (mut streams, mut refused) = (Vec::new(), 0);
    for _ in 0..REQUESTS + 44 {
        let mut stream = TcpStream::connect(server).await.unwrap();
        stream.write_all(b"GET /events HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        refused += usize::from(&answer[9..] == b"503");
        streams.push(stream);
    }
    assert_eq!(refused, 44);
    let live = exchange(server, "GET /live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    assert_eq!(status(&live), "200", "{live}");
}

#[tokio::test]
async fn a_line_ends_with_cr_and_lf() {
    let server = serve().await;
    for request in [
        "GET /live HTTP/1.1\nhost: x\r\n\r\n",
        "GET /live HTTP/1.1\r\nhost: x\n\r\n",
        "GET /live HTTP/1.1\r\nhost: x\r\n\n",
        "GET /live HTTP/1.1\r\nhost: x\r\na: b\nc: d\r\n\r\n",
        "\nGET /live HTTP/1.1\r\nhost: x\r\n\r\n",
        "GET /live HTTP/1.1\r\nhost: x\r\n\r\nGET /live HTTP/1.1\nhost: x\r\n\r\n",
    ] {
        let answer = exchange(server, request).await;
        assert!(answer.contains("HTTP/1.1 400 "), "{request:?}: {answer}");
    }
    // A body may hold whatever it likes, and is the last on its connection.
    let put = "PUT /log-level HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 21\r\n\r\n{\n\"level\": \n\"debug\"\n}\n";
    let answer = exchange(server, &format!("{put}GET /live HTTP/1.1\nhost: x\n\n")).await;
    assert_eq!((status(&answer), answer.matches("HTTP/1.1 ").count()), ("200", 1), "{answer}");
}

#[tokio::test]
async fn a_body_is_encoded_in_one_way() {
    let server = serve().await;
    let put = |fields: &str| {
        format!(
            "PUT /log-level HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{fields}\r\n\
             11\r\n{{\"level\":\"debug\"}}\r\n0\r\n\r\n"
        )
    };
    for (fields, wanted) in [
        ("transfer-encoding: chunked\r\n", "200"),
        ("Transfer-Encoding: Chunked\r\n", "200"),
        ("Transfer-Encoding: xchunked, chunked\r\n", "400"),
        ("transfer-encoding: chunked, chunked\r\n", "400"),
        ("transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n", "400"),
        ("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n", "400"),
        ("transfer-encoding: xchunked\r\n", "400"),
        ("transfer-encoding: \u{b}chunked\r\n", "400"),
    ] {
        let answer = exchange(server, &put(fields)).await;
        assert_eq!(status(&answer), wanted, "{fields:?}: {answer}");
    }
}
