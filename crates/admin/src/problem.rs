//! Errors, as RFC 9457 has them.

use std::time::Duration;

use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::task::JoinError;
use utoipa::ToSchema;

/// Why a request was not answered (`application/problem+json`).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The HTTP status code.
    status: u16,
    /// What kind of problem it is: the words of the status code.
    title: &'static str,
    /// What is wrong, in words for people.
    detail: String,
    /// The parameter or the part of the path that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    field: Option<Box<str>>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    value: Option<Box<str>>,
    /// What it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    limit: Option<Box<str>>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        let detail = detail.into();
        Self { status: status.as_u16(), title, detail, field: None, value: None, limit: None }
    }

    /// A field that holds what it may not.
    pub(crate) fn invalid(field: &str, value: &str, limit: impl Into<String>) -> Self {
        let limit = limit.into();
        let detail = format!("{field}: {value:?} is not allowed; {limit}");
        let (field, value) = (Some(field.into()), Some(value.into()));
        Self { field, value, limit: Some(limit.into()), ..Self::new(StatusCode::BAD_REQUEST, detail) }
    }

    /// What is asked for is not there.
    pub(crate) fn missing(field: &str, value: &str, detail: impl Into<String>) -> Self {
        let (field, value) = (Some(field.into()), Some(value.into()));
        Self { field, value, ..Self::new(StatusCode::NOT_FOUND, detail) }
    }

    /// The request has not arrived in time.
    pub(crate) fn late(limit: Duration) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, format!("the request was not complete within {limit:?}"))
    }

    /// Too much is asked at once.
    pub(crate) fn busy(limit: usize) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("at most {limit} requests are answered at once"))
    }

    /// A transfer encoding that not everybody reads alike.
    pub(crate) fn encoded() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Transfer-Encoding must be exactly \"chunked\"")
    }

    /// There is no such path.
    pub(crate) fn nowhere(path: &str) -> Self {
        Self::missing("path", path, format!("there is no {path}; see /openapi.json"))
    }

    /// There is one, and not for this method.
    pub(crate) fn method(method: &Method, path: &str) -> Self {
        let (field, value) = (Some("method".into()), Some(method.as_str().into()));
        let detail = format!("{path} does not take {method}; see /openapi.json");
        Self { field, value, ..Self::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }
}

/// What was to answer has failed.
impl From<JoinError> for Problem {
    fn from(error: JoinError) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self).unwrap_or_default() + "\n";
        (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response()
    }
}
