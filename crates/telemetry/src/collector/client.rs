//! HTTP to collectors. Exporters have threads of their own, so requests are made on the runtime.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::Handle;

/// The largest answer that is read, in bytes: answers of collectors are short.
const MAX_ANSWER: usize = 1 << 20;

/// A client of a collector. Connections are kept.
#[derive(Clone, Debug)]
pub(super) struct Client {
    client: hyper_util::client::legacy::Client<HttpConnector, Full<Bytes>>,
    runtime: Handle,
    timeout: Duration,
}

impl Client {
    /// To be called in the runtime.
    pub(super) fn new(timeout: Duration) -> Self {
        let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http();
        Self { client, runtime: Handle::current(), timeout }
    }

    async fn send(self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answered = async {
            let (head, body) = self.client.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, MAX_ANSWER).collect().await?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        tokio::time::timeout(self.timeout, answered).await?
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.runtime.spawn(self.clone().send(request)).await?
    }
}
