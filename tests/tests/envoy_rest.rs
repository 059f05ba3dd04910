//! An Envoy that polls everything over REST-JSON, in front of control planes of every kind.

mod support;

use serde_json::Value;
use support::{Bed, Source, for_all, local};
use weir_testkit::process::{Backend, Envoy, Load, free_port};
use weir_testkit::resources::{envoy_path, polled};

const SOURCES: [Source; 3] = [Source::Files, Source::Streams("ads-delta"), Source::Native("ads-sotw")];

/// Everything that it takes to send requests from a port to a backend, all of it polled.
fn path(port: u16, cluster: &str, backend: &Backend) -> Vec<Value> {
    envoy_path(port, cluster, backend.address()).into_iter().map(polled).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r01_traffic_of_a_polling_envoy_follows_a_moving_endpoint() {
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    for source in SOURCES {
        let port = free_port();
        let bed = Bed::start(source, &for_all(path(port, "c", &one))).await;
        let mut envoy = Envoy::polling(bed.address(), "envoy");
        envoy.live().await;
        let load = Load::start(local(port));
        load.wait_for("one").await;
        bed.set(&for_all(path(port, "c", &two)));
        load.wait_for("two").await;
        load.wait_for_more(20).await;
        load.finish();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r01_a_polling_envoy_learns_that_there_is_nothing_new() {
    let backend = Backend::start("one").await;
    let port = free_port();
    let bed = Bed::start(Source::Files, &for_all(path(port, "c", &backend))).await;
    let mut envoy = Envoy::polling(bed.address(), "envoy");
    envoy.live().await;
    let (attempts, successes) = ("cluster_manager.cds.update_attempt", "cluster_manager.cds.update_success");
    let before = envoy.stat(attempts).await.unwrap();
    envoy.wait_for_stat(attempts, |count| count > before + 3).await;
    assert_eq!(envoy.stat(successes).await, Some(1), "an answer with nothing new is no update");
    for failures in ["cluster_manager.cds.update_failure", "listener_manager.lds.update_failure"] {
        assert_eq!(envoy.stat(failures).await, Some(0), "{failures}");
    }
    let metrics = bed.weir.admin("/metrics").await.body;
    let polls = metrics.lines().find(|line| {
        line.starts_with("weir_downstream_responses_total") && line.contains("rest") && line.contains("cds")
    });
    assert!(polls.is_some_and(|line| line.ends_with(" 1")), "{polls:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o03_a_changed_cluster_of_a_polling_envoy_is_active_at_once() {
    let backend = Backend::start("one").await;
    let port = free_port();
    let bed = Bed::start(Source::Streams("ads-delta"), &for_all(path(port, "c", &backend))).await;
    let mut envoy = Envoy::polling(bed.address(), "envoy");
    envoy.live().await;
    let load = Load::start(local(port));
    let mut changed = path(port, "c", &backend);
    changed[0]["connect_timeout"] = "1.5s".into();
    bed.set(&for_all(changed));
    let modified = "cluster_manager.cluster_modified";
    envoy.wait_for_stat(modified, |count| count == 1).await;
    let warming = "cluster_manager.warming_clusters";
    envoy.wait_for_stat(warming, |count| count == 0).await;
    envoy.expect_no_fetch_timeout().await;
    load.wait_for_more(10).await;
    load.finish();
}
