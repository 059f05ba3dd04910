//! What outlives the process.

use std::time::SystemTime;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::blocking::run_blocking;
use crate::problem::Problem;
use crate::time::rfc3339;
use crate::{Shared, TAG};

/// The last known good, on disk.
#[derive(Clone, Debug)]
pub struct Store {
    /// The file.
    pub path: String,
    /// What keeps it from being used now, if anything does.
    pub failure: Option<String>,
    /// How much of the file is in use, in bytes.
    pub size: u64,
    /// How much may be, in bytes.
    pub max_size: u64,
    /// How many rows are still to be written.
    pub pending: usize,
    /// When the last transaction was written, if any was.
    pub written: Option<SystemTime>,
    /// How many resources were not kept, since there was no room.
    pub refused: u64,
    /// How many rows could not be read.
    pub unreadable: u64,
    /// Whether secrets are written, encrypted.
    pub secrets: bool,
    /// The files that could not be used and were set aside.
    pub set_aside: Vec<String>,
}

/// The last known good, on disk.
#[derive(Serialize, ToSchema)]
#[schema(as = Store)]
pub(crate) struct Shown {
    /// The file.
    path: String,
    /// What keeps it from being used now; null if nothing does.
    failure: Option<String>,
    /// How much of the file is in use, in bytes.
    size: u64,
    /// How much may be, in bytes.
    max_size: u64,
    /// How many rows are still to be written.
    pending: usize,
    /// When the last transaction was written; null if none was.
    written: Option<String>,
    /// How many resources were not kept since the start, since there was no room.
    refused: u64,
    /// How many rows could not be read since the start.
    unreadable: u64,
    /// Whether secrets are written, encrypted.
    secrets: bool,
    /// The files that could not be used and were set aside.
    set_aside: Vec<String>,
    /// How many resources are served from it, and not vouched for by a control plane since.
    unconfirmed: usize,
}

/// The store.
#[utoipa::path(
    get, path = "/store", tag = TAG,
    responses((status = 200, body = Shown), (status = 404, body = Problem, description = "There is none")),
)]
pub(crate) async fn store(State(instance): State<Shared>) -> Result<Json<Shown>, Problem> {
    let unconfirmed = instance.upstreams().into_iter().flat_map(|upstream| upstream.unconfirmed);
    let unconfirmed = unconfirmed.map(|(_, count)| count).sum();
    // A directory is read.
    let looked = run_blocking(move || instance.store()).await?;
    let none = || Problem::new(StatusCode::NOT_FOUND, "the configuration has no [store]");
    let store = looked.ok_or_else(none)?;
    Ok(Json(Shown {
        path: store.path,
        failure: store.failure,
        size: store.size,
        max_size: store.max_size,
        pending: store.pending,
        written: store.written.map(rfc3339),
        refused: store.refused,
        unreadable: store.unreadable,
        secrets: store.secrets,
        set_aside: store.set_aside,
        unconfirmed,
    }))
}
