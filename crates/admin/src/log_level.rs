//! How much is logged, and changing that.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::{Shared, TAG};

/// How much is logged.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct LogLevel {
    /// A level (`error`, `warn`, `info`, `debug`, `trace`, `off`), or directives (`info,weir_upstream=debug`).
    pub level: String,
    /// Who chose it: `configuration`, `environment`, `operator`.
    pub chosen_by: String,
}

/// How much is to be logged.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// As in the answer; null takes back what was asked for here.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    level: Option<String>,
}

/// How much is logged.
#[utoipa::path(get, path = "/log-level", tag = TAG, responses((status = 200, body = LogLevel)))]
pub(crate) async fn log_level(State(instance): State<Shared>) -> Json<LogLevel> {
    Json(instance.log_level())
}

/// Changes how much is logged, until the next call or the end of the process.
#[utoipa::path(
    put, path = "/log-level", tag = TAG,
    request_body = Wanted,
    responses((status = 200, body = LogLevel), (status = 400, body = Problem)),
)]
pub(crate) async fn set_log_level(
    State(instance): State<Shared>,
    body: Bytes,
) -> Result<Json<LogLevel>, Problem> {
    let wanted: Wanted = serde_json::from_slice(&body).map_err(|error| {
        let text = String::from_utf8_lossy(&body);
        Problem::invalid("body", &text, format!("it is an object like {{\"level\": \"debug\"}}: {error}"))
    })?;
    instance
        .set_log_level(wanted.level.as_deref())
        .map_err(|reason| Problem::invalid("level", wanted.level.as_deref().unwrap_or_default(), reason))?;
    Ok(Json(instance.log_level()))
}
