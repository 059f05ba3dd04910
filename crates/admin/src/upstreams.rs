//! Where resources come from, and how that is going.

use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use weir_types::DynamicParameters;

use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::time::{rfc3339, seconds_since};
use crate::{Shared, TAG};

/// How a stream to a control plane, or a set of files, is doing.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// The authority that it is for; empty for names without one.
    pub authority: String,
    /// The parameter set that it is for; none where one stream serves all.
    pub parameters: Option<DynamicParameters>,
    /// What it carries.
    pub carries: String,
    /// Where it is connected to; for files, where they are.
    pub endpoint: Option<String>,
    /// Whether something is known of everything that was asked for on it.
    pub in_sync: bool,
    /// Since when it is connected, or not.
    pub since: SystemTime,
    /// The last thing that went wrong, and when; also when it is connected again.
    pub last_error: Option<(String, SystemTime)>,
}

/// How a stream to a control plane, or a set of files, is doing.
#[derive(Serialize, ToSchema)]
#[schema(as = Upstream)]
pub(crate) struct Shown {
    /// The authority that it is for; empty for names without one.
    authority: String,
    /// `in-sync`, `syncing` (connected, and something is not answered yet) or `disconnected`.
    state: &'static str,
    /// The dynamic parameters that it is for; null where one stream serves all.
    parameters: Option<Vec<(String, String)>>,
    /// What it carries.
    carries: String,
    /// Where it is connected to; for files, where they are.
    endpoint: Option<String>,
    /// Since when it is connected, or not.
    since: String,
    /// The same in seconds until now.
    age_seconds: f64,
    /// The last thing that went wrong; also when it is connected again.
    last_error: Option<LastError>,
}

/// Something that went wrong.
#[derive(Serialize, ToSchema)]
struct LastError {
    /// When.
    at: String,
    /// What.
    message: String,
}

impl From<Upstream> for Shown {
    fn from(upstream: Upstream) -> Self {
        let state = match (&upstream.endpoint, upstream.in_sync) {
            (None, _) => "disconnected",
            (Some(_), false) => "syncing",
            (Some(_), true) => "in-sync",
        };
        let pairs = |parameters: DynamicParameters| {
            parameters.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        Self {
            authority: upstream.authority,
            state,
            parameters: upstream.parameters.map(pairs),
            carries: upstream.carries,
            endpoint: upstream.endpoint,
            since: rfc3339(upstream.since),
            age_seconds: seconds_since(upstream.since),
            last_error: upstream.last_error.map(|(message, at)| LastError { at: rfc3339(at), message }),
        }
    }
}

/// The streams to control planes, and the files.
#[utoipa::path(
    get, path = "/upstreams", tag = TAG,
    params(
        ("authority" = Option<String>, Query, description = "Only of this authority"),
        ("state" = Option<String>, Query, description = "Only in this state: in-sync, syncing, disconnected"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; 1000 unless said"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
    ),
    responses((status = 200, body = Page<Shown>), (status = 400, body = Problem)),
)]
pub(crate) async fn upstreams(State(instance): State<Shared>, mut query: Query) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let authority = query.take("authority")?;
    let allowed = ["in-sync", "syncing", "disconnected"];
    let known = |text: &str| allowed.into_iter().find(|state| *state == text);
    let state = query.parse("state", &format!("allowed are {}", allowed.join(", ")), known)?;
    query.finish()?;
    let after = part.after_number()?;
    let rows = instance.upstreams().into_iter().zip(1..).filter(move |(_, number)| *number > after);
    let rows = rows.map(|(upstream, number): (_, u64)| (number.to_string(), Shown::from(upstream)));
    let wanted = move |(_, shown): &(String, Shown)| {
        authority.as_ref().is_none_or(|wanted| *wanted == shown.authority)
            && state.is_none_or(|wanted| wanted == shown.state)
    };
    Ok(part.answer(rows.filter(wanted)))
}
