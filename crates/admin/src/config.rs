//! The configuration that is in force.

use std::time::SystemTime;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::query::Query;
use crate::{Shared, TAG};

/// The configuration that is in force. Secrets are never in it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Configuration {
    /// Where it stands.
    pub file: String,
    /// When the file was taken over last.
    #[serde(with = "crate::time")]
    #[schema(value_type = String)]
    pub loaded: SystemTime,
    /// The last time that the file was read again; null if it was not.
    pub last_reload: Option<Reload>,
    /// The keys that were changed in the file and wait for a restart.
    pub waiting_for_restart: Vec<String>,
    /// Every key with its value, also where that is a default.
    pub effective: Value,
}

/// What became of the file when it was read again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Reload {
    /// When.
    #[serde(with = "crate::time")]
    #[schema(value_type = String)]
    pub at: SystemTime,
    /// Whether it was taken over. If not, what was in force still is.
    pub applied: bool,
    /// The keys that have changed and count now.
    pub changed: Vec<String>,
    /// Why it was not taken over.
    pub error: Option<String>,
}

/// The configuration that is in force, with every default and without secrets, and what became of the file when it was
/// read last. With `format=toml` the configuration alone, as a file.
#[utoipa::path(
    get, path = "/config", tag = TAG,
    params(("format" = Option<String>, Query, description = "json, or toml: the configuration alone, as a file")),
    responses(
        (status = 200, body = Configuration), (status = 400, body = Problem),
        (status = 500, body = Problem, description = "A path in it is not UTF-8"),
    ),
)]
pub(crate) async fn config(State(instance): State<Shared>, mut query: Query) -> Result<Response, Problem> {
    let format = query.one_of("format", &["json", "toml"])?;
    query.finish()?;
    let failed = |reason| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, reason);
    if format == Some("toml") {
        let text = instance.configuration_file().map_err(failed)?;
        return Ok(([(header::CONTENT_TYPE, "application/toml; charset=utf-8")], text).into_response());
    }
    Ok(Json(instance.configuration().map_err(failed)?).into_response())
}
