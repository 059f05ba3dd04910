//! Where resources come from, and how that is going.

mod removals;

use std::collections::BTreeMap;
use std::time::SystemTime;

use axum::extract::State as Extract;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use weir_types::{DynamicParameters, Name, TypeUrl};

use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::time::{rfc3339, seconds_since};
use crate::{Shared, TAG};

pub(crate) use removals::{__path_confirm_removals, confirm_removals};

/// How a stream to a control plane, or a set of files, is doing.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Never given twice; the larger is the younger.
    pub id: u64,
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
    /// How many things are wrong with files now; `last_error` has the first.
    pub problems: usize,
    /// How many resources of each type are served from the store, and not vouched for since.
    pub unconfirmed: Vec<(TypeUrl, usize)>,
    /// The removals that wait to be confirmed, by type.
    pub withheld: Vec<WithheldRemovals>,
}

/// Removals of one type that are too many to be believed at first sight.
#[derive(Clone, Debug)]
pub struct WithheldRemovals {
    /// The type.
    pub type_url: TypeUrl,
    /// How many.
    pub count: usize,
    /// Of how many that the stream held.
    pub of: usize,
    /// The first names of these.
    pub names: Vec<Name>,
    /// When the last of them were withheld.
    pub since: SystemTime,
}

/// Whether a stream to a control plane is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = UpstreamState)]
pub(crate) enum State {
    /// It is connected, and everything that was asked for is answered.
    InSync,
    /// It is connected, and something is not answered yet.
    Syncing,
    /// It is not connected.
    Disconnected,
}

impl State {
    const ALL: [Self; 3] = [Self::InSync, Self::Syncing, Self::Disconnected];

    fn as_str(self) -> &'static str {
        match self {
            Self::InSync => "in-sync",
            Self::Syncing => "syncing",
            Self::Disconnected => "disconnected",
        }
    }
}

impl Upstream {
    pub(crate) fn state(&self) -> State {
        match (&self.endpoint, self.in_sync) {
            (None, _) => State::Disconnected,
            (Some(_), false) => State::Syncing,
            (Some(_), true) => State::InSync,
        }
    }
}

/// How a stream to a control plane, or a set of files, is doing.
#[derive(Serialize, ToSchema)]
#[schema(as = Upstream)]
pub(crate) struct Shown {
    /// Never given twice; the larger is the younger.
    id: u64,
    /// The authority that it is for; empty for names without one.
    authority: String,
    /// `in-sync`, `syncing` (connected, and something is not answered yet) or `disconnected`.
    state: State,
    /// The dynamic parameters that it is for; null where one stream serves all.
    parameters: Option<BTreeMap<String, String>>,
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
    /// How many things are wrong with files now; `last_error` has the first.
    problems: usize,
    /// Of which types how many resources are served from the store, and not vouched for since.
    unconfirmed: Vec<Unconfirmed>,
    /// The removals that are too many to be believed at once, and wait to be confirmed.
    withheld: Vec<Withheld>,
}

/// Resources of a type that are served from the store.
#[derive(Serialize, ToSchema)]
struct Unconfirmed {
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    short_name: &'static str,
    /// The type's URL.
    type_url: String,
    /// How many.
    resources: usize,
}

/// Removals of a type that wait to be confirmed.
#[derive(Serialize, ToSchema)]
struct Withheld {
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    short_name: &'static str,
    /// The type's URL.
    type_url: String,
    /// How many.
    removals: usize,
    /// Of how many resources that the stream held.
    of: usize,
    /// The first names of those that would be removed.
    names: Vec<String>,
    /// When the last of them were withheld.
    since: String,
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
        let state = upstream.state();
        Self {
            id: upstream.id,
            authority: upstream.authority,
            state,
            parameters: upstream.parameters.as_ref().map(DynamicParameters::to_pairs),
            carries: upstream.carries,
            endpoint: upstream.endpoint,
            since: rfc3339(upstream.since),
            age_seconds: seconds_since(upstream.since),
            last_error: upstream.last_error.map(|(message, at)| LastError { at: rfc3339(at), message }),
            problems: upstream.problems,
            unconfirmed: upstream.unconfirmed.into_iter().map(Unconfirmed::from).collect(),
            withheld: upstream.withheld.into_iter().map(Withheld::from).collect(),
        }
    }
}

impl From<(TypeUrl, usize)> for Unconfirmed {
    fn from((type_url, resources): (TypeUrl, usize)) -> Self {
        Self { short_name: type_url.short_name(), type_url: type_url.to_string(), resources }
    }
}

impl From<WithheldRemovals> for Withheld {
    fn from(withheld: WithheldRemovals) -> Self {
        Self {
            short_name: withheld.type_url.short_name(),
            type_url: withheld.type_url.to_string(),
            removals: withheld.count,
            of: withheld.of,
            names: withheld.names.iter().map(ToString::to_string).collect(),
            since: rfc3339(withheld.since),
        }
    }
}

/// The streams to control planes, and the files; by age.
#[utoipa::path(
    get, path = "/upstreams", tag = TAG,
    params(
        ("authority" = Option<String>, Query, description = "Only of this authority"),
        ("state" = Option<String>, Query, description = "Only in this state: in-sync, syncing, disconnected"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; default 1000"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
    ),
    responses((status = 200, body = Page<Shown>), (status = 400, body = Problem)),
)]
pub(crate) async fn upstreams(
    Extract(instance): Extract<Shared>,
    mut query: Query,
) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let authority = query.take("authority")?;
    let state = query.one_of("state", &State::ALL.map(State::as_str))?;
    query.finish()?;
    let after = part.after_number()?;
    let wanted = move |shown: &Shown| {
        shown.id > after
            && authority.as_ref().is_none_or(|wanted| *wanted == shown.authority)
            && state.is_none_or(|wanted| wanted == shown.state.as_str())
    };
    let rows = instance.upstreams().into_iter().map(Shown::from).filter(wanted);
    Ok(part.answer(rows.map(|shown| (shown.id.to_string(), shown))))
}
