//! What clients rejected lately.

use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::page::{Page, Part};
use crate::problem::Problem;
use crate::query::Query;
use crate::{Shared, TAG};

/// A rejection.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Nack {
    /// Counts all rejections since the start.
    pub number: u64,
    /// When it came.
    #[serde(with = "crate::time")]
    #[schema(value_type = String)]
    pub at: SystemTime,
    /// The stream that it came on, as /clients has it while it is open; null where it was a poll.
    pub client: Option<u64>,
    /// The client's `node.id`.
    pub node: String,
    /// The client's `node.cluster`.
    pub cluster: String,
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    pub short_name: &'static str,
    /// The type's URL.
    pub type_url: String,
    /// The nonce of the response; null if it was not the newest one.
    pub nonce: Option<String>,
    /// The gRPC status code.
    pub code: i32,
    /// The client's error text, cut after 4 KiB.
    pub message: String,
}

/// The newest rejections, the newest first. The last 256 are remembered.
#[utoipa::path(
    get, path = "/nacks", tag = TAG,
    params(
        ("type" = Option<String>, Query, description = "Only of this type: cds, … or a type URL"),
        ("node" = Option<String>, Query, description = "Only of nodes whose id begins with this"),
        ("cluster" = Option<String>, Query, description = "Only of nodes of this cluster"),
        ("limit" = Option<usize>, Query, description = "How many at most: 1 to 100000; default 1000"),
        ("after" = Option<String>, Query, description = "The next of the page before"),
    ),
    responses((status = 200, body = Page<Nack>), (status = 400, body = Problem)),
)]
pub(crate) async fn nacks(State(instance): State<Shared>, mut query: Query) -> Result<Response, Problem> {
    let part = Part::of(&mut query)?;
    let (type_url, node, cluster) = (query.type_url()?, query.take("node")?, query.take("cluster")?);
    query.finish()?;
    let before = part.before_number()?;
    let wanted = move |nack: &Nack| {
        nack.number < before
            && type_url.as_ref().is_none_or(|wanted| *wanted.as_str() == nack.type_url)
            && node.as_ref().is_none_or(|prefix| nack.node.starts_with(prefix))
            && cluster.as_ref().is_none_or(|wanted| *wanted == nack.cluster)
    };
    let rows = instance.nacks().into_iter().filter(wanted).map(|nack| (nack.number.to_string(), nack));
    Ok(part.answer(rows))
}
