//! Whether Weir is alive and ready, and what it counted.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::blocking::count;
use crate::{Shared, TAG};

/// Whether this is asked so often and answered so fast that it waits for nothing else.
pub(crate) fn has(path: &str) -> bool {
    ["/live", "/ready", "/metrics"].contains(&path)
}

/// Whether clients can be served.
#[derive(Serialize, ToSchema)]
pub(crate) struct Readiness {
    ready: bool,
    /// What is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pending: Vec<String>,
}

/// Whether the process answers at all.
#[utoipa::path(get, path = "/live", tag = TAG, responses((status = 200, body = String, description = "It does")))]
pub(crate) async fn live() -> &'static str {
    "live\n"
}

/// Whether clients can be served.
#[utoipa::path(
    get, path = "/ready", tag = TAG,
    responses(
        (status = 200, body = Readiness, description = "They can"),
        (status = 503, body = Readiness, description = "Not yet: what is missing"),
    ),
)]
pub(crate) async fn ready(State(instance): State<Shared>) -> Response {
    let pending = instance.pending();
    let ready = pending.is_empty();
    let code = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(Readiness { ready, pending })).into_response()
}

/// What was counted, in the text format of Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = TAG,
    responses((status = 200, body = String), (status = 500, body = String, description = "Why there are none")),
)]
pub(crate) async fn metrics(State(instance): State<Shared>) -> Response {
    // What there is of everything is counted.
    match count(move || instance.metrics()).await.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(reason) => (StatusCode::INTERNAL_SERVER_ERROR, reason + "\n").into_response(),
    }
}
