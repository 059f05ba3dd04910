//! What operators see of a running Weir with a control plane above and clients below, of which one rejects.

mod commands;
mod compared;
mod config;
mod events;
mod grpc;
mod http;
mod obstacles;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
mod verbs;

use support::{Bed, Source, for_all};
use weir_testkit::resources::static_cluster;
use weir_testkit::{XdsClient, node};

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

/// A Weir with one cluster, a client that has accepted it, and one that has rejected it.
async fn one_accepts_and_one_rejects() -> (Bed, XdsClient, XdsClient) {
    let bed = Bed::start(Source::Native("ads-delta"), &for_all([static_cluster("backend", &[])])).await;
    let who =
        node("web-1").cluster("web").metadata("env", "prod").locality("eu", "eu-a", "").user_agent("envoy");
    let mut accepts = XdsClient::delta(bed.address(), &who).await;
    accepts.subscribe(CDS, &["backend"]);
    accepts.accept(CDS).await;
    let mut rejects = XdsClient::sotw(bed.address(), &node("web-2").cluster("web")).await;
    rejects.subscribe(CDS, &[]);
    let received = rejects.receive_type(CDS).await;
    rejects.nack(&received, "no such thing here");
    (bed, accepts, rejects)
}
