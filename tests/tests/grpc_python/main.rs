//! gRPC-Python clients that find their servers through Weir.

mod bootstrap;
mod changes;
mod errors;
mod fallback;
#[path = "../support/mod.rs"]
mod support;

use serde_json::json;
use support::{Bed, SOURCES, for_all};
use weir_testkit::process::{Caller, GrpcServers};
use weir_testkit::resources::{api_listener, assignment, eds_cluster, grpc_path, grpc_routes};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rpcs_flow_and_follow_without_a_failure() {
    let servers = GrpcServers::start(&["one", "two", "three"]).await;
    for source in SOURCES {
        let mut bed = Bed::start(source, &for_all(grpc_path("c", servers.address("one")))).await;
        let client = Caller::grpc_python(bed.address(), "svc", "python", &json!({ "env": "prod" }));
        client.wait_for("one").await;

        bed.set(&for_all(grpc_path("c", servers.address("two"))));
        client.wait_for("two").await;

        // A route moves to another cluster, and the old one goes, in one step.
        bed.set(&for_all(grpc_path("d", servers.address("three"))));
        client.wait_for("three").await;

        bed.weir.kill().await;
        client.wait_for_more(20).await;
        bed.weir.restart().await;
        bed.set(&for_all(grpc_path("d", servers.address("one"))));
        client.wait_for("one").await;
        client.finish();
        bed.expect_only_its_dialect();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_clients_get_their_own_variants_of_the_same_names() {
    let servers = GrpcServers::start(&["prod", "test"]).await;
    for source in SOURCES {
        let mut items = for_all([api_listener("svc", "r"), grpc_routes("r", "c"), eds_cluster("c")]);
        items.push((Some("prod"), assignment("c", &[servers.address("prod")])));
        items.push((Some("test"), assignment("c", &[servers.address("test")])));
        let bed = Bed::start(source, &items).await;
        for env in ["prod", "test"] {
            let client = Caller::grpc_python(bed.address(), "svc", "python", &json!({ "env": env }));
            client.wait_for(env).await;
            assert_eq!(client.finish().bodies.len(), 1, "{source:?} {env}");
        }
    }
}
