//! Where resources come from, and how that is going.

mod removals;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::{Node, Shared, TAG};

pub(crate) use removals::{__path_confirm_removals, confirm_removals};

/// How a stream to a control plane, or a set of files, is doing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Upstream {
    /// Never given twice; the larger is the younger.
    pub id: u64,
    /// The authority that it is for; empty for names without one.
    pub authority: String,
    /// `in-sync`, `syncing` (connected, and something is not answered yet) or `disconnected`.
    pub state: UpstreamState,
    /// The dynamic parameters that it is for; null where one stream serves all.
    pub parameters: Option<BTreeMap<String, String>>,
    /// The part of a client's node that is forwarded on it; null where none is.
    pub forwarded: Option<Node>,
    /// What headers of it are filled with, by placeholder; null where none are.
    pub header_values: Option<BTreeMap<String, String>>,
    /// What it carries.
    pub carries: String,
    /// Where it is connected to; for files, where they are.
    pub endpoint: Option<String>,
    /// The connection that it is on, which other streams may share; null where it is polled, or not connected.
    pub connection: Option<UpstreamConnection>,
    /// Since when it is connected, or not.
    #[serde(with = "crate::time")]
    #[schema(value_type = String)]
    pub since: SystemTime,
    /// The same in seconds until now.
    pub age_seconds: f64,
    /// The last thing that went wrong; also when it is connected again.
    pub last_error: Option<LastError>,
    /// How many things are wrong with files now; `last_error` has the first.
    pub problems: usize,
    /// Of which types how many resources are served from the store, and not vouched for since.
    pub unconfirmed: Vec<Unconfirmed>,
    /// The removals that are too many to be believed at once, and wait to be confirmed.
    pub withheld: Vec<WithheldRemovals>,
}

/// A connection to a control plane.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UpstreamConnection {
    /// Never given twice for one authority.
    pub id: u64,
    /// Where it goes to.
    #[schema(value_type = String)]
    pub address: SocketAddr,
}

/// Whether a stream to a control plane is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpstreamState {
    /// It is connected, and everything that was asked for is answered.
    InSync,
    /// It is connected, and something is not answered yet.
    Syncing,
    /// It is not connected.
    Disconnected,
}

impl UpstreamState {
    const ALL: [Self; 3] = [Self::InSync, Self::Syncing, Self::Disconnected];

    /// That of a stream that is connected, or not, and on which everything is answered, or not.
    pub fn of(is_connected: bool, in_sync: bool) -> Self {
        match (is_connected, in_sync) {
            (false, _) => Self::Disconnected,
            (true, false) => Self::Syncing,
            (true, true) => Self::InSync,
        }
    }

    /// As it is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InSync => "in-sync",
            Self::Syncing => "syncing",
            Self::Disconnected => "disconnected",
        }
    }
}

/// Resources of a type that are served from the store.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Unconfirmed {
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub short_name: Cow<'static, str>,
    /// The type's URL.
    pub type_url: String,
    /// How many.
    pub resources: usize,
}

/// Losses of a type that wait to be confirmed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Withheld)]
pub struct WithheldRemovals {
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub short_name: Cow<'static, str>,
    /// The type's URL.
    pub type_url: String,
    /// `removals`: resources; `endpoints`: assignments that would lose all endpoints.
    #[schema(value_type = String)]
    pub loss: Cow<'static, str>,
    /// How many.
    pub removals: usize,
    /// Of how many resources that the stream held.
    pub of: usize,
    /// The first names of these.
    pub names: Vec<String>,
    /// When the last of them were withheld.
    #[serde(with = "crate::time")]
    #[schema(value_type = String)]
    pub since: SystemTime,
}

/// Something that went wrong.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LastError {
    /// When.
    #[serde(with = "crate::time")]
    #[schema(value_type = String)]
    pub at: SystemTime,
    /// What.
    pub message: String,
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
    responses((status = 200, body = Page<Upstream>), (status = 400, body = Problem)),
)]
pub(crate) async fn upstreams(State(instance): State<Shared>, mut query: Query) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let authority = query.take("authority")?;
    let state = query.one_of("state", &UpstreamState::ALL.map(UpstreamState::as_str))?;
    query.finish()?;
    let after = part.after_number()?;
    let wanted = move |shown: &Upstream| {
        shown.id > after
            && authority.as_ref().is_none_or(|wanted| *wanted == shown.authority)
            && state.is_none_or(|wanted| wanted == shown.state.as_str())
    };
    let rows = instance.upstreams().into_iter().filter(wanted);
    Ok(part.answer(rows.map(|shown| (shown.id.to_string(), shown))))
}
