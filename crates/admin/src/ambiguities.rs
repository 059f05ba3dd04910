//! Where more than one variant was found to match, which TP2 leaves undefined.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use weir_database::Ambiguity;
use weir_database::introspect::Ambiguous;

use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::{Shared, TAG};

/// Two variants that match the same dynamic parameters.
#[derive(Serialize, ToSchema)]
pub(crate) struct Shown {
    /// Counts them since the start.
    number: u64,
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    short_name: &'static str,
    /// The type's URL.
    type_url: String,
    /// The name.
    name: String,
    /// The constraints of the one that is served.
    served: String,
    /// The constraints of the one that is not.
    ignored: String,
    /// Dynamic parameters of a client that both match.
    witness: BTreeMap<String, String>,
}

impl From<Ambiguous> for Shown {
    fn from(Ambiguous { number, type_url, ambiguity }: Ambiguous) -> Self {
        let Ambiguity { chosen, rival, witness } = ambiguity;
        Self {
            number,
            short_name: type_url.short_name(),
            type_url: type_url.to_string(),
            name: chosen.name.to_string(),
            served: chosen.constraints.to_string(),
            ignored: rival.constraints.to_string(),
            witness: witness.to_pairs(),
        }
    }
}

/// Pairs of variants that were found to match the same client, the newest first, while both are there. The last 256
/// are remembered.
#[utoipa::path(
    get, path = "/ambiguities", tag = TAG,
    params(
        ("type" = Option<String>, Query, description = "Only of this type: cds, … or a type URL"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; default 1000"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
    ),
    responses((status = 200, body = Page<Shown>), (status = 400, body = Problem)),
)]
pub(crate) async fn ambiguities(
    State(instance): State<Shared>,
    mut query: Query,
) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let type_url = query.type_url()?;
    query.finish()?;
    let before = part.before_number()?;
    let wanted = move |found: &Ambiguous| {
        found.number < before && type_url.as_ref().is_none_or(|wanted| *wanted == found.type_url)
    };
    let rows = instance.database().ambiguous().into_iter().filter(wanted);
    Ok(part.answer(rows.map(|found| (found.number.to_string(), Shown::from(found)))))
}
