//! HTTP through real Envoys whose configuration came through Weir: it flows, and it follows every change without
//! a failed request.

mod support;

use serde_json::{Value, json};
use support::{Bed, SOURCES, Source, for_all, local};
use weir_testkit::Dialect;
use weir_testkit::client::DIALECTS;
use weir_testkit::process::{Backend, Envoy, EnvoyOptions, Load, free_port};
use weir_testkit::resources::{assignment, eds_cluster, envoy_path, listener, routes};

async fn traffic_follows_a_moving_endpoint(source: Source, dialect: Dialect) {
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let port = free_port();
    let bed = Bed::start(source, &for_all(envoy_path(port, "c", one.address()))).await;
    let mut options = EnvoyOptions::new(dialect, "envoy").metadata("env", "prod");
    options.node_once = source == Source::Files;
    let mut envoy = Envoy::start(bed.address(), &options);
    envoy.live().await;
    let load = Load::start(local(port));
    load.wait_for("one").await;
    bed.set(&for_all(envoy_path(port, "c", two.address())));
    load.wait_for("two").await;
    load.wait_for_more(20).await;
    load.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_moves_and_traffic_follows_sotw() {
    for source in SOURCES {
        traffic_follows_a_moving_endpoint(source, Dialect::Sotw).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_moves_and_traffic_follows_delta() {
    for source in SOURCES {
        traffic_follows_a_moving_endpoint(source, Dialect::Delta).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o01_a_route_is_repointed_make_before_break() {
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    for source in [Source::Files, Source::Streams("ads-delta"), Source::Streams("ads-sotw")] {
        for dialect in DIALECTS {
            let port = free_port();
            let bed = Bed::start(source, &for_all(envoy_path(port, "old", one.address()))).await;
            let mut envoy = Envoy::start(bed.address(), &EnvoyOptions::new(dialect, "envoy"));
            envoy.live().await;
            let load = Load::start(local(port));
            load.wait_for("one").await;

            let mut both = envoy_path(port, "old", one.address());
            both.extend([eds_cluster("new"), assignment("new", &[two.address()])]);
            bed.set(&for_all(both.clone()));
            let active = "cluster_manager.active_clusters";
            envoy.wait_for_stat(active, |count| count == 3).await;
            both[3] = routes("r", "new");
            bed.set(&for_all(both));
            load.wait_for("two").await;
            bed.set(&for_all(envoy_path(port, "new", two.address())));
            envoy.wait_for_stat(active, |count| count == 2).await;
            load.wait_for_more(20).await;
            load.finish();
        }
    }
}

/// Everything at once: the new cluster, its endpoints, the route, and the end of the old cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o01_one_commit_leaves_in_an_order_that_breaks_nothing() {
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    for (source, dialect) in SOURCES.into_iter().flat_map(|source| DIALECTS.map(|dialect| (source, dialect)))
    {
        let port = free_port();
        let bed = Bed::start(source, &for_all(envoy_path(port, "c0", one.address()))).await;
        let mut envoy = Envoy::start(bed.address(), &EnvoyOptions::new(dialect, "envoy"));
        envoy.live().await;
        let load = Load::start(local(port));
        load.wait_for("one").await;
        for round in 1..=4 {
            let (backend, body) = if round % 2 == 1 { (&two, "two") } else { (&one, "one") };
            bed.set(&for_all(envoy_path(port, &format!("c{round}"), backend.address())));
            load.wait_for(body).await;
        }
        load.wait_for_more(20).await;
        load.finish();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u03_traffic_outlives_the_control_plane_and_weir() {
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    for (protocol, dialect) in [("ads-delta", Dialect::Sotw), ("ads-sotw", Dialect::Delta)] {
        let port = free_port();
        let mut bed =
            Bed::start(Source::Streams(protocol), &for_all(envoy_path(port, "c", one.address()))).await;
        let mut envoy = Envoy::start(bed.address(), &EnvoyOptions::new(dialect, "envoy"));
        envoy.live().await;
        let load = Load::start(local(port));
        load.wait_for("one").await;

        bed.control_plane().stop().await;
        load.wait_for_more(50).await;
        bed.weir.kill().await;
        load.wait_for_more(50).await;
        bed.weir.restart().await;
        let connected = "control_plane.connected_state";
        envoy.wait_for_stat(connected, |state| state == 1).await;
        load.wait_for_more(50).await;

        bed.control_plane().restart().await;
        bed.set(&for_all(envoy_path(port, "c", two.address())));
        load.wait_for("two").await;
        load.finish();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_two_envoys_get_their_own_variants_of_the_same_names() {
    let (prod, test) = (Backend::start("prod").await, Backend::start("test").await);
    for (i, source) in SOURCES.into_iter().enumerate() {
        let dialect = DIALECTS[i % 2];
        let (prod_port, test_port) = (free_port(), free_port());
        let mut items = for_all([eds_cluster("c"), routes("r", "c")]);
        items.extend([
            (Some("prod"), assignment("c", &[prod.address()])),
            (Some("test"), assignment("c", &[test.address()])),
            (Some("prod"), listener("l", prod_port, "r")),
            (Some("test"), listener("l", test_port, "r")),
        ]);
        let bed = Bed::start(source, &items).await;
        for (env, port) in [("prod", prod_port), ("test", test_port)] {
            let options = EnvoyOptions::new(dialect, &format!("envoy-{env}")).metadata("env", env);
            let mut envoy = Envoy::start(bed.address(), &options);
            envoy.live().await;
            let load = Load::start(local(port));
            load.wait_for(env).await;
            load.wait_for_more(10).await;
            assert_eq!(load.finish().bodies.len(), 1, "{source:?} {env}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_a_refusal_is_logged_with_node_and_message() {
    let backend = Backend::start("one").await;
    for dialect in DIALECTS {
        let port = free_port();
        let bed = Bed::start(Source::Files, &for_all(envoy_path(port, "c", backend.address()))).await;
        let mut envoy = Envoy::start(bed.address(), &EnvoyOptions::new(dialect, "envoy-7"));
        envoy.live().await;
        let mut bad = eds_cluster("bad");
        bad.as_object_mut().unwrap().remove("eds_cluster_config");
        let mut resources = envoy_path(port, "c", backend.address());
        resources.extend([bad, eds_cluster("good"), assignment("good", &[backend.address()])]);
        bed.set(&for_all(resources));
        let line = bed.weir.child().wait_for_line(&["envoy-7", "EDS cluster"]).await;
        assert!(line.contains("WARN"), "{line}");
        // What was good beside it is in use all the same.
        envoy.wait_for_stat("cluster_manager.active_clusters", |count| count == 3).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o03_a_changed_cluster_with_unchanged_endpoints_is_active_at_once() {
    let backend = Backend::start("one").await;
    for source in [Source::Files, Source::Streams("ads-delta"), Source::Native("ads-sotw")] {
        for dialect in DIALECTS {
            let port = free_port();
            let mut resources = envoy_path(port, "c", backend.address());
            let bed = Bed::start(source, &for_all(resources.clone())).await;
            let mut envoy = Envoy::start(bed.address(), &EnvoyOptions::new(dialect, "envoy"));
            envoy.live().await;
            let load = Load::start(local(port));
            resources[0]["connect_timeout"] = json!("1.5s");
            bed.set(&for_all(resources));
            let what = format!("the changed cluster to be active ({source:?}, {dialect:?})");
            envoy
                .until(&what, async |admin| {
                    let dump = weir_testkit::process::http::get(admin, "/config_dump").await.ok()?;
                    let dump: Value = serde_json::from_str(&dump.body).ok()?;
                    active_clusters(&dump).any(|c| c["connect_timeout"] == "1.500s").then_some(())
                })
                .await;
            envoy.expect_no_fetch_timeout().await;
            load.wait_for_more(10).await;
            load.finish();
        }
    }
}

/// The clusters that are in use, and not only warming.
fn active_clusters(dump: &Value) -> impl Iterator<Item = &Value> {
    let sections = dump["configs"].as_array().into_iter().flatten();
    let clusters = sections.filter_map(|section| section["dynamic_active_clusters"].as_array()).flatten();
    clusters.map(|entry| &entry["cluster"])
}
