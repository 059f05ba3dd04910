//! How long the newest changes took to reach the clients.

use std::time::{Duration, SystemTime};

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use weir_types::TypeUrl;

use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::time::{rfc3339, seconds};
use crate::{Shared, TAG};

/// A change that was followed to the clients that it concerns.
#[derive(Clone, Debug)]
pub struct Propagated {
    /// Counts all that were followed since the start.
    pub number: u64,
    /// When the response of the control plane came.
    pub at: SystemTime,
    /// The authority of the control plane.
    pub authority: String,
    /// The type.
    pub type_url: TypeUrl,
    /// How many streams it concerned.
    pub streams: usize,
    /// How long it took to the last answer.
    pub took: Duration,
    /// What became of it: `accepted`, `rejected`, `late`.
    pub outcome: &'static str,
}

/// A change that was followed to the clients that it concerns.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Propagated)]
pub(crate) struct Shown {
    /// Counts all that were followed since the start.
    number: u64,
    /// When the response of the control plane came.
    at: String,
    /// The authority of the control plane; empty for names without one.
    authority: String,
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    short_name: &'static str,
    /// The type's URL.
    type_url: String,
    /// How many streams it concerned.
    streams: usize,
    /// How long it took until the last of them had answered, in seconds.
    seconds: f64,
    /// `accepted`, `rejected` by at least one of them, or `late`: not all of them have answered in time.
    outcome: &'static str,
}

impl From<Propagated> for Shown {
    fn from(change: Propagated) -> Self {
        Self {
            number: change.number,
            at: rfc3339(change.at),
            authority: change.authority,
            short_name: change.type_url.short_name(),
            type_url: change.type_url.to_string(),
            streams: change.streams,
            seconds: seconds(change.took),
            outcome: change.outcome,
        }
    }
}

/// What changes are allowed to be filtered by.
const OUTCOMES: [&str; 3] = ["accepted", "rejected", "late"];

/// How long the newest changes took to reach the clients, the newest first: of each type at most one a second, and
/// those that are traced. The last 256 are remembered.
#[utoipa::path(
    get, path = "/propagation", tag = TAG,
    params(
        ("type" = Option<String>, Query, description = "Only of this type: cds, … or a type URL"),
        ("authority" = Option<String>, Query, description = "Only of this authority"),
        ("outcome" = Option<String>, Query, description = "Only with this outcome: accepted, rejected, late"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; default 1000"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
    ),
    responses((status = 200, body = Page<Shown>), (status = 400, body = Problem)),
)]
pub(crate) async fn propagation(
    State(instance): State<Shared>,
    mut query: Query,
) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let (type_url, authority) = (query.type_url()?, query.take("authority")?);
    let outcome = query.one_of("outcome", &OUTCOMES)?;
    query.finish()?;
    let before = part.before_number()?;
    let wanted = move |change: &Propagated| {
        change.number < before
            && type_url.as_ref().is_none_or(|wanted| *wanted == change.type_url)
            && authority.as_ref().is_none_or(|wanted| *wanted == change.authority)
            && outcome.is_none_or(|wanted| wanted == change.outcome)
    };
    let rows = instance.propagated().into_iter().filter(wanted);
    Ok(part.answer(rows.map(|change| (change.number.to_string(), Shown::from(change)))))
}
