//! A control plane that takes all services for ones without endpoints, as one does whose registry is away.

use std::net::SocketAddr;

use serde_json::Value;
use weir_testkit::Dialect;
use weir_testkit::process::{Backend, Envoy, EnvoyOptions, Weir, free_port, http};
use weir_testkit::resources::{assignment, eds_cluster, listener, routes};
use weir_testkit::wait::until;

use super::control_planes::{ControlPlaneKind, Steered};
use super::lane::{Between, NodeKey};

const KIND: ControlPlaneKind = ControlPlaneKind::Go("snapshot-ads");
const SERVICES: usize = 20;
const GUARD: &str = "shrink_guard.endpoints = { confirm_after = \"1h\" }";

/// What leads to the first of the services, with these endpoints of each.
fn services(port: u16, endpoints: &[SocketAddr]) -> Vec<Value> {
    let mut all = vec![listener("l", port, "r"), routes("r", "c0")];
    for i in 0..SERVICES {
        let name = format!("c{i}");
        all.extend([eds_cluster(&name), assignment(&name, endpoints)]);
    }
    all
}

async fn get(port: u16) -> Option<http::Answer> {
    http::get(SocketAddr::from(([127, 0, 0, 1], port)), "/").await.ok()
}

async fn until_answered(port: u16, status: u16) {
    until(format!("an answer of {status}"), || async {
        get(port).await.filter(|answer| answer.status == status).map(drop)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u17_envoys_keep_the_endpoints_that_all_vanish_at_once() {
    if let Some(obstacle) = KIND.obstacle() {
        println!("skipped: {obstacle}");
        return;
    }
    let _alone = super::ALONE.lock().await;
    let backend = Backend::start("one").await;
    for (protocol, dialect) in [("ads-delta", Dialect::Sotw), ("ads-sotw", Dialect::Delta)] {
        println!("--- {protocol}");
        let port = free_port();
        let mut control_plane = Steered::launch(KIND, NodeKey::Id, Between::Weir).await;
        control_plane.put(&services(port, &[backend.address()])).await;
        control_plane.start().await;
        let weir = Weir::builder().upstream_at(control_plane.address(), protocol, "streams");
        let weir = weir.section(GUARD).start().await;
        let mut envoy = Envoy::start(weir.address(), &EnvoyOptions::new(dialect, "envoy"));
        envoy.live().await;
        until_answered(port, 200).await;

        control_plane.put(&services(port, &[])).await;
        weir.child().wait_for_line(&["losses withheld", "endpoints"]).await;
        // A newcomer is sent them, too.
        let mut late = Envoy::start(weir.address(), &EnvoyOptions::new(dialect, "late"));
        late.live().await;
        let withheld = weir.run(&["confirm-removals", "--dry-run"]).await;
        assert!(withheld.stdout.contains("endpoints  20"), "{withheld:?}");
        for _ in 0..20 {
            assert_eq!(get(port).await.map(|answer| answer.status), Some(200));
        }
        let confirmed = weir.run(&["confirm-removals", "--type", "eds"]).await;
        assert_eq!(confirmed.code, 0, "{confirmed:?}");
        until_answered(port, 503).await;
        control_plane.put(&services(port, &[backend.address()])).await;
        until_answered(port, 200).await;
    }
}
