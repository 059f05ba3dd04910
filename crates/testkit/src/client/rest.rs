//! A client that polls over REST-JSON.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use weir_wire::discovery::{DiscoveryRequest, DiscoveryResponse, ResourceLocator};
use weir_wire::json::discovery::{request_to_json, response_from_json};

use super::Received;
use crate::node::NodeBuilder;
use crate::wait::within;

/// A client that states the version that it was sent last, and accepts everything.
pub struct RestClient {
    server: SocketAddr,
    connection: SendRequest<Full<Bytes>>,
    node: Bytes,
    /// By path.
    versions: BTreeMap<String, String>,
}

impl RestClient {
    /// Connects. Panics if nobody listens.
    pub async fn connect(server: SocketAddr, node: &NodeBuilder) -> Self {
        let (connection, node) = (open(server).await, node.encode());
        Self { server, connection, node, versions: BTreeMap::new() }
    }

    /// One poll, `path` being `clusters`, `endpoints`, …; none when there is nothing new. Panics if there is another
    /// answer than these.
    pub async fn poll(
        &mut self,
        path: &str,
        names: &[&str],
        locators: &[ResourceLocator],
    ) -> Option<Received> {
        let request = DiscoveryRequest {
            node: Some(self.node.clone()),
            version_info: self.versions.get(path).cloned().unwrap_or_default(),
            resource_names: names.iter().map(|name| (*name).to_owned()).collect(),
            resource_locators: locators.to_vec(),
            ..DiscoveryRequest::default()
        };
        let (status, body) = self.post(path, request_to_json(request)).await;
        match status {
            200 => {}
            304 => return None,
            _ => panic!("{} answers {status}: {}", self.server, String::from_utf8_lossy(&body)),
        }
        let read = response_from_json(&body).expect("a well-formed response");
        let resources = read.resources.into_iter().map(|any| any.expect("a well-formed resource"));
        let response = DiscoveryResponse { resources: resources.collect(), ..read.response };
        self.versions.insert(path.to_owned(), response.version_info.clone());
        Some(Received::from_sotw(response))
    }

    /// Polls until there is something new.
    pub async fn changed(&mut self, path: &str, names: &[&str], locators: &[ResourceLocator]) -> Received {
        within(format!("something new of {path}"), async {
            loop {
                if let Some(received) = self.poll(path, names, locators).await {
                    return received;
                }
            }
        })
        .await
    }

    /// Posts what the test likes; gives the status, and the body if it is JSON.
    pub async fn post_json(&mut self, path: &str, body: &str) -> (u16, Value) {
        let (status, body) = self.post(path, body.as_bytes().to_vec()).await;
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn post(&mut self, path: &str, body: Vec<u8>) -> (u16, Bytes) {
        // Right behind an answer it may still be busy, or be about to close.
        if self.connection.ready().await.is_err() {
            self.connection = open(self.server).await;
        }
        let request = Request::post(format!("/v3/discovery:{path}"))
            .header("host", "test")
            .header("x-envoy-expected-rq-timeout-ms", "1000")
            .body(Full::from(body))
            .expect("a request");
        let answer = within(format!("an answer to a poll of {path}"), self.connection.send_request(request));
        let answer = answer.await.unwrap_or_else(|e| panic!("poll {path} at {}: {e}", self.server));
        let status = answer.status().as_u16();
        (status, answer.into_body().collect().await.expect("a whole answer").to_bytes())
    }
}

async fn open(server: SocketAddr) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server).await.unwrap_or_else(|e| panic!("connect to {server}: {e}"));
    let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("an HTTP connection");
    tokio::spawn(connection);
    sender
}
