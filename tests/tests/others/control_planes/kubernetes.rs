//! As much of the API of Kubernetes as istiod needs to start: there is no object of any kind, and what is created is taken
//! and forgotten.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The server; gone when dropped.
pub struct Kubernetes {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Kubernetes {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listen");
        let address = listener.local_addr().expect("it listens");
        let serving = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                // Whoever goes before it is answered is no matter.
                tokio::spawn(async move { drop(serve(BufReader::new(connection)).await) });
            }
        });
        Self { address, serving }
    }

    /// A configuration for its clients.
    pub fn config(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "test", "cluster": { "server": format!("http://{}", self.address) } }],
            "users": [{ "name": "test", "user": {} }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
            "current-context": "test",
        })
    }
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut connection: BufReader<TcpStream>) -> std::io::Result<()> {
    loop {
        let (mut head, mut line, mut length) = (String::new(), String::new(), 0);
        while connection.read_line(&mut line).await? > 2 {
            if let Some(("content-length", value)) = line.to_lowercase().trim().split_once(": ") {
                length = value.parse().unwrap_or_default();
            }
            head.push_str(&line);
            line.clear();
        }
        let mut body = vec![0; length];
        connection.read_exact(&mut body).await?;
        let mut words = head.split_whitespace();
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(()) };
        if method != "GET" {
            write(&mut connection, 201, &body).await?;
        } else if path.contains("watch=") && !path.contains("sendInitialEvents") {
            let watch =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
            connection.write_all(watch.as_bytes()).await?;
            // Nothing ever changes: the next byte is that of a client that goes.
            connection.read_u8().await?;
        } else {
            let (status, answer) = get(path);
            write(&mut connection, status, answer.to_string().as_bytes()).await?;
        }
    }
}

async fn write(connection: &mut BufReader<TcpStream>, status: u16, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Answer\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(body).await
}

fn get(path: &str) -> (u16, Value) {
    let refused = |code, reason| {
        (
            code,
            json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code }),
        )
    };
    let parts: Vec<_> = path.split('?').next().unwrap_or_default().trim_matches('/').split('/').collect();
    let namespace = parts.iter().position(|part| *part == "namespaces");
    if path.contains("sendInitialEvents") {
        // Lists and watches are two requests here.
        return refused(422, "Invalid");
    }
    if namespace.is_some_and(|position| parts.len() > position + 3) {
        return refused(404, "NotFound");
    }
    if parts == ["version"] {
        return (200, json!({ "major": "1", "minor": "33", "gitVersion": "v1.33.0" }));
    }
    let group = if parts[0] == "api" { "v1".to_owned() } else { parts[1..parts.len().min(3)].join("/") };
    let mut list = json!({ "apiVersion": group, "metadata": { "resourceVersion": "1" }, "items": [] });
    if parts.contains(&"customresourcedefinitions") {
        list["kind"] = json!("CustomResourceDefinitionList");
    }
    (200, list)
}
