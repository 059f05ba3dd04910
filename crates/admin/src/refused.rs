//! What clients asked for that control planes were not asked for.

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::{Shared, TAG};

/// Subscriptions that were refused by one limit.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Refused {
    /// The authority whose control plane is not asked; empty for names without one.
    pub authority: String,
    /// The limit, by its key in the configuration.
    pub limit: &'static str,
    /// How many, since the start.
    pub subscriptions: u64,
}

/// How many subscriptions of clients were refused since the start, since too much would be asked of a control plane; by
/// authority and limit.
#[utoipa::path(
    get, path = "/refused", tag = TAG,
    params(
        ("authority" = Option<String>, Query, description = "Only of this authority"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; default 1000"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
    ),
    responses((status = 200, body = Page<Refused>), (status = 400, body = Problem)),
)]
pub(crate) async fn refused(State(instance): State<Shared>, mut query: Query) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let authority = query.take("authority")?;
    query.finish()?;
    let after = part.after_number()?;
    let rows = instance.refused().into_iter().zip(1_u64..).filter(move |(refused, number)| {
        *number > after && authority.as_ref().is_none_or(|wanted| *wanted == refused.authority)
    });
    Ok(part.answer(rows.map(|(refused, number)| (number.to_string(), refused))))
}
