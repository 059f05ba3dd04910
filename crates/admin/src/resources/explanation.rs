//! Which variant of a name somebody gets, and why.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;
use weir_database::Database;
use weir_database::explain::{self, Mismatch, OverlapPair, Overlaps};
use weir_database::introspect::HeldVariant;
use weir_types::{DynamicParameters, Name, TypeUrl};

use super::model::{AskedResource, ResourceVariant};
use super::type_in_path;
use crate::blocking::{Caller, run_blocking_for};
use crate::clients::obstacle_of;
use crate::page::Part;
use crate::problem::Problem;
use crate::query::Query;
use crate::unavailable::DENIED;
use crate::{Shared, TAG};

/// How much the comparisons for a page may cost: see [`Overlaps::work`].
const WORK: usize = 4_000_000;

/// How many bytes of constraints there are on a page, about.
const BYTES: usize = 1 << 20;

/// Why somebody who asks for a name gets what they get.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// Their dynamic parameters.
    parameters: BTreeMap<String, String>,
    /// `served`; `nothing-matches`; `not-held`: there is no variant of the name here; `unanswered`: the control plane has
    /// not answered yet; `timed-out`: the control plane did not answer in time; `denied`: the access rules do not give it to
    /// the client; `over-limit`: the client asks for more than may be asked of a control plane.
    outcome: &'static str,
    /// The subscriptions to the name with these parameters; null if there is none.
    asked: Option<AskedResource>,
    /// What they get.
    chosen: Option<ResourceVariant>,
    /// What matches too, but is less preferred: it came for somebody else, is constrained by fewer keys, or is later
    /// in canonical order.
    rivals: Vec<ResourceVariant>,
    /// What does not match, and why.
    mismatches: Vec<Unfit>,
    /// What would be here if its time to live were not over.
    expired: Vec<ResourceVariant>,
    /// Pairs that can match the same client, so that which of them it gets is Weir's choice.
    overlaps: Vec<Overlapping>,
    /// What to pass as `after` for more of `rivals`, `mismatches`, `expired` and `overlaps`; null at the end. The rest is the
    /// same on each page.
    next: Option<String>,
}

/// A variant that does not match.
#[derive(Debug, Serialize, ToSchema)]
struct Unfit {
    /// Which one.
    variant: ResourceVariant,
    /// The first of its constraints that does not hold.
    requirement: String,
    /// Their parameters for the keys of that constraint; null where they have none.
    given: BTreeMap<String, Option<String>>,
}

/// Two variants that can match the same client.
#[derive(Debug, Serialize, ToSchema)]
struct Overlapping {
    /// The constraints of the two.
    pair: [String; 2],
    /// Dynamic parameters that both match; null where the constraints are too large to decide whether there are any.
    witness: Option<BTreeMap<String, String>>,
}

impl Unfit {
    fn of(variant: ResourceVariant, mismatch: Mismatch<'_, HeldVariant>) -> Self {
        let given = mismatch.given.into_iter().map(|(key, value)| (key.to_string(), value));
        Self { variant, requirement: mismatch.requirement, given: given.collect() }
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
        ("limit" = Option<usize>, Query, description = "How many variants and overlaps at most: 1 to 100000; the default is 1000"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
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
    let part = Part::of(&mut query)?;
    let cursor = part.after.as_deref().map_or(Ok(Cursor::default()), Cursor::parse)?;
    query.finish()?;
    if let (Some(id), Some(_)) = (id, &sent) {
        return Err(Problem::invalid("client", &id.to_string(), "it cannot be combined with param"));
    }
    let explained = run_blocking_for(move |caller| {
        let (parameters, obstacle) = match id {
            None => (sent.unwrap_or_default(), None),
            Some(id) => asking(&instance, id, &type_url, &name)?,
        };
        let database = instance.database();
        let held = database.answering(&type_url, &name);
        let mut explained = Answer { limit: part.limit, cursor, caller }.explain(&held, &parameters);
        explained.asked = asked(&database, &type_url, name, &parameters);
        if let Some(outcome) = explained.awaited() {
            explained.outcome = outcome;
        }
        if let Some(obstacle) = obstacle {
            (explained.outcome, explained.chosen) = (obstacle, None);
        }
        Ok(Json(explained))
    });
    explained.await?
}

/// The subscriptions to `name` with `parameters`.
fn asked(
    database: &Database,
    type_url: &TypeUrl,
    name: Name,
    parameters: &DynamicParameters,
) -> Option<AskedResource> {
    let described = database.describe(type_url, &[name]);
    let mut asked = described.into_iter().flat_map(|resource| resource.asked);
    asked.find(|asked| asked.parameters == *parameters).map(AskedResource::of)
}

impl Explanation {
    /// The outcome where upstream has yet to answer, or did not in time. A resource that expired was answered once.
    fn awaited(&self) -> Option<&'static str> {
        if self.chosen.is_some() || !self.expired.is_empty() {
            return None;
        }
        match self.asked.as_ref()?.absence.as_deref()? {
            "unknown" => Some("unanswered"),
            "timed-out" => Some("timed-out"),
            _ => None,
        }
    }
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
    Ok((client.parameters.of(name).clone(), obstacle))
}

/// Why a client is not given a name that it is subscribed to.
fn barred(instance: &Shared, id: u64, type_url: &TypeUrl, name: &Name) -> Option<&'static str> {
    let views = instance.client_views(id)?;
    let (_, subscription) = views.into_iter().find(|(of_type, _)| of_type == type_url)?;
    instance.database().barred(type_url, subscription, name).map(|why| obstacle_of(&why))
}

/// Where a page begins: at which of the variants that are not served, and at which pair of all.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    variant: usize,
    pair: Option<[usize; 2]>,
}

impl Cursor {
    /// `7`, or `7.0.12`: no variants are compared any more where there is no pair.
    fn parse(text: &str) -> Result<Self, Problem> {
        let numbers: Result<Vec<usize>, _> = text.split('.').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[variant]) => Ok(Self { variant, pair: None }),
            Ok(&[variant, left, right]) => Ok(Self { variant, pair: Some([left, right]) }),
            _ => Err(Problem::invalid("after", text, "it is the next of another page")),
        }
    }

    fn write(self) -> String {
        match self.pair {
            None => self.variant.to_string(),
            Some([left, right]) => format!("{}.{left}.{right}", self.variant),
        }
    }
}

/// What a page may hold, and for whom it is.
struct Answer<'a> {
    limit: usize,
    cursor: Cursor,
    caller: &'a Caller,
}

impl Answer<'_> {
    fn explain(&self, held: &[HeldVariant], parameters: &DynamicParameters) -> Explanation {
        let (expired, live): (Vec<_>, Vec<_>) = held.iter().partition(|held| held.expired);
        let mut found = explain::explain(&live, parameters);
        let outcome = match (found.chosen, held.is_empty()) {
            (Some(_), _) => "served",
            (None, false) => "nothing-matches",
            (None, true) => "not-held",
        };
        let mut page = Explanation {
            parameters: parameters.to_pairs(),
            outcome,
            asked: None,
            chosen: found.chosen.map(ResourceVariant::of),
            rivals: Vec::new(),
            mismatches: Vec::new(),
            expired: Vec::new(),
            overlaps: Vec::new(),
            next: None,
        };
        let variant = self.add_variants(&mut page, [&found.rivals, &found.mismatches, &expired], parameters);
        let pair = self.add_overlaps(&mut page, &mut found.overlaps);
        let all = found.rivals.len() + found.mismatches.len() + expired.len();
        let whole = variant >= all && pair.is_none();
        page.next = (!whole).then(|| Cursor { variant, pair }.write());
        page
    }

    /// How many variants there are on this page and those before it.
    fn add_variants(
        &self,
        page: &mut Explanation,
        [rivals, mismatches, expired]: [&[&HeldVariant]; 3],
        parameters: &DynamicParameters,
    ) -> usize {
        let (mut bytes, mut at) = (0, self.cursor.variant);
        let all = rivals.iter().chain(mismatches).chain(expired).copied().enumerate();
        for (place, held) in all.skip(self.cursor.variant).take(self.limit) {
            if bytes > BYTES {
                break;
            }
            at = place + 1;
            let variant = ResourceVariant::of(held);
            bytes += variant.constraints.len();
            if place < rivals.len() {
                page.rivals.push(variant);
            } else if place < rivals.len() + mismatches.len() {
                let unfit = Mismatch::of(held, parameters).map(|mismatch| Unfit::of(variant, mismatch));
                page.mismatches.extend(unfit);
            } else {
                page.expired.push(variant);
            }
        }
        at
    }

    /// The pair with which the next page begins; none where all are compared.
    fn add_overlaps(
        &self,
        page: &mut Explanation,
        overlaps: &mut Overlaps<'_, HeldVariant>,
    ) -> Option<[usize; 2]> {
        match self.cursor.pair {
            Some(pair) => overlaps.continue_at(pair),
            None if self.cursor.variant > 0 => return None,
            None => {}
        }
        let mut bytes = 0;
        while page.overlaps.len() < self.limit
            && bytes < BYTES
            && overlaps.work() < WORK
            && !self.caller.is_gone()
        {
            let found = overlaps.next()?;
            let found = found.as_ref().map(Overlapping::of);
            bytes += found.iter().flat_map(|found| &found.pair).map(String::len).sum::<usize>();
            page.overlaps.extend(found);
        }
        overlaps.place()
    }
}
