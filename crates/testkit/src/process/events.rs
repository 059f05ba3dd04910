//! Server-sent events, as a browser reads them.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::wait::within;

/// An open stream of events.
pub struct Events {
    body: Incoming,
    /// What was read and is no whole event yet.
    text: String,
}

impl Events {
    /// Asks for them. Panics if there are none.
    pub async fn of(server: SocketAddr, path: &str) -> Self {
        let stream = TcpStream::connect(server).await.expect("connect");
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.expect("a handshake");
        tokio::spawn(connection);
        let request = Request::get(path).header("host", "test").header("accept", "text/event-stream");
        let request = request.body(Empty::<Bytes>::new()).expect("a request");
        let response = sender.send_request(request).await.expect("an answer");
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream", "{path}");
        Self { body: response.into_body(), text: String::new() }
    }

    /// The data of the next event; none when they have ended.
    pub async fn next(&mut self) -> Option<Value> {
        within("an event", async {
            loop {
                while let Some((event, rest)) = self.text.split_once("\n\n") {
                    let data: String = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                    let parsed = (!data.is_empty()).then(|| serde_json::from_str(&data).expect("JSON"));
                    self.text = rest.to_owned();
                    if parsed.is_some() {
                        return parsed;
                    }
                }
                let frame = self.body.frame().await?.ok()?;
                let data = frame.into_data().ok()?;
                self.text.push_str(std::str::from_utf8(&data).expect("UTF-8"));
            }
        })
        .await
    }

    /// The next event that is `good`. Panics if there is none.
    pub async fn until(&mut self, what: &str, good: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("the events ended before {what}"));
            if good(&event) {
                return event;
            }
        }
    }
}
