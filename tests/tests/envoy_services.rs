//! HTTP through real Envoys that use the services of single types: a stream for each cluster's endpoints and for each
//! set of routes.

mod support;

use serde_json::{Value, json};
use support::{Bed, Source, for_all, local};
use weir_testkit::Dialect;
use weir_testkit::process::{Backend, Envoy, EnvoyOptions, Load, Weir, free_port, http};
use weir_testkit::resources::{assignment, eds_cluster, file, listener, routes, separately};

/// Everything that it takes to send requests from a port to a backend, and some clusters beside.
fn resources(dialect: Dialect, port: u16, timeout: &str, backend: &Backend) -> Vec<Value> {
    let mut cluster = eds_cluster("c");
    cluster["connect_timeout"] = json!(timeout);
    let mut all =
        vec![cluster, assignment("c", &[backend.address()]), listener("l", port, "r"), routes("r", "c")];
    for i in 0..60 {
        let name = format!("other-{i}");
        all.extend([eds_cluster(&name), assignment(&name, &[backend.address()])]);
    }
    all.into_iter().map(|resource| separately(dialect, resource)).collect()
}

async fn traffic_and_changes(dialect: Dialect, source: Source) {
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let port = free_port();
    let bed = Bed::start(source, &for_all(resources(dialect, port, "1s", &one))).await;
    let mut envoy = Envoy::start(bed.address(), &EnvoyOptions::new(dialect, "envoy").separate());
    envoy.live().await;
    let load = Load::start(local(port));
    load.wait_for("one").await;
    bed.set(&for_all(resources(dialect, port, "1s", &two)));
    load.wait_for("two").await;

    // Nothing but the cluster changes, and its endpoints are asked for on a new stream.
    bed.set(&for_all(resources(dialect, port, "1.5s", &two)));
    let what = format!("the changed cluster to be active ({source:?}, {dialect:?})");
    envoy
        .until(&what, async |admin| {
            let dump = http::get(admin, "/config_dump").await.ok()?;
            let dump: Value = serde_json::from_str(&dump.body).ok()?;
            let sections = dump["configs"].as_array().into_iter().flatten();
            let mut active = sections.filter_map(|s| s["dynamic_active_clusters"].as_array()).flatten();
            active.any(|entry| entry["cluster"]["connect_timeout"] == "1.500s").then_some(())
        })
        .await;
    envoy.expect_no_fetch_timeout().await;
    load.wait_for_more(20).await;
    load.finish();

    let metrics = bed.weir.admin("/metrics").await.body;
    let streams = metrics
        .lines()
        .find(|line| line.starts_with("weir_downstream_streams") && line.contains("service=\"eds\""));
    let count = streams.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    assert!(count.is_some_and(|count| count >= 61.0), "a stream for each cluster: {streams:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d01_o03_an_envoy_without_ads_is_served_and_warms_at_once_sotw() {
    for source in [Source::Files, Source::Streams("sotw")] {
        traffic_and_changes(Dialect::Sotw, source).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d01_o03_an_envoy_without_ads_is_served_and_warms_at_once_delta() {
    for source in [Source::Files, Source::Streams("delta")] {
        traffic_and_changes(Dialect::Delta, source).await;
    }
}

/// Each cluster's endpoints take a stream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d14_an_envoy_opens_another_connection_where_the_streams_of_one_are_used_up() {
    let (backend, port) = (Backend::start("one").await, free_port());
    let all = resources(Dialect::Delta, port, "1s", &backend);
    let weir = Weir::builder().files(&[("resources.json", &file(&all))]);
    let weir = weir.section("[limits]\nmax_streams_per_connection = 16").start().await;
    let mut envoy = Envoy::start(weir.address(), &EnvoyOptions::new(Dialect::Delta, "envoy").separate());
    envoy.live().await;
    let load = Load::start(local(port));
    load.wait_for("one").await;
    envoy
        .until("all clusters to be active", async |admin| {
            let clusters = http::get(admin, "/config_dump?resource=dynamic_active_clusters").await.ok()?;
            (0..60).all(|i| clusters.body.contains(&format!("\"other-{i}\""))).then_some(())
        })
        .await;
    envoy.expect_no_fetch_timeout().await;
    load.finish();
    let metrics = weir.admin("/metrics").await.body;
    let connections = metrics.lines().find(|line| line.starts_with("weir_downstream_connections"));
    let count = connections.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    assert!(count.is_some_and(|count| count >= 4.0), "61 streams, 16 each: {connections:?}");
}
