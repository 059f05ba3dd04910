//! gRPC-Node clients that find their servers through Weir.

mod support;

use serde_json::json;
use support::{Bed, Source, for_all};
use weir_testkit::process::{Caller, GrpcServers};
use weir_testkit::resources::grpc_path;

const SOURCES: [Source; 3] = [Source::Files, Source::Streams("ads-sotw"), Source::Streams("ads-delta")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d01_rpcs_flow_and_follow_without_a_failure() {
    let servers = GrpcServers::start(&["one", "two", "three"]).await;
    for source in SOURCES {
        let bed = Bed::start(source, &for_all(grpc_path("c", servers.address("one")))).await;
        let client = Caller::grpc_node(bed.address(), "svc", "node", &json!({ "env": "prod" }));
        client.wait_for("one").await;

        bed.set(&for_all(grpc_path("c", servers.address("two"))));
        client.wait_for("two").await;

        // A route moves to another cluster, and the old one goes, in one step.
        bed.set(&for_all(grpc_path("d", servers.address("three"))));
        client.wait_for("three").await;
        client.wait_for_more(20).await;
        client.finish();
        bed.expect_only_its_dialect();
    }
}
