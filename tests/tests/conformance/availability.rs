//! What clients see of an upstream that fails: u03, u04, u11, u13 and u17.

use std::net::SocketAddr;
use std::time::Duration;

use weir_config::{Debounce, PositiveDuration};
use weir_testkit::client::DIALECTS;
use weir_testkit::control_plane::Request;
use weir_testkit::resources::{assignment, published};
use weir_testkit::{Dialect, FakeControlPlane, Fault, FaultProxy, Published, XdsClient, type_url};
use weir_types::TypeUrl;
use weir_upstream::{EndpointGuard, ShrinkGuard, Trial};

use crate::observed;
use crate::weir::{Uses, Weir};

const TRIAL: Trial = Trial { answer: Duration::from_millis(100), lasting: Duration::from_millis(100) };

/// Waits until a stream to `upstream` after the first `before` has been answered what it asked of a type.
async fn answered(upstream: &FakeControlPlane, type_url: &str, before: usize) {
    let acknowledges = |r: &Request| r.stream >= before && r.type_url == type_url && !r.nonce.is_empty();
    upstream.wait_for_request("an acknowledgement", acknowledges).await;
}

#[tokio::test]
async fn u04_a_client_notices_nothing_of_a_fallback_and_a_return() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let (mut first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
        for (upstream, version) in [(&first, "v1"), (&second, "v2")] {
            upstream.set_all(["a", "b"].map(|name| Published::text(cds, name, "1").version(version)));
        }
        let weir = Weir::start_with(first.address(), dialect, Uses::Nodes, |settings| {
            settings.endpoints.push(second.uri());
            settings.trial = TRIAL;
        });
        let weir = weir.await;
        let mut client = weir.client(dialect, "prod").await;
        client.subscribe(cds, &[]);
        assert_eq!(client.accept(cds).await.names(), ["a", "b"]);

        first.stop().await;
        answered(&second, cds, 0).await;
        client.expect_nothing().await;
        let before = first.look(|state| state.streams.len());
        first.restart().await;
        // One stream is the try, the other is there to stay.
        answered(&first, cds, before + 1).await;
        client.expect_nothing().await;
        first.set(Published::text(cds, "a", "2"));
        assert_eq!(client.accept(cds).await.resource("a").text(), "2");
    }
}

#[tokio::test]
async fn u03_a_peer_that_is_dead_without_a_word_is_left_and_withdraws_nothing() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let (first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
        for upstream in [&first, &second] {
            upstream.set(Published::text(cds, "a", "1"));
        }
        let network = FaultProxy::start(first.address()).await;
        let weir = Weir::start_with(network.address(), dialect, Uses::Nodes, |settings| {
            settings.endpoints.push(second.uri());
            settings.trial = TRIAL;
            settings.keepalive_interval = Duration::from_millis(100);
            settings.keepalive_timeout = Duration::from_millis(100);
        });
        let weir = weir.await;
        let mut client = weir.client(dialect, "prod").await;
        client.subscribe(cds, &[]);
        client.accept(cds).await;

        network.inject(Fault::Stall);
        answered(&second, cds, 0).await;
        client.expect_nothing().await;
        second.set(Published::text(cds, "a", "2"));
        assert_eq!(client.accept(cds).await.resource("a").text(), "2");
    }
}

/// A Weir that holds twenty clusters and takes no more than a third of them away at once, and its client.
async fn guarded(
    control_plane: &FakeControlPlane,
    dialect: Dialect,
    confirm_after: Duration,
) -> (Weir, XdsClient) {
    let cds = type_url("cds");
    control_plane.set_all(twenty());
    let weir = Weir::start_with(control_plane.address(), dialect, Uses::Nodes, |settings| {
        settings.shrink_guard = Some(ShrinkGuard { percent: 33, minimum: 3, confirm_after });
    });
    let weir = weir.await;
    let mut client = weir.client(dialect, "prod").await;
    client.subscribe(cds, &[]);
    assert_eq!(client.accept(cds).await.names().len(), 20);
    control_plane.wait_for_ack(cds).await;
    (weir, client)
}

fn twenty() -> Vec<Published> {
    (0..20).map(|i| Published::text(type_url("cds"), &format!("c{i:02}"), "1")).collect()
}

const NEVER: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn u11_an_empty_full_state_after_a_restart_takes_nothing_away() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let mut control_plane = FakeControlPlane::start().await;
        let (weir, mut client) = guarded(&control_plane, dialect, NEVER).await;
        let before = control_plane.look(|state| state.streams.len());
        let withheld = observed::metric("weir_upstream_shrinks_total");
        control_plane.stop().await;
        control_plane.change(Vec::clear);
        control_plane.restart().await;
        answered(&control_plane, cds, before).await;
        client.expect_nothing().await;
        let mut late = weir.client(dialect, "prod").await;
        late.subscribe(cds, &[]);
        assert_eq!(late.accept(cds).await.names().len(), 20);
        assert!(observed::metric("weir_upstream_shrinks_total") >= withheld + 20.0);

        let mut all = twenty();
        all.remove(0);
        all.push(Published::text(cds, "c01", "2"));
        control_plane.set_all(all);
        let received = client.accept(cds).await;
        assert_eq!(received.resource("c01").text(), "2");
        match dialect {
            // It was removed by its name, once; that it is not back does not confirm it.
            Dialect::Delta => assert!(received.removed.is_empty(), "{received:?}"),
            Dialect::Sotw => assert_eq!(received.names().len(), 19, "{received:?}"),
        }
    }
}

#[tokio::test]
async fn u11_a_second_full_state_confirms_and_what_is_new_in_the_first_is_applied() {
    let cds = type_url("cds");
    let control_plane = FakeControlPlane::start().await;
    let (_weir, mut client) = guarded(&control_plane, Dialect::Sotw, NEVER).await;
    let left = |content| vec![Published::text(cds, "c00", content)];
    control_plane.change(|published| *published = left("2"));
    let received = client.accept(cds).await;
    assert_eq!((received.resource("c00").text(), received.names().len()), ("2".to_owned(), 20));
    control_plane.wait_for_ack(cds).await;
    control_plane.change(|published| *published = left("3"));
    let received = client.accept(cds).await;
    assert_eq!((received.resource("c00").text(), received.names().len()), ("3".to_owned(), 1));
}

#[tokio::test]
async fn u11_time_confirms() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        let (_weir, mut client) = guarded(&control_plane, dialect, Duration::from_millis(50)).await;
        control_plane.change(|published| published.truncate(5));
        let received = client.accept(cds).await;
        match dialect {
            Dialect::Delta => assert_eq!(received.removed.len(), 15),
            Dialect::Sotw => assert_eq!(received.names().len(), 5),
        }
    }
}

#[tokio::test]
async fn u13_a_burst_is_one_change_and_a_first_answer_does_not_wait() {
    let (cds, rds) = (type_url("cds"), type_url("rds"));
    for dialect in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        control_plane.set_all([Published::text(cds, "a", "0"), Published::text(rds, "r", "0")]);
        // Nothing that waits would come while the test runs, but for so much silence.
        let debounce = Debounce { quiet: PositiveDuration::seconds::<4>(), max: Duration::from_secs(60) };
        let weir = Weir::start_with(control_plane.address(), dialect, Uses::Nodes, |settings| {
            settings.debounce = Some(debounce);
        });
        let weir = weir.await;
        let mut client = weir.client(dialect, "prod").await;
        let start = std::time::Instant::now();
        client.subscribe(cds, &[]);
        assert_eq!(client.accept(cds).await.resource("a").text(), "0");
        client.subscribe(rds, &["r"]);
        assert_eq!(client.accept(rds).await.resource("r").text(), "0");
        assert!(start.elapsed() < debounce.quiet.get(), "{:?}", start.elapsed());
        for i in 1..=10 {
            control_plane.set(Published::text(cds, "a", &i.to_string()));
            control_plane.wait_for_ack(cds).await;
        }
        assert_eq!(client.accept(cds).await.resource("a").text(), "10", "the first that comes is the last");
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn u17_endpoints_that_all_vanish_stay_until_it_is_confirmed() {
    let eds = type_url("eds");
    let names: Vec<String> = (0..20).map(|i| format!("e{i:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let all = |endpoints: &[SocketAddr]| -> Vec<Published> {
        names.iter().map(|name| published(&assignment(name, endpoints))).collect()
    };
    let server = SocketAddr::from(([10, 0, 0, 1], 80));
    for dialect in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        control_plane.set_all(all(&[server]));
        let guard = EndpointGuard { percent: 50, minimum: 10, window: NEVER, confirm_after: NEVER };
        let weir = Weir::start_with(control_plane.address(), dialect, Uses::Nodes, |settings| {
            settings.endpoint_guard = Some(guard);
        });
        let weir = weir.await;
        let mut client = weir.client(dialect, "prod").await;
        client.subscribe(eds, &names);
        let first = client.accept(eds).await;
        assert_eq!(first.names(), names);
        control_plane.wait_for_ack(eds).await;

        control_plane.set_all(all(&[]));
        control_plane.wait_for_ack(eds).await;
        client.expect_nothing().await;
        let mut late = weir.client(dialect, "prod").await;
        late.subscribe(eds, &names);
        assert_eq!(late.accept(eds).await.resource("e00").body, first.resource("e00").body);

        let stream = weir.status.streams().remove(0);
        assert!(weir.status.confirm_removals(stream.id, &TypeUrl::new(eds)), "{dialect:?}");
        let emptied = client.accept(eds).await;
        assert_eq!(emptied.names(), names);
        assert_ne!(emptied.resource("e00").body, first.resource("e00").body);
    }
}
