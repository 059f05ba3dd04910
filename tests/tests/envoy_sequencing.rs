//! HTTP through a real Envoy while a control plane sequences its pushes by the acknowledgements that it sees: with
//! Weir in between, they are the Envoy's.

mod support;

use std::time::Duration;

use serde_json::Value;
use support::local;
use weir_testkit::client::DIALECTS;
use weir_testkit::process::{Backend, Envoy, EnvoyOptions, Load, Weir, free_port};
use weir_testkit::resources::{assignment, eds_cluster, listener, published, routes};
use weir_testkit::{Dialect, FakeControlPlane, type_url};

/// Time between two requests: 300 a second and more.
const PACE: Duration = Duration::from_millis(3);

/// How often the route moves to a new cluster.
const ROUNDS: usize = 6;

/// A Weir that acknowledges what its subscribers have acknowledged.
async fn weir(control_plane: &FakeControlPlane, protocol: &str, parameters: &str) -> Weir {
    let builder = Weir::builder().upstream(control_plane, protocol, parameters);
    builder.section("acknowledge = \"after-subscribers\"\nacknowledge_deadline = \"60s\"").start().await
}

/// Publishes, and waits until all of it is acknowledged.
async fn publish(control_plane: &FakeControlPlane, resources: &[Value]) {
    let before = control_plane.look(|state| state.sent.len());
    control_plane.set_all(resources.iter().map(published));
    for resource in resources {
        let type_url = published(resource).type_url;
        control_plane
            .wait_for(&format!("an acknowledgement of the new {type_url}"), |state| {
                let mut newer = state.sent[before..].iter();
                let sent = newer.find(|sent| sent.type_url == type_url && sent.resources > 0)?;
                state.requests.iter().any(|request| request.acknowledges(sent)).then_some(())
            })
            .await;
    }
}

/// Publishes a cluster and its endpoints: one after the other, if that is `possible`. Envoy acknowledges a cluster
/// only when it has its endpoints, or receives that there are none yet, which only delta can express.
async fn publish_cluster(control_plane: &FakeControlPlane, possible: bool, name: &str, backend: &Backend) {
    let (cluster, endpoints) = (eds_cluster(name), assignment(name, &[backend.address()]));
    if possible {
        publish(control_plane, &[cluster]).await;
        publish(control_plane, &[endpoints]).await;
    } else {
        publish(control_plane, &[cluster, endpoints]).await;
    }
}

async fn a_sequenced_control_plane_breaks_nothing(protocol: &str, parameters: &str, dialect: Dialect) {
    println!("--- {protocol} {parameters} above, {dialect:?} below");
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let control_plane = match parameters {
        "native" => FakeControlPlane::start_tp2().await,
        _ => FakeControlPlane::start().await,
    };
    let port = free_port();
    let first =
        [eds_cluster("c0"), assignment("c0", &[one.address()]), listener("l", port, "r"), routes("r", "c0")];
    control_plane.set_all(first.iter().map(published));
    let weir = weir(&control_plane, protocol, parameters).await;
    let mut envoy = Envoy::start(weir.address(), &EnvoyOptions::new(dialect, "envoy"));
    envoy.live().await;
    let load = Load::paced(local(port), PACE);
    load.wait_for("one").await;

    let delta = protocol == "ads-delta" && dialect == Dialect::Delta;
    for round in 1..=ROUNDS {
        let (backend, body) = if round % 2 == 1 { (&two, "two") } else { (&one, "one") };
        let (old, new) = (format!("c{}", round - 1), format!("c{round}"));
        publish_cluster(&control_plane, delta, &new, backend).await;
        publish(&control_plane, &[routes("r", &new)]).await;
        // It is the Envoy's acknowledgement, so that nothing points at the old cluster any more.
        control_plane.change(|published| published.retain(|resource| resource.name != old));
        load.wait_for(body).await;
        load.wait_for_more(30).await;
    }
    let cds = type_url("cds");
    control_plane.wait_for_ack(cds).await;
    load.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u10_a_control_plane_that_sequences_by_acknowledgements_breaks_nothing_delta() {
    for dialect in DIALECTS {
        a_sequenced_control_plane_breaks_nothing("ads-delta", "streams", dialect).await;
        a_sequenced_control_plane_breaks_nothing("ads-delta", "native", dialect).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u10_a_control_plane_that_sequences_by_acknowledgements_breaks_nothing_sotw() {
    for dialect in DIALECTS {
        a_sequenced_control_plane_breaks_nothing("ads-sotw", "streams", dialect).await;
        a_sequenced_control_plane_breaks_nothing("ads-sotw", "native", dialect).await;
    }
}

/// Through two of them, with the one above waiting for the one below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u10_p16_so_does_a_cascade() {
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let control_plane = FakeControlPlane::start_tp2().await;
    let port = free_port();
    let first =
        [eds_cluster("c0"), assignment("c0", &[one.address()]), listener("l", port, "r"), routes("r", "c0")];
    control_plane.set_all(first.iter().map(published));
    let upper = weir(&control_plane, "ads-delta", "native").await;
    let lower = Weir::builder()
        .upstream_at(upper.address(), "ads-delta", "native")
        .section("acknowledge = \"after-subscribers\"\nacknowledge_deadline = \"30s\"")
        .start()
        .await;
    let mut envoy = Envoy::start(lower.address(), &EnvoyOptions::new(Dialect::Delta, "envoy"));
    envoy.live().await;
    let load = Load::paced(local(port), PACE);
    load.wait_for("one").await;
    publish_cluster(&control_plane, true, "c1", &two).await;
    publish(&control_plane, &[routes("r", "c1")]).await;
    control_plane.change(|published| published.retain(|resource| resource.name != "c0"));
    load.wait_for("two").await;
    load.wait_for_more(100).await;
    load.finish();
}
