//! Which variant of a name somebody gets, and why.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;
use weir_database::explain::{self, Mismatch, OverlapPair};
use weir_database::survey::HeldVariant;
use weir_types::{DynamicParameters, Name, TypeUrl};

use super::model::Variant;
use super::type_in_path;
use crate::apart::apart;
use crate::clients::obstacle_of;
use crate::lacking::DENIED;
use crate::problem::Problem;
use crate::query::Query;
use crate::{Shared, TAG};

/// Why somebody who asks for a name gets what they get.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// What they say about themselves.
    parameters: BTreeMap<String, String>,
    /// `served`; `nothing-matches`; `not-held`: there is no variant of the name here; `denied`: the access rules do not
    /// give it to the client; `over-limit`: the client asks for more than may be asked of a control plane.
    outcome: &'static str,
    /// What they get.
    chosen: Option<Variant>,
    /// What matches too, but is less preferred: it came for somebody else, is constrained by fewer keys, or is later
    /// in canonical order.
    rivals: Vec<Variant>,
    /// What does not match, and why.
    mismatches: Vec<Unfit>,
    /// What would be here if its time to live were not over.
    expired: Vec<Variant>,
    /// Pairs that can match the same client, so that which of them it gets is Weir's choice.
    overlaps: Vec<Overlapping>,
}

/// A variant that does not match.
#[derive(Debug, Serialize, ToSchema)]
struct Unfit {
    /// Which one.
    variant: Variant,
    /// The first of its constraints that does not hold.
    requirement: String,
    /// What they say about the keys of that constraint; null where they say nothing.
    given: BTreeMap<String, Option<String>>,
}

/// Two variants that can match the same client.
#[derive(Debug, Serialize, ToSchema)]
struct Overlapping {
    /// The constraints of the two.
    pair: [String; 2],
    /// Dynamic parameters that both match; null where the constraints are too large to tell whether there are any.
    witness: Option<BTreeMap<String, String>>,
}

impl Unfit {
    fn of(mismatch: &Mismatch<'_, HeldVariant>) -> Self {
        let given = mismatch.given.iter().map(|(key, value)| (key.to_string(), value.clone()));
        Self {
            variant: Variant::of(mismatch.resource),
            requirement: mismatch.requirement.clone(),
            given: given.collect(),
        }
    }
}

impl Overlapping {
    fn of(overlap: &OverlapPair<'_, HeldVariant>) -> Self {
        Self {
            pair: overlap.pair.map(|held| held.variant.key().constraints.to_string()),
            witness: overlap.witness.as_ref().map(DynamicParameters::to_pairs),
        }
    }
}

/// Which variant of a name somebody gets who asks for it by name, and why not another one.
#[utoipa::path(
    get, path = "/resources/{type}/{name}/explain", tag = TAG,
    params(
        ("type" = String, Path, description = "cds, …, or the name of the message: envoy.config.cluster.v3.Cluster"),
        ("name" = String, Path, description = "The name, or an alias"),
        ("param" = Vec<String>, Query, description = "A dynamic parameter, KEY=VALUE"),
        ("client" = Option<u64>, Query, description = "The id of a client, for its parameters in place of param"),
    ),
    responses(
        (status = 200, body = Explanation), (status = 400, body = Problem), (status = 404, body = Problem),
    ),
)]
pub(crate) async fn explain(
    State(instance): State<Shared>,
    Path((type_url, name)): Path<(String, String)>,
    mut query: Query,
) -> Result<Json<Explanation>, Problem> {
    let type_url = type_in_path(&type_url)?;
    let name = Name::from(name);
    let sent = query.parameters()?;
    let id = query.parse("client", "it is the id of a client", |text| text.parse::<u64>().ok())?;
    query.finish()?;
    if let (Some(id), Some(_)) = (id, &sent) {
        return Err(Problem::invalid("client", &id.to_string(), "it cannot be combined with param"));
    }
    let explained = apart(move || {
        let (parameters, obstacle) = match id {
            None => (sent.unwrap_or_default(), None),
            Some(id) => asking(&instance, id, &type_url, &name)?,
        };
        let held = instance.database().answering(&type_url, &name);
        let mut explained = explanation(&held, &parameters);
        if let Some(obstacle) = obstacle {
            (explained.outcome, explained.chosen) = (obstacle, None);
        }
        Ok(Json(explained))
    });
    explained.await?
}

/// How a client asks for what it asks for by plain name, and what keeps the name from it.
fn asking(
    instance: &Shared,
    id: u64,
    type_url: &TypeUrl,
    name: &Name,
) -> Result<(DynamicParameters, Option<&'static str>), Problem> {
    let missing = || Problem::missing("client", &id.to_string(), format!("no open stream has the id {id}"));
    let client = instance.client_sketch(id).ok_or_else(missing)?;
    let obstacle = match instance.client_may_have(id, type_url, name) {
        Some(false) => Some(DENIED),
        _ => barred(instance, id, type_url, name),
    };
    Ok((client.parameters, obstacle))
}

/// Why a client is not given a name that it is subscribed to.
fn barred(instance: &Shared, id: u64, type_url: &TypeUrl, name: &Name) -> Option<&'static str> {
    let views = instance.client_views(id)?;
    let (_, subscription) = views.into_iter().find(|(of_type, _)| of_type == type_url)?;
    instance.database().barred(type_url, subscription, name).map(|why| obstacle_of(&why))
}

fn explanation(held: &[HeldVariant], parameters: &DynamicParameters) -> Explanation {
    let (expired, live): (Vec<_>, Vec<_>) = held.iter().partition(|held| held.expired);
    let found = explain::explain(&live, parameters);
    let outcome = match (found.chosen, held.is_empty()) {
        (Some(_), _) => "served",
        (None, false) => "nothing-matches",
        (None, true) => "not-held",
    };
    Explanation {
        parameters: parameters.to_pairs(),
        outcome,
        chosen: found.chosen.map(Variant::of),
        rivals: found.rivals.into_iter().map(Variant::of).collect(),
        mismatches: found.mismatches.iter().map(Unfit::of).collect(),
        expired: expired.into_iter().map(Variant::of).collect(),
        overlaps: found.overlaps.iter().map(Overlapping::of).collect(),
    }
}
