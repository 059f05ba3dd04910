//! What is known of an upstream before any client asks.
#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod world;

use weir_protocol::Dialect;
use weir_testkit::{FakeControlPlane, Published, type_url};
use weir_types::TypeUrl;
use weir_upstream::{Change, Prefetch, Settings, Source};

use crate::world::{World, native, streams};

fn prefetch(short: &str, names: &[&str], parameters: &[(&str, &str)]) -> Prefetch {
    Prefetch {
        type_url: TypeUrl::from_short_name(short).expect("a type"),
        names: names.iter().map(ToString::to_string).collect(),
        parameters: parameters.iter().copied().collect(),
    }
}

#[tokio::test]
async fn u03_an_upstream_is_connected_to_before_anybody_asks_and_again_when_it_is_back() {
    let mut upstream = FakeControlPlane::start().await;
    upstream.set(Published::text(type_url("cds"), "a", "1"));
    let world = World::start(vec![streams(&upstream, Dialect::Delta, &[])]);
    world.until("the connection", |w| w.status.is_connected("")).await;
    assert!(world.status.has_answered(""), "nothing is wanted of it");
    assert_eq!(upstream.look(|state| state.streams.len()), 0);
    upstream.stop().await;
    world.until("the outage is noticed", |w| !w.status.is_connected("")).await;
    let failure = world.status.streams()[0].last_failure.clone().expect("a reason");
    assert!(!failure.reason.is_empty(), "{failure:?}");
    upstream.restart().await;
    world.until("the connection", |w| w.status.is_connected("")).await;

    let view = world.view("cds", &["a"]);
    view.until_shows(&[("a", "1")]).await;
    world.until("a stream in its place", |w| w.status.streams().iter().all(|stream| !stream.idle)).await;
    drop(view);
    world.until("the connection alone", |w| w.status.streams().iter().all(|stream| stream.idle)).await;
    assert!(world.status.is_connected(""), "it never was away");
}

#[tokio::test]
async fn u03_an_endpoint_that_does_not_resolve_is_not_connected() {
    let upstream = FakeControlPlane::start().await;
    let settings = streams(&upstream, Dialect::Delta, &[]);
    let endpoints = vec!["http://no-such-host.invalid:1".to_owned()];
    let world = World::start(vec![Settings { endpoints, ..settings }]);
    let failed = |w: &World| w.status.streams().iter().any(|stream| stream.last_failure.is_some());
    world.until("the reason", failed).await;
    assert!(!world.status.is_connected("") && !world.status.has_answered(""));
    let failure = world.status.streams()[0].last_failure.clone().expect("a reason");
    assert!(failure.reason.starts_with("look up no-such-host.invalid"), "{failure:?}");
}

#[tokio::test]
async fn u03_what_prefetch_names_comes_before_anybody_asks_and_stays() {
    for native_parameters in [false, true] {
        for dialect in [Dialect::Delta, Dialect::Sotw] {
            let upstream = match native_parameters {
                true => FakeControlPlane::start_tp2().await,
                false => FakeControlPlane::start().await,
            };
            upstream.set_all(["a", "b"].map(|name| Published::text(type_url("cds"), name, "1")));
            let settings = match native_parameters {
                true => native(&upstream, dialect),
                false => streams(&upstream, dialect, &["env"]),
            };
            let prefetched = ["prod", "test"].map(|env| prefetch("cds", &[], &[("env", env)])).to_vec();
            let world = World::start(vec![Settings { prefetch: prefetched.clone(), ..settings.clone() }]);
            world.until("what was asked for", |w| w.status.has_answered("")).await;
            assert!(world.database.holds(""));
            let requests = upstream.look(|state| state.requests.len());
            let view = world.view("cds", &["*{env=test}"]);
            view.shows(&[("a", "1"), ("b", "1")]);
            drop(view);
            upstream.set(Published::text(type_url("cds"), "a", "2"));
            upstream.wait_for_ack(type_url("cds")).await;
            world.database.sweep(std::time::Instant::now());
            let view = world.view("cds", &["*{env=prod}"]);
            view.until_shows(&[("a", "2"), ("b", "1")]).await;
            let asked = upstream.look(|state| {
                state.requests[requests..].iter().filter(|request| request.nonce.is_empty()).count()
            });
            assert_eq!(asked, 0, "{dialect}: it stays subscribed");

            let other = vec![prefetch("cds", &["c"], &[("env", "prod")])];
            drop(view);
            world.change(Change::Put(Source::ControlPlane(Box::new(Settings {
                prefetch: other,
                ..settings
            }))));
            upstream.wait_for_request("another subscription", |request| request.asks_for("c")).await;
        }
    }
}

#[tokio::test]
async fn u03_what_one_client_asks_for_in_vain_is_no_matter_of_the_start() {
    let upstream = FakeControlPlane::start().await;
    let world = World::start(vec![streams(&upstream, Dialect::Sotw, &[])]);
    world.until("the connection", |w| w.status.has_answered("")).await;
    let _view = world.view("eds", &["none"]);
    upstream.wait_for_request("the name", |request| request.asks_for("none")).await;
    assert!(!world.is_in_sync() && world.status.is_connected("") && world.status.has_answered(""));
}
