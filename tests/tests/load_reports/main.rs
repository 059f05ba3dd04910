//! Load reports of clients (LRS) on their way through Weir: q01.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends at the first thing that is not as it should be"
)]

#[path = "../support/mod.rs"]
mod support;

mod breaks;
mod clients;
mod limits;
mod relay;

use bytes::Bytes;
use prost::Message;
use weir_testkit::client::{Connection, Dialect};
use weir_testkit::node::NodeBuilder;
use weir_testkit::process::{Weir, WeirBuilder};
use weir_testkit::{FakeControlPlane, Published, XdsClient, node, type_url};

/// `LoadStatsRequest`, with statistics that nobody needs to understand.
#[derive(Clone, PartialEq, Message)]
struct Report {
    #[prost(bytes = "bytes", optional, tag = "1")]
    node: Option<Bytes>,
    #[prost(string, tag = "2")]
    statistics: String,
    #[prost(string, tag = "999")]
    unknown: String,
}

/// The first message of a client with this node.
fn first(node: &NodeBuilder) -> Bytes {
    let (statistics, unknown) = ("first".to_owned(), "of a later version".to_owned());
    Report { node: Some(node.encode()), statistics, unknown }.encode_to_vec().into()
}

/// A Weir that passes load reports on to this control plane, which is used with TP2 or by streams.
fn relay(control_plane: &FakeControlPlane, parameters: &str) -> WeirBuilder {
    let weir = Weir::builder().upstream(control_plane, "ads-delta", parameters);
    weir.section("load_reports = \"relay\"\nbackoff_base = \"10ms\"\nbackoff_max = \"100ms\"\n")
}

/// A client with an ADS stream, so that its control plane is connected: to the connection of that, load reports are added.
async fn discovers(
    weir: &Weir,
    control_plane: &FakeControlPlane,
    node: &NodeBuilder,
) -> (Connection, XdsClient) {
    control_plane.set(Published::text(type_url("cds"), "c", "1"));
    let connection = Connection::to(weir.address()).await;
    let mut client = connection.ads(Dialect::Delta, node);
    client.subscribe(type_url("cds"), &["c"]);
    client.accept(type_url("cds")).await;
    (connection, client)
}

/// One number of the metrics; none where there is no such line.
async fn metric(weir: &Weir, name: &str, label: &str) -> Option<f64> {
    let metrics = weir.admin("/metrics").await.body;
    let mut lines = metrics.lines().filter(|line| line.starts_with(name) && line.contains(label));
    lines.find_map(|line| line.rsplit(' ').next()?.parse().ok())
}

/// A node that nobody has to know.
fn reporter() -> NodeBuilder {
    node("reporter").metadata("zone", "a")
}
