//! How long the newest changes took to reach the clients.

use std::borrow::Cow;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::{Shared, TAG};

/// A change that was followed to the clients that it concerns.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Propagated {
    /// Counts all that were followed since the start.
    pub number: u64,
    /// When the response of the control plane came.
    #[serde(with = "crate::time")]
    #[schema(value_type = String)]
    pub at: SystemTime,
    /// The authority of the control plane; empty for names without one.
    pub authority: String,
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub short_name: Cow<'static, str>,
    /// The type's URL.
    pub type_url: String,
    /// How many streams it concerned.
    pub streams: usize,
    /// How long it took until the last of them had answered, in seconds.
    pub seconds: f64,
    /// `accepted`, `rejected` by at least one of them, or `late`: not all of them have answered in time.
    #[schema(value_type = String)]
    pub outcome: Cow<'static, str>,
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
    responses((status = 200, body = Page<Propagated>), (status = 400, body = Problem)),
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
            && type_url.as_ref().is_none_or(|wanted| wanted.as_str() == change.type_url)
            && authority.as_ref().is_none_or(|wanted| *wanted == change.authority)
            && outcome.is_none_or(|wanted| wanted == change.outcome)
    };
    let rows = instance.propagated().into_iter().filter(wanted);
    Ok(part.answer(rows.map(|change| (change.number.to_string(), change))))
}
