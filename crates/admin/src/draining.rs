//! The end of the program: whether clients are moved elsewhere, and beginning that.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Shared, TAG};

/// Whether clients are moved elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Draining {
    /// Whether they are. When the last of them has gone, the program ends.
    pub draining: bool,
    /// How many streams and polls are open.
    pub streams: usize,
    /// How long it takes from its beginning until the program ends, at most, in seconds.
    pub limit_seconds: f64,
}

/// Whether clients are moved elsewhere.
#[utoipa::path(get, path = "/drain", tag = TAG, responses((status = 200, body = Draining)))]
pub(crate) async fn draining(State(instance): State<Shared>) -> Json<Draining> {
    Json(instance.draining())
}

/// Moves clients elsewhere and ends the program after that, as SIGTERM does. Asking twice changes nothing.
#[utoipa::path(
    post, path = "/drain", tag = TAG,
    responses((status = 202, body = Draining, description = "It has begun, now or before")),
)]
pub(crate) async fn drain(State(instance): State<Shared>) -> (StatusCode, Json<Draining>) {
    instance.drain();
    (StatusCode::ACCEPTED, Json(instance.draining()))
}
