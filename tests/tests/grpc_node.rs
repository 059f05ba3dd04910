//! gRPC-Node clients that find their servers through Weir.

mod support;

use serde_json::json;
use support::{Bed, Source, for_all};
use weir_testkit::process::{Caller, GrpcServers};
use weir_testkit::resources::{assignment, eds_cluster, grpc_path};

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

        // A route moves to another cluster, and the old one goes once nobody is sent there: gRPC loses calls where that is
        // one step (docs/compatibility.md).
        let moved = grpc_path("d", servers.address("three"));
        let old = [eds_cluster("c"), assignment("c", &[servers.address("two")])];
        bed.set(&for_all(moved.iter().cloned().chain(old)));
        client.wait_for("three").await;
        bed.set(&for_all(moved));
        client.wait_for_more(20).await;
        client.finish();
        bed.expect_only_its_dialect();
    }
}
