//! A real Envoy and a resource with a time to live: it is there for as long as the control plane vouches for it.

mod support;

use std::time::Duration;

use support::{Bed, Source, for_all};
use weir_testkit::process::{Envoy, EnvoyOptions};
use weir_testkit::resources::{assignment, eds_cluster, published};
use weir_testkit::{Dialect, type_url};

/// Far longer than a heartbeat is late on a busy machine.
const TTL: Duration = Duration::from_secs(4);
/// Heartbeats in a time to live.
const BEATS: u32 = 4;
const ACTIVE: &str = "cluster_manager.active_clusters";
/// Of which one is that of the discovery server.
const WITHOUT: u64 = 2;

/// How many responses Weir has sent that are heartbeats.
async fn beats(bed: &Bed) -> f64 {
    let metrics = bed.weir.admin("/metrics").await.body;
    let counts = metrics.lines().filter(|line| line.starts_with("weir_downstream_heartbeats"));
    counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

async fn a_cluster_lives_while_it_is_refreshed(dialect: Dialect) {
    for protocol in ["ads-delta", "ads-sotw"] {
        let cds = type_url("cds");
        let endpoints = |name| assignment(name, &[]);
        let kept = for_all([eds_cluster("kept"), endpoints("kept"), endpoints("mortal")]);
        let mut bed = Bed::start(Source::Streams(protocol), &kept).await;
        bed.control_plane().set(published(&eds_cluster("mortal")).ttl(TTL));
        let mut envoy = Envoy::start(bed.address(), &EnvoyOptions::new(dialect, "envoy"));
        let upstream = bed.control_plane.as_ref().expect("a control plane");
        let beating = async {
            let mut pace = tokio::time::interval(TTL / BEATS);
            loop {
                pace.tick().await;
                upstream.heartbeat(cds);
            }
        };
        let lives = async {
            envoy.live().await;
            envoy.wait_for_stat(ACTIVE, |count| count == WITHOUT + 1).await;
            let long_enough = beats(&bed).await + f64::from(2 * BEATS);
            envoy.until("heartbeats", async |_| (beats(&bed).await > long_enough).then_some(())).await;
            for (statistic, expected) in [(ACTIVE, WITHOUT + 1), ("cluster_manager.cluster_removed", 0)] {
                assert_eq!(envoy.stat(statistic).await, Some(expected), "{statistic}");
            }
            assert_eq!(envoy.stat("cluster_manager.cds.update_rejected").await, Some(0));
        };
        tokio::select! {
            () = beating => {}
            () = lives => {}
        }

        // The control plane is silent.
        envoy.wait_for_stat(ACTIVE, |count| count == WITHOUT).await;
        upstream.send_again(cds);
        envoy.wait_for_stat(ACTIVE, |count| count == WITHOUT + 1).await;
        // Weir is gone too: Envoy has been sent how long.
        bed.weir.kill().await;
        envoy.wait_for_stat(ACTIVE, |count| count == WITHOUT).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t01_t02_an_envoy_keeps_what_is_refreshed_and_drops_what_is_not_delta() {
    a_cluster_lives_while_it_is_refreshed(Dialect::Delta).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t01_t05_an_envoy_keeps_what_is_refreshed_and_drops_what_is_not_sotw() {
    a_cluster_lives_while_it_is_refreshed(Dialect::Sotw).await;
}
