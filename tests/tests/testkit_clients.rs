//! The real clients straight behind the fake control plane: what goes wrong here is not Weir's fault.

use std::net::SocketAddr;

use serde_json::json;
use weir_testkit::client::DIALECTS;
use weir_testkit::process::{Backend, Caller, Envoy, EnvoyOptions, GrpcServers, Load, free_port};
use weir_testkit::resources::{
    api_listener, assignment, eds_cluster, grpc_routes, listener, published, routes,
};
use weir_testkit::{FakeControlPlane, type_url};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_serves_what_the_control_plane_states() {
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    for dialect in DIALECTS {
        let port = free_port();
        let control_plane = FakeControlPlane::start().await;
        control_plane.set_all(
            [eds_cluster("c"), assignment("c", &[one.address()]), listener("l", port, "r"), routes("r", "c")]
                .iter()
                .map(published),
        );
        let options = EnvoyOptions::new(dialect, "envoy").metadata("env", "prod");
        let mut envoy = Envoy::start(control_plane.address(), &options);
        envoy.live().await;
        let load = Load::start(SocketAddr::from(([127, 0, 0, 1], port)));
        load.wait_for("one").await;
        control_plane.set(published(&assignment("c", &[two.address()])));
        load.wait_for("two").await;
        load.finish();
        let first = control_plane.wait_for_request("CDS", |r| r.type_url == type_url("cds")).await;
        assert!((50_000..80_000).contains(&first.node_bytes), "{}", first.node_bytes);
        assert_eq!(envoy.stat("cluster_manager.warming_clusters").await, Some(0));
        assert!(envoy.config_dump().await.to_string().contains("dynamic_active_clusters"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grpc_python_calls_whom_the_control_plane_states() {
    let servers = GrpcServers::start(&["one", "two"]).await;
    let control_plane = FakeControlPlane::start().await;
    control_plane.set_all(
        [
            api_listener("svc", "r"),
            grpc_routes("r", "c"),
            eds_cluster("c"),
            assignment("c", &[servers.address("one")]),
        ]
        .iter()
        .map(published),
    );
    let client = Caller::grpc_python(control_plane.address(), "svc", "python", &json!({ "env": "prod" }));
    client.wait_for("one").await;
    control_plane.set(published(&assignment("c", &[servers.address("two")])));
    client.wait_for("two").await;
    client.finish();
}
