//! As much of HTTP as polling needs.

use std::error::Error;

use ::http::uri::PathAndQuery;
use ::http::{Request, StatusCode, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use opentelemetry::trace::SpanContext;
use tonic::Status;
use weir_config::Polling;
use weir_types::DynamicParameters;

use crate::arrival::{self, Moment};
use crate::connector::Connector;
use crate::driver::chain;
use crate::transport::Method;
use crate::{Credentials, Settings};

/// How much of the body of an error is shown, in characters.
const SHOWN: usize = 200;

/// A client of one URL. Connections are kept and made as needed.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    client: Client<Connector, Full<Bytes>>,
    uri: Uri,
    credentials: Credentials,
    header_values: DynamicParameters,
    pub(super) polling: Polling,
    limit: usize,
}

/// What a poll is answered with.
pub(crate) struct Answer {
    pub(super) body: Bytes,
    /// What trace it belongs to.
    pub(super) context: Option<SpanContext>,
    pub(super) at: Moment,
}

/// Makes sure that somebody listens at `endpoint`, and gives a client of the path of `method` there.
///
/// # Errors
/// When nobody does.
pub(crate) async fn connect(
    settings: &Settings,
    polling: Polling,
    endpoint: &str,
    method: &Method,
) -> Result<Http, Box<dyn Error + Send + Sync>> {
    let mut parts = endpoint.parse::<Uri>()?.into_parts();
    parts.path_and_query = Some(PathAndQuery::from_static(method.path));
    let uri = Uri::from_parts(parts)?;
    let connector = Connector::new(settings);
    connector.connect(uri.clone()).await?;
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let credentials = settings.credentials.clone();
    let (header_values, limit) = (method.header_values.clone(), settings.max_message_size);
    Ok(Http { client, uri, credentials, header_values, polling, limit })
}

impl Http {
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Posts `json`. Gives what it is answered with; none if that is that there is nothing new.
    pub(crate) async fn post(&self, json: Bytes) -> Result<Option<Answer>, Status> {
        let timeout = self.polling.request_timeout.get();
        let answer = tokio::time::timeout(timeout, self.try_post(json)).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {timeout:?}")));
        answer.map_err(|what| Status::unavailable(format!("{}: {what}", self.uri)))
    }

    async fn try_post(&self, json: Bytes) -> Result<Option<Answer>, String> {
        let mut request = Request::post(self.uri.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .header(
                "x-envoy-expected-rq-timeout-ms",
                self.polling.request_timeout.get().as_millis().to_string(),
            )
            .body(Full::new(json))
            .map_err(|error| error.to_string())?;
        request.headers_mut().extend(self.credentials.headers(&self.header_values));
        let answer = self.client.request(request).await.map_err(|error| chain(&error))?;
        let status = answer.status();
        if status == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let context = arrival::of_head(answer.headers());
        let body = Limited::new(answer.into_body(), self.limit).collect().await;
        let body = body.map_err(|error| match error.is::<http_body_util::LengthLimitError>() {
            true => format!("the response is over the limit of {} bytes", self.limit),
            false => chain(&*error),
        })?;
        let body = body.to_bytes();
        if status == StatusCode::OK {
            return Ok(Some(Answer { body, context, at: Moment::now() }));
        }
        let shown: String = String::from_utf8_lossy(&body).chars().take(SHOWN).collect();
        Err(format!("{status}: {shown}"))
    }
}
