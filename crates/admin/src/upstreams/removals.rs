//! Removals that were too many to be believed at once, and an operator who believes them.

use std::borrow::Cow;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use weir_types::TypeUrl;

use crate::problem::Problem;
use crate::query::Query;
use crate::{Shared, TAG, WithheldRemovals};

/// What is believed now.
#[derive(Serialize, ToSchema)]
pub(crate) struct Confirmed {
    /// The removals, by type.
    confirmed: Vec<Removals>,
}

/// Removals of a type.
#[derive(Serialize, ToSchema)]
struct Removals {
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    short_name: Cow<'static, str>,
    /// The type's URL.
    type_url: String,
    /// How many.
    removals: usize,
}

/// Believes the removals that a stream to a control plane withholds (`shrink_guard`): of one type, or of all.
#[utoipa::path(
    post, path = "/upstreams/{id}/confirm-removals", tag = TAG,
    params(
        ("id" = u64, Path, description = "The id of the stream, as /upstreams has it"),
        ("type" = Option<String>, Query, description = "Only of this type: cds, … or a type URL"),
    ),
    responses(
        (status = 200, body = Confirmed), (status = 400, body = Problem), (status = 404, body = Problem),
        (status = 409, body = Problem, description = "It withholds none"),
    ),
)]
pub(crate) async fn confirm_removals(
    State(instance): State<Shared>,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Json<Confirmed>, Problem> {
    let wanted = query.type_url()?;
    query.finish()?;
    let found = instance.upstreams().into_iter().find(|upstream| upstream.id.to_string() == id);
    let missing = || Problem::missing("id", &id, format!("no stream to a control plane has the id {id}"));
    let upstream = found.ok_or_else(missing)?;
    let withheld = upstream.withheld.into_iter();
    let of_type =
        withheld.filter(|held| wanted.as_ref().is_none_or(|wanted| wanted.as_str() == held.type_url));
    let believed =
        of_type.filter(|held| instance.confirm_removals(upstream.id, &TypeUrl::new(&*held.type_url)));
    let confirmed: Vec<_> = believed
        .map(|WithheldRemovals { short_name, type_url, removals, .. }| Removals {
            short_name,
            type_url,
            removals,
        })
        .collect();
    if confirmed.is_empty() {
        let of_type = wanted.map(|wanted| format!(" of {}", wanted.short_name())).unwrap_or_default();
        let detail = format!("the stream {id} withholds no removals{of_type}");
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    }
    Ok(Json(Confirmed { confirmed }))
}
