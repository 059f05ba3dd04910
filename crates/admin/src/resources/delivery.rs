//! How far a change of a resource has come.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_types::{Commit, Fingerprint, Form, Name, TypeUrl, Variant};

use super::type_in_path;
use crate::blocking::run_blocking;
use crate::problem::Problem;
use crate::{Shared, TAG};

/// How many clients are named.
const NAMED: usize = 20;

/// How a stream stands with one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It has rejected it, or the response that it came in.
    Rejected,
    /// It was sent it, and has not answered.
    Unanswered,
    /// It was not sent it yet.
    Waiting,
    /// It has accepted it.
    Accepted,
}

impl Standing {
    /// As it is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Unanswered => "unanswered",
            Self::Waiting => "waiting",
            Self::Accepted => "accepted",
        }
    }
}

/// A stream that is subscribed to a resource.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// The id of the stream.
    pub client: u64,
    /// The id of its node.
    pub node: String,
    /// How it stands with the resource.
    pub state: Standing,
    /// When the newest response of the type left; null if none did, and while it waits.
    #[serde(with = "crate::time::optional")]
    #[schema(value_type = Option<String>)]
    pub sent: Option<SystemTime>,
    /// What it stated when it rejected something of the type last.
    pub message: Option<String>,
}

/// How far a resource has come to those who are subscribed to it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Progress)]
pub struct DeliveryProgress {
    /// The versions that they are given now, and the number of the commit that made each of them.
    pub versions: BTreeMap<String, u64>,
    /// How many streams are subscribed to it.
    pub streams: usize,
    /// How many of them have accepted what there is now.
    pub accepted: usize,
    /// How many were sent it, and have not answered.
    pub unanswered: usize,
    /// How many were not sent it yet.
    pub waiting: usize,
    /// How many have rejected it, or the response that it came in.
    pub rejected: usize,
    /// Those who have not accepted it: who rejects it first, then who has owed an answer for longest; 20 at most.
    pub open: Vec<Delivery>,
}

/// How far the newest version of a resource has come to those who are subscribed to it.
#[utoipa::path(
    get, path = "/resources/{type}/{name}/delivery", tag = TAG,
    params(
        ("type" = String, Path, description = "cds, …, or the name of the message: envoy.config.cluster.v3.Cluster"),
        ("name" = String, Path, description = "The name, with % before what is special in paths"),
    ),
    responses((status = 200, body = DeliveryProgress), (status = 400, body = Problem)),
)]
pub(crate) async fn delivery(
    State(instance): State<Shared>,
    Path((type_url, name)): Path<(String, String)>,
) -> Result<Json<DeliveryProgress>, Problem> {
    let type_url = type_in_path(&type_url)?;
    let name = Name::from(&*name);
    Ok(Json(run_blocking(move || progress(&instance, &type_url, &name)).await?))
}

/// Looks at every stream.
fn progress(instance: &Shared, type_url: &TypeUrl, name: &Name) -> DeliveryProgress {
    let showing = instance.database().showing(type_url, name);
    let changed =
        showing.iter().map(|(subscription, shown)| (*subscription, shown.as_ref().map(|shown| shown.1)));
    let deliveries = instance.deliveries(type_url, &changed.collect());
    DeliveryProgress::of(showing.into_values().flatten(), deliveries)
}

impl DeliveryProgress {
    fn of(shown: impl Iterator<Item = (Arc<Variant>, Commit)>, deliveries: Vec<Delivery>) -> Self {
        let mut versions = BTreeMap::new();
        for (variant, Commit(changed)) in shown {
            let newest = versions.entry(variant.version(Form::Plain).to_string()).or_default();
            *newest = changed.max(*newest);
        }
        let count = |state| deliveries.iter().filter(|delivery| delivery.state == state).count();
        let (accepted, unanswered) = (count(Standing::Accepted), count(Standing::Unanswered));
        let (waiting, rejected) = (count(Standing::Waiting), count(Standing::Rejected));
        let streams = deliveries.len();
        let mut open = deliveries;
        open.retain(|delivery| delivery.state != Standing::Accepted);
        open.sort_by_key(|delivery| (delivery.state, delivery.sent, delivery.client));
        open.truncate(NAMED);
        Self { versions, streams, accepted, unanswered, waiting, rejected, open }
    }
}

/// When what each subscription shows of a resource was committed; none where it shows nothing.
pub type Changed = HashMap<Fingerprint, Option<Commit>>;
