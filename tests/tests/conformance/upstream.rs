//! Upstream: u02, u03, and u05 to u08, with what clients see of it (i06, o02).

use std::future::ready;
use std::time::{Duration, Instant};

use prost::Message as _;
use weir_testkit::client::DIALECTS;
use weir_testkit::control_plane::{Request, State};
use weir_testkit::wait::until;
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, type_url};
use weir_wire::discovery::{DeltaDiscoveryResponse, Node};

use crate::weir::{Ends, Uses, Weir, in_each_dialect};

/// How the control plane was asked for a name: subscribed, and unsubscribed again.
fn asked_for(state: &State, name: &str) -> (usize, usize) {
    let delta = |r: &&Request| r.dialect == Dialect::Delta;
    let subscribed = state.requests.iter().filter(delta).filter(|r| r.asks_for(name)).count();
    let unsubscribed = state.requests.iter().filter(|r| r.unsubscribed.iter().any(|n| n == name)).count();
    (subscribed, unsubscribed)
}

/// The names in the newest SotW request about a type.
fn names_now(state: &State, type_url: &str) -> Vec<String> {
    let mut names = state.requests_for(type_url).last().map(|r| r.names.clone()).unwrap_or_default();
    names.sort();
    names
}

#[tokio::test]
async fn u02_there_is_one_subscription_upstream_however_many_clients() {
    let rds = type_url("rds");
    in_each_dialect(Uses::Nodes, async |control_plane, weir, ends| {
        control_plane.set(Published::text(rds, "r", "1"));
        let mut clients = Vec::new();
        for _ in 0..5 {
            let mut client = weir.client(ends.downstream, "prod").await;
            client.subscribe(rds, &["r"]);
            assert_eq!(client.accept(rds).await.resource("r").text(), "1");
            clients.push(client);
        }
        let mut last = clients.pop().expect("five clients");
        drop(clients);
        let mut other = weir.client(ends.downstream, "prod").await;
        control_plane.set(Published::text(rds, "other", "1"));
        other.subscribe(rds, &["other"]);
        other.accept(rds).await;
        weir.let_idle_time_pass();
        last.expect_nothing().await;
        control_plane.look(|state| match ends.upstream {
            Dialect::Delta => assert_eq!(asked_for(state, "r"), (1, 0)),
            Dialect::Sotw => assert_eq!(names_now(state, rds), ["other", "r"]),
        });
        assert_eq!(control_plane.look(|state| state.open_streams().count()), 1);

        drop(last);
        let gone = |state: &State| match ends.upstream {
            Dialect::Delta => asked_for(state, "r") == (1, 1),
            Dialect::Sotw => names_now(state, rds) == ["other"],
        };
        until("the unsubscription", || {
            weir.let_idle_time_pass();
            ready(control_plane.look(gone).then_some(()))
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn u03_an_outage_withdraws_nothing_and_what_is_held_is_stated_afterwards() {
    let [cds, rds] = ["cds", "rds"].map(type_url);
    in_each_dialect(Uses::Nodes, async |mut control_plane, weir, ends| {
        let resources =
            [Published::text(cds, "c", "1").version("c1"), Published::text(rds, "r", "1").version("r1")];
        control_plane.set_all(resources);
        let mut client = weir.client(ends.downstream, "prod").await;
        client.subscribe(cds, &[]);
        client.accept(cds).await;
        client.subscribe(rds, &["r"]);
        client.accept(rds).await;
        control_plane.wait_for_ack(cds).await;
        control_plane.wait_for_ack(rds).await;
        let before = control_plane.look(|state| state.streams.len());

        control_plane.stop().await;
        for _ in 0..3 {
            let mut late = weir.client(ends.downstream, "prod").await;
            late.subscribe(cds, &[]);
            assert_eq!(late.accept(cds).await.names(), ["c"], "served from the cache");
        }
        control_plane.restart().await;
        for (type_url, name, version) in [(cds, "c", "c1"), (rds, "r", "r1")] {
            let request = control_plane.wait_for_request("the first request afterwards", |request| {
                request.stream >= before && request.type_url == type_url
            });
            let request = request.await;
            match ends.upstream {
                Dialect::Delta => assert_eq!(request.initial_versions[name], version),
                Dialect::Sotw => assert!(!request.version.is_empty(), "{request:?}"),
            }
        }
        client.expect_nothing().await;
        control_plane.set(Published::text(rds, "r", "2"));
        assert_eq!(client.accept(rds).await.resource("r").text(), "2");
    })
    .await;
}

#[tokio::test]
async fn u05_what_went_during_an_outage_is_removed_only_once_upstream_has_answered() {
    let cds = type_url("cds");
    in_each_dialect(Uses::Nodes, async |mut control_plane, weir, ends| {
        control_plane.set_all(["a", "b"].map(|name| Published::text(cds, name, "1")));
        let mut client = weir.client(ends.downstream, "prod").await;
        client.subscribe(cds, &[]);
        client.accept(cds).await;
        control_plane.wait_for_ack(cds).await;
        let before = control_plane.look(|state| state.streams.len());
        control_plane.stop().await;
        control_plane.remove(cds, "a");
        control_plane.pause();
        control_plane.restart().await;
        let asked = |r: &Request| r.stream >= before && r.type_url == cds;
        control_plane.wait_for_request("the question after the outage", asked).await;
        let mut late = weir.client(ends.downstream, "prod").await;
        late.subscribe(cds, &[]);
        assert_eq!(late.accept(cds).await.names(), ["a", "b"], "not answered yet");

        control_plane.resume();
        for client in [&mut client, &mut late] {
            let received = client.accept(cds).await;
            match ends.downstream {
                Dialect::Delta => assert_eq!(received.removed, ["a"]),
                Dialect::Sotw => assert_eq!(received.names(), ["b"]),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn u05_absence_says_nothing_in_sotw_of_types_without_full_state() {
    let rds = type_url("rds");
    for downstream in DIALECTS {
        let mut control_plane = FakeControlPlane::start().await;
        let weir = Weir::start(control_plane.address(), Dialect::Sotw, Uses::Nodes).await;
        control_plane.set_all(["a", "b"].map(|name| Published::text(rds, name, "1")));
        let mut client = weir.client(downstream, "prod").await;
        client.subscribe(rds, &["a"]);
        client.accept(rds).await;
        client.subscribe(rds, &["b"]);
        client.accept(rds).await;
        control_plane.stop().await;
        control_plane.remove(rds, "a");
        control_plane.set(Published::text(rds, "b", "2"));
        control_plane.restart().await;
        // The answer has come, and `a` is not in it.
        assert_eq!(client.accept(rds).await.texts(), [("b".to_owned(), "2".to_owned())]);
        client.expect_nothing().await;
        let mut late = weir.client(downstream, "prod").await;
        late.subscribe(rds, &["a"]);
        assert_eq!(late.accept(rds).await.names(), ["a"]);
    }
}

/// A response of the test's own.
pub fn delta(type_url: &str, resources: impl IntoIterator<Item = Published>) -> DeltaDiscoveryResponse {
    let resources = resources.into_iter().map(|resource| resource.wrapped(false).encode_to_vec().into());
    DeltaDiscoveryResponse {
        type_url: type_url.to_owned(),
        nonce: "injected".to_owned(),
        resources: resources.collect(),
        ..DeltaDiscoveryResponse::default()
    }
}

/// A delta control plane, a Weir, and a client that has the resources `a` and `b`.
pub async fn with_two(type_url: &str, downstream: Dialect) -> (FakeControlPlane, Weir, XdsClient) {
    let control_plane = FakeControlPlane::start().await;
    let weir = Weir::start(control_plane.address(), Dialect::Delta, Uses::Nodes).await;
    let lasting = |name| Published::text(type_url, name, "1").version("1").ttl(Duration::from_secs(600));
    control_plane.set_all([lasting("a"), lasting("b")]);
    let mut client = weir.client(downstream, "prod").await;
    client.subscribe(type_url, &["a", "b"]);
    // One response or two, as they come.
    let mut names = Vec::new();
    while names.len() < 2 {
        let received = client.accept(type_url).await;
        names.extend(received.resources.into_iter().map(|resource| resource.name));
        names.sort();
        names.dedup();
    }
    control_plane.wait_for_ack(type_url).await;
    (control_plane, weir, client)
}

#[tokio::test]
async fn u06_both_ways_to_say_that_something_does_not_exist_are_understood() {
    let cds = type_url("cds");
    for downstream in DIALECTS {
        for by_name in [true, false] {
            let (control_plane, _weir, mut client) = with_two(cds, downstream).await;
            control_plane.inject_delta(if by_name {
                DeltaDiscoveryResponse { removed_resources: vec!["a".to_owned()], ..delta(cds, []) }
            } else {
                delta(cds, [Published::text(cds, "a", "").version("2").without_body()])
            });
            let received = client.accept(cds).await;
            match downstream {
                Dialect::Delta => assert_eq!(received.removed, ["a"]),
                Dialect::Sotw => assert_eq!(received.names(), ["b"]),
            }
        }
    }
}

#[tokio::test]
async fn u06_a_heartbeat_is_told_apart_from_a_removal() {
    let cds = type_url("cds");
    for downstream in DIALECTS {
        let (control_plane, weir, mut client) = with_two(cds, downstream).await;
        let heartbeat =
            Published::text(cds, "a", "").version("1").ttl(Duration::from_secs(600)).without_body();
        control_plane.inject_delta(delta(cds, [heartbeat]));
        control_plane
            .wait_for_request("its acknowledgement", |r| r.nonce == "injected" && r.error.is_none())
            .await;
        if downstream == Dialect::Delta {
            let received = client.accept(cds).await;
            assert_eq!((received.names(), &received.removed), (vec!["a"], &vec![]));
            assert_eq!(received.resource("a").body, None);
        }
        client.expect_nothing().await;
        let mut late = weir.client(downstream, "prod").await;
        late.subscribe(cds, &["a"]);
        assert_eq!(late.accept(cds).await.resource("a").text(), "1");
    }
}

#[tokio::test]
async fn u07_a_response_is_acknowledged_after_it_is_applied_and_in_order() {
    let cds = type_url("cds");
    in_each_dialect(Uses::Nodes, async |control_plane, weir, ends| {
        control_plane.set(Published::text(cds, "a", "0"));
        let mut client = weir.client(ends.downstream, "prod").await;
        client.subscribe(cds, &[]);
        client.accept(cds).await;
        for i in 1..10 {
            let text = i.to_string();
            control_plane.set(Published::text(cds, "a", &text));
            let acknowledged = |state: &State| {
                let sent = state.sent.iter().filter(|sent| sent.type_url == cds).nth(i)?;
                state.requests.iter().any(|request| request.acknowledges(sent)).then_some(())
            };
            control_plane.wait_for("an acknowledgement", acknowledged).await;
            let mut late = weir.client(ends.downstream, "prod").await;
            late.subscribe(cds, &[]);
            assert_eq!(late.accept(cds).await.resource("a").text(), text);
        }
        control_plane.look(|state| {
            let sent: Vec<_> = state.sent.iter().filter(|s| s.type_url == cds).map(|s| &s.nonce).collect();
            let mut acks: Vec<_> =
                state.requests_for(cds).map(|r| &r.nonce).filter(|n| !n.is_empty()).collect();
            acks.dedup();
            assert_eq!(acks, sent);
        });
    })
    .await;
}

#[tokio::test]
async fn u08_the_node_comes_once_and_announces_what_is_supported() {
    in_each_dialect(Uses::Nodes, async |control_plane, weir, ends| {
        let mut client = weir.client(ends.downstream, "prod").await;
        for short in ["cds", "lds", "rds", "eds"] {
            control_plane.set(Published::text(type_url(short), "a", "1"));
            client.subscribe(type_url(short), &["a"]);
            client.accept(type_url(short)).await;
        }
        control_plane.look(|state| {
            for (number, stream) in state.open_streams() {
                let nodes = state.requests.iter().filter(|r| r.stream == number).map(|r| r.node.is_some());
                let nodes: Vec<_> = nodes.collect();
                assert!(nodes[0] && !nodes[1..].contains(&true), "{nodes:?}");
                let Node { client_features, user_agent_name, .. } = stream.node.clone().unwrap();
                assert_eq!(user_agent_name, "weir");
                assert!(client_features.contains(&"xds.config.resource-in-sotw".to_owned()));
            }
        });
    })
    .await;
}

#[tokio::test]
async fn i06_the_does_not_exist_timeout_answers_when_upstream_is_connected_and_never_while_it_is_away() {
    let rds = type_url("rds");
    let patience = Duration::from_millis(200);
    let hurried = |settings: &mut weir_upstream::Settings| settings.does_not_exist = patience;
    // It never answers for what it does not have.
    let mut away = FakeControlPlane::start().await;
    let there = FakeControlPlane::start().await;
    away.stop().await;
    let waiting = Weir::start_with(away.address(), Dialect::Sotw, Uses::Nodes, hurried).await;
    let answering = Weir::start_with(there.address(), Dialect::Sotw, Uses::Nodes, hurried).await;
    let mut unanswered = waiting.client(Dialect::Delta, "prod").await;
    unanswered.subscribe(rds, &["missing"]);
    // Goes by as long as the timeout needs twice.
    for name in ["missing", "missing too"] {
        let mut client = answering.client(Dialect::Delta, "prod").await;
        client.subscribe(rds, &[name]);
        assert_eq!(client.accept(rds).await.removed, [name]);
    }
    let back = Instant::now();
    away.restart().await;
    assert_eq!(unanswered.accept(rds).await.removed, ["missing"]);
    assert!(back.elapsed() >= patience, "answered before upstream had its chance");
}

#[tokio::test]
async fn o02_a_reconnect_never_brings_an_older_state() {
    let cds = type_url("cds");
    in_each_dialect(Uses::Nodes, async |control_plane, weir, Ends { downstream, .. }| {
        control_plane.set(Published::text(cds, "a", "0"));
        let mut client = weir.client(downstream, "prod").await;
        client.subscribe(cds, &[]);
        client.accept(cds).await;
        let mut newest = 0;
        for i in 1..=30 {
            control_plane.set(Published::text(cds, "a", &i.to_string()));
            if i % 5 == 0 {
                control_plane.reset_streams();
            }
            if i % 3 == 0 {
                while newest < i {
                    let text: u32 = client.accept(cds).await.resource("a").text().parse().expect("a number");
                    assert!(text > newest, "{text} after {newest}");
                    newest = text;
                }
            }
        }
    })
    .await;
}
