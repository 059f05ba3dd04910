//! What outlives the process.

use std::time::SystemTime;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::blocking::run_blocking;
use crate::problem::Problem;
use crate::{Shared, TAG};

/// The last known good, on disk.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Store {
    /// The file.
    pub path: String,
    /// What keeps it from being used now; null if nothing does.
    pub failure: Option<String>,
    /// How much of the file is in use, in bytes.
    pub size: u64,
    /// How much may be, in bytes.
    pub max_size: u64,
    /// How many rows are still to be written.
    pub pending: usize,
    /// When the last transaction was written; null if none was.
    #[serde(with = "crate::time::optional")]
    #[schema(value_type = Option<String>)]
    pub written: Option<SystemTime>,
    /// How many resources were not kept since the start, since there was no room.
    pub refused: u64,
    /// How many rows could not be read since the start.
    pub unreadable: u64,
    /// Whether secrets are written, encrypted.
    pub secrets: bool,
    /// The files that could not be used and were set aside.
    pub set_aside: Vec<String>,
    /// How many resources are served from it, and not vouched for by a control plane since.
    pub unconfirmed: usize,
}

/// The store.
#[utoipa::path(
    get, path = "/store", tag = TAG,
    responses((status = 200, body = Store), (status = 404, body = Problem, description = "There is none")),
)]
pub(crate) async fn store(State(instance): State<Shared>) -> Result<Json<Store>, Problem> {
    // A directory is read.
    let looked = run_blocking(move || instance.store()).await?;
    let none = || Problem::new(StatusCode::NOT_FOUND, "the configuration has no [store]");
    looked.map(Json).ok_or_else(none)
}
