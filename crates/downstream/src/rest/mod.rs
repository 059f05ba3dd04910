//! REST-JSON: one poll of one type in each request, `POST /v3/discovery:clusters`.
//!
//! Owns what is of HTTP: which path is which type, how long an answer may be held back, and what an error is
//! called there. The stream machine decides what a client is owed, as for gRPC.

mod frames;
mod hold;
mod poll;

#[cfg(test)]
mod tests;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};
use weir_types::TypeUrl;
use weir_wire::discovery::DiscoveryRequest;
use weir_wire::json::discovery::request_from_json;
use weir_wire::rest;

use crate::admission::{NodeSlot, Opened, Partial, Refusal};
use crate::metrics::Speech;
use crate::peer::Peer;
use crate::shared::Shared;
use crate::status::status;
use crate::tallies;
use weir_session::{Limits, StreamError};

pub(crate) use frames::JsonFrames;

use poll::Poll;

/// Why there is no response.
#[derive(Debug)]
struct Failure {
    status: StatusCode,
    /// As in gRPC.
    code: Code,
    message: String,
    /// Whose request it was, as far as that is known.
    node: String,
    /// In how many seconds the client may try again, where that is known.
    retry_after: Option<u64>,
}

impl Failure {
    fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), node: String::new(), retry_after: None }
    }

    fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::InvalidArgument, message)
    }
}

impl Failure {
    /// Makes it known. What is not the client's fault is counted elsewhere.
    fn note(&self, shared: &Shared) {
        let Self { status, message, node, .. } = self;
        if self.retry_after.is_some() {
            // The rejection is logged where it was made.
            return;
        }
        if status.is_client_error() {
            shared.metrics.refused(Speech::Rest);
            tracing::warn!(node, status = status.as_u16(), reason = message, "poll rejected");
        } else {
            tracing::warn!(node, status = status.as_u16(), reason = message, "poll failed");
        }
    }

    fn into_answer(self) -> Answer {
        let body = serde_json::json!({ "code": self.code as i32, "message": self.message });
        let mut answer = respond(self.status, body.to_string().into());
        if let Some(seconds) = self.retry_after {
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        answer
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let http = match status.code() {
            Code::InvalidArgument => StatusCode::BAD_REQUEST,
            Code::PermissionDenied => StatusCode::FORBIDDEN,
            Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
            Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(http, status.code(), status.message())
    }
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        status(error).into()
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { retry_after: Some(refusal.seconds()), ..refusal.status().into() }
    }
}

/// The answer to a request.
type Answer = Response<Full<Bytes>>;

/// Answers `request` when there is something to send, when its time is up, or when the connection is `ending`.
pub(crate) async fn answer<B>(
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    ending: CancellationToken,
    request: Request<B>,
) -> Answer
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match poll(&shared, peer, &ending, request).await {
        Ok(Some(json)) => respond(StatusCode::OK, json),
        Ok(None) => respond(StatusCode::NOT_MODIFIED, Bytes::new()),
        Err(failure) => {
            failure.note(&shared);
            failure.into_answer()
        }
    }
}

/// A response as JSON; none if there is nothing new.
async fn poll<B>(
    shared: &Arc<Shared>,
    peer: Arc<Peer>,
    ending: &CancellationToken,
    request: Request<B>,
) -> Result<Option<Bytes>, Failure>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if !path.starts_with(rest::PREFIX) {
        return Err(Failure::new(StatusCode::NOT_FOUND, Code::NotFound, format!("there is no {path}")));
    }
    if head.method != Method::POST {
        let message = format!("{path} takes POST, not {}", head.method);
        return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, Code::Unimplemented, message));
    }
    tallies::request(Speech::Rest);
    let type_url = type_of(path)?;
    let settings = shared.settings();
    let hold = hold::until(&head.headers, settings.downstream.rest_hold.get());
    let read = read(body, settings.downstream.max_request_size.get(), shared.gate.partial());
    let receive_timeout = settings.downstream.receive_timeout.get();
    let body = tokio::time::timeout(receive_timeout, read).await;
    let body = body.map_err(|_| late(receive_timeout))??;
    let limits = shared.limits();
    limits.check_json(&body)?;
    let mut message = parse(&body, &type_url, path, &limits)?;
    drop(body);
    message.type_url = type_url.to_string();
    let opened = shared.gate.open(message.version_info.is_empty())?;
    let mut poll = Poll::of_client(Arc::clone(shared), peer, &message)?;
    let outcome = match poll.handle(message) {
        Ok(()) => poll.answered(hold, ending).await,
        Err(status) => Err(status.into()),
    };
    let json = outcome.map_err(|failure| Failure { node: poll.client().id.clone(), ..failure })?;
    Ok(json.map(|json| Bytes::from_owner(Unread { json, _opened: opened, _slot: poll.over() })))
}

/// An answer that the HTTP library still has some of: it counts as the poll did.
struct Unread {
    json: Bytes,
    _opened: Opened,
    _slot: Option<NodeSlot>,
}

impl AsRef<[u8]> for Unread {
    fn as_ref(&self) -> &[u8] {
        &self.json
    }
}

fn respond(status: StatusCode, body: Bytes) -> Answer {
    let is_empty = body.is_empty();
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    if !is_empty {
        let json = HeaderValue::from_static("application/json");
        answer.headers_mut().insert(header::CONTENT_TYPE, json);
    }
    answer
}

fn type_of(path: &str) -> Result<TypeUrl, Failure> {
    rest::kind_at(path).and_then(TypeUrl::of_kind).ok_or_else(|| {
        let paths: Vec<_> = rest::paths().collect();
        Failure::invalid(format!("{path}: no such resource type; there are {}", paths.join(", ")))
    })
}

fn late(limit: Duration) -> Failure {
    let message = format!("the request has not arrived within {limit:?}");
    Failure::new(StatusCode::REQUEST_TIMEOUT, Code::DeadlineExceeded, message)
}

async fn read<B>(body: B, limit: usize, mut kept: Partial) -> Result<Bytes, Failure>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = pin!(Limited::new(body, limit));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                let message = format!("the request is over the limit of {limit} bytes");
                return Failure::new(StatusCode::PAYLOAD_TOO_LARGE, Code::ResourceExhausted, message);
            }
            Failure::invalid(format!("the request cannot be read: {error}"))
        })?;
        let data = frame.into_data().unwrap_or_default();
        kept.room(data.len(), usize::MAX / 2)?.extend_from_slice(&data);
    }
    Ok(kept.finish())
}

fn parse(body: &[u8], type_url: &TypeUrl, path: &str, limits: &Limits) -> Result<DiscoveryRequest, Failure> {
    let request = request_from_json(body).map_err(|error| Failure::invalid(error.to_string()))?;
    let stated = &request.type_url;
    limits.check_text(&"$.type_url", stated)?;
    if !stated.is_empty() && stated != type_url.as_str() {
        let message = format!("$.type_url: {stated:?} is not the type of {path}, which is {type_url}");
        return Err(Failure::invalid(message));
    }
    Ok(request)
}
