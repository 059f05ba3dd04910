//! Weir's upstream side over the services of single types, and over those of v2.
#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod world;

use weir_protocol::Dialect;
use weir_testkit::{FakeControlPlane, Published, constraints, type_url, type_url_v2};
use weir_types::{ApiVersion, TypeUrl};
use weir_upstream::{Services, Settings};

use crate::world::{World, native, streams};

const BOTH: [Dialect; 2] = [Dialect::Delta, Dialect::Sotw];

/// The paths of the streams that were ever opened, sorted.
fn paths(upstream: &FakeControlPlane) -> Vec<String> {
    let mut paths: Vec<_> = upstream.look(|s| s.streams.iter().map(|stream| stream.path.clone()).collect());
    paths.sort();
    paths
}

fn per_type(settings: Settings) -> Settings {
    Settings { services: Services::PerType, ..settings }
}

fn resource(short: &str, name: &str, text: &str) -> Published {
    Published::text(type_url(short), name, text)
}

#[tokio::test]
async fn u01_each_type_comes_on_a_stream_of_its_own_service() {
    for dialect in BOTH {
        let mut upstream = FakeControlPlane::start().await;
        upstream.set_all(["cds", "eds", "lds", "rds"].map(|short| resource(short, "a", "1")));
        upstream.set(resource("cds", "b", "1"));
        let world = World::start(vec![per_type(streams(&upstream, dialect, &[]))]);
        let clusters = world.view("cds", &["*"]);
        let others = ["eds", "lds", "rds"].map(|short| (short, world.view(short, &["a"])));
        clusters.until_shows(&[("a", "1"), ("b", "1")]).await;
        for (short, view) in &others {
            view.until_shows(&[("a", "1")]).await;
            upstream.set(resource(short, "a", "2"));
            view.until_shows(&[("a", "2")]).await;
        }
        upstream.remove(type_url("cds"), "b");
        clusters.until_shows(&[("a", "1")]).await;
        let prefix = if dialect == Dialect::Sotw { "Stream" } else { "Delta" };
        let expected = [
            format!("/envoy.service.cluster.v3.ClusterDiscoveryService/{prefix}Clusters"),
            format!("/envoy.service.endpoint.v3.EndpointDiscoveryService/{prefix}Endpoints"),
            format!("/envoy.service.listener.v3.ListenerDiscoveryService/{prefix}Listeners"),
            format!("/envoy.service.route.v3.RouteDiscoveryService/{prefix}Routes"),
        ];
        assert_eq!(paths(&upstream), expected);
        upstream.look(|s| {
            for request in &s.requests {
                let first = s.requests.iter().find(|r| r.stream == request.stream).expect("itself");
                assert_eq!(request.type_url, first.type_url, "a stream carries one type");
            }
        });

        upstream.stop().await;
        world.until("the outage is noticed", |w| !w.status.is_connected("")).await;
        clusters.shows(&[("a", "1")]);
        upstream.set(resource("cds", "c", "1"));
        upstream.restart().await;
        clusters.until_shows(&[("a", "1"), ("c", "1")]).await;
        world.until("all is well again", World::is_in_sync).await;
    }
}

#[tokio::test]
async fn w01_the_names_of_a_type_with_a_wildcard_have_a_second_stream_of_its_service() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start().await;
        upstream.set_all([resource("cds", "a", "1"), resource("cds", "b", "1")]);
        let world = World::start(vec![per_type(streams(&upstream, dialect, &[]))]);
        let named = world.view("cds", &["a"]);
        named.until_shows(&[("a", "1")]).await;
        let all = world.view("cds", &["*"]);
        all.until_shows(&[("a", "1"), ("b", "1")]).await;
        upstream.set(resource("cds", "a", "2"));
        named.until_shows(&[("a", "2")]).await;
        all.until_shows(&[("a", "2"), ("b", "1")]).await;
        let mixes = upstream.look(|s| {
            let of = |i: usize| s.requests.iter().filter(move |r| r.stream == i && r.nonce.is_empty());
            s.open_streams().any(|(i, _)| of(i).any(|r| r.asks_for("a")) && of(i).any(|r| !r.asks_for("a")))
        });
        assert!(!mixes, "{dialect}: a wildcard and names on one stream");
    }
}

#[tokio::test]
async fn p14_services_of_single_types_are_sent_locators_where_they_are_understood() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start_tp2().await;
        for env in ["prod", "test"] {
            upstream.set(resource("eds", "a", env).constrained(constraints::value("env", env)));
        }
        let world = World::start(vec![per_type(native(&upstream, dialect))]);
        let views = ["prod", "test"].map(|env| (env, world.view("eds", &[&format!("a{{env={env}}}")])));
        for (env, view) in &views {
            view.until_shows(&[("a", env)]).await;
        }
        assert_eq!(paths(&upstream).len(), 1, "one stream for all parameter sets");
    }
}

#[tokio::test]
async fn u01_a_type_without_a_service_of_its_own_is_known_to_be_missing() {
    for (dialect, url) in [
        (Dialect::Sotw, type_url("vhds")),
        (Dialect::Delta, type_url("acme")),
        (Dialect::Sotw, type_url("acme")),
    ] {
        let upstream = FakeControlPlane::start().await;
        let world = World::start(vec![per_type(streams(&upstream, dialect, &[]))]);
        let view = world.view_of(&TypeUrl::new(url), &["a", "*"]);
        world.until("an answer", |_| view.is_settled()).await;
        assert_eq!(paths(&upstream), Vec::<String>::new());
    }
}

#[tokio::test]
async fn v01_services_are_called_by_the_names_of_v2_and_types_by_what_clients_call_them() {
    for (dialect, services, path) in [
        (
            Dialect::Delta,
            Services::Aggregated,
            "/envoy.service.discovery.v2.AggregatedDiscoveryService/Delta",
        ),
        (
            Dialect::Sotw,
            Services::Aggregated,
            "/envoy.service.discovery.v2.AggregatedDiscoveryService/Stream",
        ),
        (Dialect::Delta, Services::PerType, "/envoy.api.v2.ClusterDiscoveryService/DeltaClusters"),
        (Dialect::Sotw, Services::PerType, "/envoy.api.v2.ClusterDiscoveryService/StreamClusters"),
    ] {
        let upstream = FakeControlPlane::start().await;
        for url in [type_url("cds"), type_url_v2("cds")] {
            upstream.set_all(["a", "b"].map(|name| Published::text(url, name, "1")));
        }
        let settings = Settings { services, transport: ApiVersion::V2, ..streams(&upstream, dialect, &[]) };
        let world = World::start(vec![settings]);
        let v2 = world.view_of(&TypeUrl::new(type_url_v2("cds")), &["*"]);
        v2.until_shows(&[("a", "1"), ("b", "1")]).await;
        let v3 = world.view("cds", &["*"]);
        v3.until_shows(&[("a", "1"), ("b", "1")]).await;
        upstream.remove(type_url_v2("cds"), "b");
        v2.until_shows(&[("a", "1")]).await;
        v3.shows(&[("a", "1"), ("b", "1")]);
        assert!(paths(&upstream).iter().all(|opened| opened.starts_with(path)), "{:?}", paths(&upstream));
    }
}
