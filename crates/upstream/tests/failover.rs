//! Several endpoints, and what becomes of a stream when one of them fails in one of many ways.
#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod world;

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use weir_protocol::Dialect;
use weir_testkit::control_plane::Request;
use weir_testkit::{FakeControlPlane, Fault, FaultProxy, Published, type_url};
use weir_upstream::{Settings, ShrinkGuard, Trial};

use crate::world::{World, streams};

const BOTH: [Dialect; 2] = [Dialect::Delta, Dialect::Sotw];

fn cluster(name: &str, content: &str) -> Published {
    Published::text(type_url("cds"), name, content)
}

/// `first`, and `second` where that fails.
fn preferring(first: String, second: &FakeControlPlane, dialect: Dialect) -> Settings {
    let mut settings = streams(second, dialect, &[]);
    settings.endpoints.insert(0, first);
    settings.trial = Trial { answer: Duration::from_secs(1), lasting: Duration::from_millis(100) };
    settings
}

/// On which endpoint the only stream is.
fn place(world: &World) -> Option<usize> {
    world.status.streams().first().filter(|stream| stream.in_sync).map(|stream| stream.index)
}

/// How often a control plane was connected to.
fn streams_of(upstream: &FakeControlPlane) -> usize {
    upstream.look(|state| state.streams.len())
}

#[tokio::test]
async fn u04_a_stream_falls_back_and_returns_and_asks_for_everything_there() {
    for dialect in BOTH {
        let (mut first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
        for upstream in [&first, &second] {
            // By the same version, as counters would have it, and not the same everywhere.
            upstream.set(cluster("a", "1").version("v"));
        }
        second.set(cluster("b", "second").version("v"));
        first.set(cluster("b", "first").version("v"));
        let world = World::start(vec![preferring(first.uri(), &second, dialect)]);
        let view = world.view("cds", &["*"]);
        view.until_shows(&[("a", "1"), ("b", "first")]).await;
        assert_eq!(streams_of(&second), 0, "{dialect}");
        first.stop().await;
        view.until_shows(&[("a", "1"), ("b", "second")]).await;
        world.until("the fallback is in use", |w| place(w) == Some(1)).await;
        let failure = world.status.streams().remove(0).last_failure.expect("there is a reason");
        assert!(first.uri().contains(&failure.endpoint), "{failure:?}");
        first.restart().await;
        view.until_shows(&[("a", "1"), ("b", "first")]).await;
        world.until("the first is in use again", |w| place(w) == Some(0)).await;
        second.wait_until_alone().await;
    }
}

#[tokio::test]
async fn u04_versions_that_mean_the_same_everywhere_are_stated() {
    let (mut first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    for upstream in [&first, &second] {
        upstream.set_all([cluster("a", "1").version("va"), cluster("b", "1").version("vb")]);
    }
    let mut settings = preferring(first.uri(), &second, Dialect::Delta);
    settings.shared_versions = true;
    let world = World::start(vec![settings]);
    let view = world.view("cds", &["*"]);
    view.until_shows(&[("a", "1"), ("b", "1")]).await;
    first.stop().await;
    let asked = second.wait_for_request("versions", |r| !r.initial_versions.is_empty()).await;
    assert_eq!(asked.initial_versions["b"], "vb");
    assert_ne!(asked.initial_versions["a"], "va", "one has to be sent again by whoever is alive");
}

#[tokio::test]
async fn u04_an_endpoint_that_accepts_and_never_answers_is_left() {
    for dialect in BOTH {
        let (first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
        second.set(cluster("a", "1"));
        first.pause();
        let world = World::start(vec![preferring(first.uri(), &second, dialect)]);
        world.view("cds", &["a"]).until_shows(&[("a", "1")]).await;
        world.until("the second is in use", |w| place(w) == Some(1)).await;
        first.set(cluster("a", "1"));
        first.resume();
        world.until("the first is in use", |w| place(w) == Some(0)).await;
    }
}

#[tokio::test]
async fn u04_an_endpoint_that_falls_silent_is_noticed_when_it_comes_back() {
    for dialect in BOTH {
        let (mut first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
        for upstream in [&first, &second] {
            upstream.set(cluster("a", "1"));
        }
        let world = World::start(vec![preferring(first.uri(), &second, dialect)]);
        let view = world.view("cds", &["*"]);
        view.until_shows(&[("a", "1")]).await;
        first.stop().await;
        first.pause();
        first.restart().await;
        second.set(cluster("a", "2"));
        view.until_shows(&[("a", "2")]).await;
    }
}

#[tokio::test]
async fn u04_silence_is_borne_where_nobody_says_more() {
    let (first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    first.pause();
    second.pause();
    let mut settings = preferring(first.uri(), &second, Dialect::Sotw);
    settings.does_not_exist = Duration::from_secs(3);
    let world = World::start(vec![settings]);
    let view = world.view("cds", &["a"]);
    world.until("it counts as missing", |_| view.is_settled()).await;
    assert_eq!(place(&world), Some(0), "the first stream goes on");
    second.wait_for_request("a try beside it", |r| r.asks_for("a")).await;
    first.set(cluster("a", "1"));
    first.resume();
    view.until_shows(&[("a", "1")]).await;
    assert_eq!(streams_of(&first), 1);
}

#[tokio::test]
async fn u04_an_endpoint_that_answers_garbage_is_left() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let talking = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            drop(stream.write_all(b"220 mail.example ESMTP\r\n\r\n").await);
        }
    });
    let second = FakeControlPlane::start().await;
    second.set(cluster("a", "1"));
    let world = World::start(vec![preferring(format!("http://{address}"), &second, Dialect::Delta)]);
    world.view("cds", &["a"]).until_shows(&[("a", "1")]).await;
    talking.abort();
}

#[tokio::test]
async fn u04_resources_that_are_all_rejected_are_no_answer() {
    let (first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    first.pause();
    second.set(cluster("a", "1"));
    let world = World::start(vec![preferring(first.uri(), &second, Dialect::Sotw)]);
    let view = world.view("cds", &["a"]);
    first.wait_for_request("the question", |r| r.asks_for("a")).await;
    let foreign = Published::text(type_url("eds"), "a", "1").wrapped(false);
    first.inject_sotw(weir_wire::discovery::DiscoveryResponse {
        type_url: type_url("cds").into(),
        nonce: "n".into(),
        version_info: "v".into(),
        resources: foreign.resource.into_iter().collect(),
        ..Default::default()
    });
    first.wait_for_request("the NACK", |r| r.error.is_some()).await;
    view.until_shows(&[("a", "1")]).await;
}

#[tokio::test]
async fn u04_an_endpoint_that_flaps_is_not_returned_to_and_not_hammered() {
    let (first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    for upstream in [&first, &second] {
        upstream.set(cluster("a", "1"));
    }
    let mut settings = preferring(first.uri(), &second, Dialect::Delta);
    settings.trial.lasting = Duration::from_secs(60);
    settings.backoff.max = Duration::from_secs(60);
    let world = World::start(vec![settings]);
    let view = world.view("cds", &["a"]);
    view.until_shows(&[("a", "1")]).await;
    // Every stream ends as soon as it has answered.
    for round in 1..=8 {
        first
            .wait_for("an answer", |state| {
                let asked = |r: &&Request| r.stream + 1 == round && !r.nonce.is_empty();
                state.requests.iter().find(asked).map(|_| ())
            })
            .await;
        first.reset_streams();
    }
    // Eight failures in a row: up to 20 ms * 2^7 until the next try. None of them is a move.
    assert_eq!(place(&world), Some(1));
    assert!(streams_of(&first) <= 9, "{}", streams_of(&first));
    assert_eq!(streams_of(&second), 1);
}

#[tokio::test]
async fn u03_a_dead_peer_is_found_within_the_configured_time() {
    for fault in [Fault::Stall, Fault::HalfOpen] {
        let (first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
        for upstream in [&first, &second] {
            upstream.set(cluster("a", "1"));
        }
        let network = FaultProxy::start(first.address()).await;
        let mut settings = preferring(network.uri(), &second, Dialect::Delta);
        settings.keepalive_interval = Duration::from_millis(200);
        settings.keepalive_timeout = Duration::from_millis(200);
        settings.connect_timeout = Duration::from_millis(200);
        let world = World::start(vec![settings]);
        let view = world.view("cds", &["a"]);
        view.until_shows(&[("a", "1")]).await;
        second.set(cluster("a", "2"));
        let start = std::time::Instant::now();
        network.inject(fault);
        if fault == Fault::HalfOpen {
            // It would be found again at once.
            network.inject(Fault::Stall);
        }
        view.until_shows(&[("a", "2")]).await;
        // 400 ms to find it, and what a busy machine takes; TCP would take a quarter of an hour.
        assert!(start.elapsed() < Duration::from_secs(30), "{fault:?}: {:?}", start.elapsed());
    }
}

#[tokio::test]
async fn u03_one_endpoint_that_flaps_is_not_hammered() {
    let upstream = FakeControlPlane::start().await;
    upstream.set(cluster("a", "1"));
    let mut settings = streams(&upstream, Dialect::Delta, &[]);
    settings.backoff.max = Duration::from_secs(60);
    let world = World::start(vec![settings]);
    let view = world.view("cds", &["a"]);
    view.until_shows(&[("a", "1")]).await;
    let start = std::time::Instant::now();
    for round in 1..=8 {
        upstream.wait_for_request("the next stream", |r| r.stream + 1 == round).await;
        upstream.reset_streams();
    }
    // Seven waits of up to 20 ms * 2^n, 2.5 s in all, of which full jitter takes half; the chance that it takes all
    // but a fiftieth is less than one in a million.
    assert!(start.elapsed() > Duration::from_millis(50), "{:?}", start.elapsed());
    view.shows(&[("a", "1")]);
}

#[tokio::test]
async fn u11_an_operator_sees_what_is_withheld_and_confirms_it() {
    let upstream = FakeControlPlane::start().await;
    let names = ["a", "b", "c", "d"];
    upstream.set_all(names.map(|name| cluster(name, "1")));
    let mut settings = streams(&upstream, Dialect::Delta, &[]);
    let confirm_after = Duration::from_secs(3600);
    settings.shrink_guard = Some(ShrinkGuard { percent: 50, minimum: 1, confirm_after });
    let world = World::start(vec![settings]);
    let view = world.view("cds", &["*"]);
    view.until_shows(&names.map(|name| (name, "1"))).await;
    upstream.change(|published| published.truncate(1));
    world.until("they are withheld", |w| !w.status.streams()[0].withheld.is_empty()).await;
    view.shows(&names.map(|name| (name, "1")));
    let stream = world.status.streams().remove(0);
    let ((cds, _), removals) = stream.withheld.first_key_value().expect("they wait");
    assert_eq!((removals.count, removals.of, removals.names.len()), (3, 4, 3));
    let others = weir_types::TypeUrl::new(type_url("eds"));
    assert!(!world.status.confirm_removals(stream.id, &others) && !world.status.confirm_removals(99, cds));
    assert!(world.status.confirm_removals(stream.id, cds));
    view.until_shows(&[("a", "1")]).await;
    world.until("nothing is withheld", |w| w.status.streams()[0].withheld.is_empty()).await;
}
