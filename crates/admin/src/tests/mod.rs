//! Requests to a server whose instance is made up.

mod described;
mod endpoints;
pub(crate) mod fake;
mod hostile;
mod obstacles;
mod patience;
mod reading;
mod resources;
mod site;

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use fake::Fake;

/// What came back.
#[derive(Debug)]
struct Answer {
    status: u16,
    content_type: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Sends one request to a server of its own, and waits for the server to end.
async fn request(instance: &Arc<Fake>, method: &str, target: &str, body: &str) -> Answer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let instance: Arc<Fake> = Arc::clone(instance);
    let (_, auth) = tokio::sync::watch::channel(crate::Auth::default());
    let server = tokio::spawn(crate::serve(listener, None, auth, instance, async { _ = stopped.await }));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    // HTTP/1.0, so that the body comes in one piece.
    let request = format!(
        "{method} {target} HTTP/1.0\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    drop(stop);
    server.await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        content_type: header("content-type: ").to_owned(),
        body: body.to_owned(),
    }
}

async fn get(instance: &Arc<Fake>, target: &str) -> Answer {
    request(instance, "GET", target, "").await
}
