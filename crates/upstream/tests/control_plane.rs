//! Weir's upstream side against a control plane, over real gRPC.
#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod world;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use weir_protocol::Dialect;
use weir_testkit::control_plane::{Request, State};
use weir_testkit::{FakeControlPlane, Published, constraints, type_url};
use weir_wire::discovery::{DeltaDiscoveryResponse, DiscoveryResponse};

use crate::world::{World, native, streams, text};

const BOTH: [Dialect; 2] = [Dialect::Delta, Dialect::Sotw];

fn cluster(name: &str, content: &str) -> Published {
    Published::text(type_url("cds"), name, content)
}

fn endpoints(name: &str, content: &str) -> Published {
    Published::text(type_url("eds"), name, content)
}

#[tokio::test]
async fn u02_what_is_wanted_comes_and_follows_every_change() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start().await;
        upstream.set_all([cluster("a", "1"), cluster("b", "1"), cluster("c", "1")]);
        let world = World::start(vec![streams(&upstream, dialect, &[])]);
        let view = world.view("cds", &["a{pod=x}", "b{pod=x}"]);
        let other = world.view("cds", &["a{pod=y}"]);
        view.until_shows(&[("a", "1"), ("b", "1")]).await;
        other.until_shows(&[("a", "1")]).await;
        upstream.set(cluster("a", "2"));
        view.until_shows(&[("a", "2"), ("b", "1")]).await;
        other.until_shows(&[("a", "2")]).await;
        upstream.remove(type_url("cds"), "b");
        view.until_shows(&[("a", "2")]).await;
        upstream.wait_for_ack(type_url("cds")).await;
        let asked =
            upstream.look(|s| s.requests.iter().filter(|r| r.asks_for("a") && r.nonce.is_empty()).count());
        assert_eq!((asked, upstream.look(|s| s.streams.len())), (1, 1), "{dialect}: once for both");
    }
}

#[tokio::test]
async fn u02_what_nobody_wants_any_more_is_unsubscribed() {
    let upstream = FakeControlPlane::start().await;
    upstream.set_all([cluster("a", "1"), cluster("b", "1")]);
    let world = World::start(vec![streams(&upstream, Dialect::Delta, &[])]);
    let (a, b) = (world.view("cds", &["a"]), world.view("cds", &["b"]));
    a.until_shows(&[("a", "1")]).await;
    b.until_shows(&[("b", "1")]).await;
    drop(a);
    upstream.wait_for_request("an unsubscription", |r| r.unsubscribed == ["a"]).await;
    drop(b);
    upstream.wait_until_alone().await;
    assert!(world.status.streams().iter().all(|stream| stream.idle));
}

#[tokio::test]
async fn u12_much_is_asked_for_in_portions() {
    let upstream = FakeControlPlane::start().await;
    let world = World::start(vec![streams(&upstream, Dialect::Delta, &[])]);
    let names: Vec<_> = (0..1000).map(|n| n.to_string()).collect();
    upstream.set_all(names.iter().map(|name| endpoints(name, "1")));
    let first = world.view("eds", &["0"]);
    first.until_shows(&[("0", "1")]).await;
    let view = world.view("eds", &names.iter().map(String::as_str).collect::<Vec<_>>());
    world.until("all have come", |_| view.shown().len() == names.len()).await;
    let sizes = upstream.look(|s| s.requests.iter().map(|r| r.names.len()).collect::<Vec<_>>());
    assert_eq!(sizes.iter().sum::<usize>(), names.len());
    assert!(sizes.iter().all(|size| *size < 750), "{sizes:?}");
}

#[tokio::test]
async fn u03_an_outage_withdraws_nothing_and_a_reconnect_asks_for_differences() {
    let mut upstream = FakeControlPlane::start().await;
    upstream.set_all([cluster("a", "1"), cluster("b", "1")]);
    let world = World::start(vec![streams(&upstream, Dialect::Delta, &[])]);
    let view = world.view("cds", &["*"]);
    view.until_shows(&[("a", "1"), ("b", "1")]).await;
    upstream.stop().await;
    world.until("the outage is noticed", |w| !w.status.is_connected("")).await;
    view.shows(&[("a", "1"), ("b", "1")]);
    upstream.remove(type_url("cds"), "b");
    upstream.set(cluster("c", "1"));
    upstream.restart().await;
    view.until_shows(&[("a", "1"), ("c", "1")]).await;
    let again = upstream.wait_for_request("versions", |r| !r.initial_versions.is_empty()).await;
    let mut names: Vec<_> = again.initial_versions.into_keys().collect();
    names.sort();
    assert_eq!(names, ["a", "b"]);
    world.until("all is well again", World::is_in_sync).await;
}

#[tokio::test]
async fn u03_a_reconnect_states_the_last_version_of_sotw() {
    let upstream = FakeControlPlane::start().await;
    upstream.set(endpoints("a", "1"));
    let world = World::start(vec![streams(&upstream, Dialect::Sotw, &[])]);
    let view = world.view("eds", &["a"]);
    view.until_shows(&[("a", "1")]).await;
    upstream.wait_for_ack(type_url("eds")).await;
    upstream.reset_streams();
    let again = upstream.wait_for_request("a new stream", |r| r.stream == 1).await;
    assert!(!again.version.is_empty() && again.nonce.is_empty() && again.node.is_some());
    view.shows(&[("a", "1")]);
}

#[tokio::test]
async fn u08_the_node_goes_with_the_first_request_only() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start().await;
        upstream.set_all([cluster("a", "1"), endpoints("a", "1")]);
        let world = World::start(vec![streams(&upstream, dialect, &[])]);
        let (clusters, assignments) = (world.view("cds", &["a"]), world.view("eds", &["a"]));
        clusters.until_shows(&[("a", "1")]).await;
        assignments.until_shows(&[("a", "1")]).await;
        upstream.wait_for_ack(type_url("cds")).await;
        upstream.wait_for_ack(type_url("eds")).await;
        let nodes: Vec<_> = upstream.look(|s| s.requests.iter().filter_map(|r| r.node.clone()).collect());
        assert_eq!(nodes.len(), 1, "{dialect}");
        assert_eq!((&*nodes[0].id, &*nodes[0].user_agent_name), ("weir-1", "weir"));
        assert_eq!(
            nodes[0].client_features,
            ["xds.config.resource-in-sotw", "xds.config.supports-resource-ttl", "weir.trace-context"]
        );
    }
}

#[tokio::test]
async fn e03_one_nack_names_what_is_bad_and_the_rest_is_applied() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start().await;
        upstream.set_all([cluster("a", "1"), cluster("b", "1")]);
        let world = World::start(vec![streams(&upstream, dialect, &[])]);
        let view = world.view("cds", &["a", "b"]);
        view.until_shows(&[("a", "1"), ("b", "1")]).await;
        let (good, foreign) = (cluster("a", "2").wrapped(false), endpoints("b", "2").wrapped(false));
        inject(&upstream, dialect, "bad", [good, foreign]);
        view.until_shows(&[("a", "2"), ("b", "1")]).await;
        let nack = upstream.wait_for_request("a NACK", |r| r.error.is_some()).await;
        let message = nack.error.map(|error| error.message).unwrap_or_default();
        assert!(message.starts_with("b: the body is of type"), "{dialect}: {message}");
        assert_eq!(nack.nonce, "bad");
        assert_ne!(nack.version, "bad");
    }
}

/// Sends clusters that were not asked for, in a response with this nonce.
fn inject<const N: usize>(
    upstream: &FakeControlPlane,
    dialect: Dialect,
    nonce: &str,
    resources: [weir_wire::discovery::Resource; N],
) {
    match dialect {
        Dialect::Delta => upstream.inject_delta(DeltaDiscoveryResponse {
            type_url: type_url("cds").into(),
            nonce: nonce.into(),
            resources: resources.iter().map(prost_encoded).collect(),
            ..DeltaDiscoveryResponse::default()
        }),
        Dialect::Sotw => upstream.inject_sotw(DiscoveryResponse {
            type_url: type_url("cds").into(),
            nonce: nonce.into(),
            version_info: nonce.into(),
            resources: resources.into_iter().filter_map(|r| r.resource).collect(),
            ..DiscoveryResponse::default()
        }),
    }
}

#[tokio::test]
async fn u07_a_control_plane_that_resends_what_was_rejected_does_not_spin() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start().await;
        upstream.set(cluster("b", "1"));
        let world = World::start(vec![streams(&upstream, dialect, &[])]);
        let view = world.view("cds", &["b"]);
        view.until_shows(&[("b", "1")]).await;
        let begun = Instant::now();
        for nonce in ["1", "2", "3", "4", "5", "6"] {
            inject(&upstream, dialect, nonce, [endpoints("b", "2").wrapped(false)]);
            upstream.wait_for_request("a NACK", |r| r.error.is_some() && r.nonce == nonce).await;
        }
        // The third is deferred by 100 ms, the next ones by twice that each.
        assert!(begun.elapsed() >= Duration::from_millis(1500), "{dialect}: {:?}", begun.elapsed());
        view.shows(&[("b", "1")]);
    }
}

fn prost_encoded(resource: &weir_wire::discovery::Resource) -> bytes::Bytes {
    prost::Message::encode_to_vec(resource).into()
}

#[tokio::test]
async fn p15_each_parameter_set_has_a_stream_with_a_node_of_its_own() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start().await;
        upstream.set_all([
            cluster("a", "prod").for_metadata("env", "prod"),
            cluster("a", "test").for_metadata("env", "test"),
            cluster("b", "prod").for_metadata("env", "prod"),
        ]);
        let world = World::start(vec![streams(&upstream, dialect, &["env"])]);
        let prod = world.view("cds", &["*{env=prod,pod=1}"]);
        let test = world.view("cds", &["*{env=test,pod=2}"]);
        let second = world.view("cds", &["*{env=prod,pod=3}"]);
        prod.until_shows(&[("a", "prod"), ("b", "prod")]).await;
        test.until_shows(&[("a", "test")]).await;
        second.until_shows(&[("a", "prod"), ("b", "prod")]).await;
        world.until("a wildcard that was answered is complete", |_| second.is_settled()).await;
        assert_eq!(second.constraints_of("a"), "env=prod");
        let ids: Vec<_> = upstream.look(|s| {
            let mut ids: Vec<_> =
                s.streams.iter().filter_map(|stream| Some(stream.node.clone()?.id)).collect();
            ids.sort();
            ids
        });
        assert_eq!(ids, ["weir-1-prod", "weir-1-test"]);
        drop(test);
        world.until("its stream is closed", |w| w.status.streams().len() == 1).await;
    }
}

#[tokio::test]
async fn p19_a_control_plane_that_goes_by_nodes_has_nothing_for_who_has_none() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start().await;
        upstream.set(cluster("a", "prod"));
        let world = World::start(vec![streams(&upstream, dialect, &["env", "weir.node"])]);
        let view = world.view("cds", &["*{env=prod}", "a{env=prod}"]);
        world.until("it is known that nothing comes", |_| view.is_settled()).await;
        view.until_shows(&[]).await;
        upstream.look(|state| assert_eq!(state.streams.len(), 0));
    }
}

#[tokio::test]
async fn p14_a_control_plane_that_speaks_tp2_gets_locators_on_one_stream() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start_tp2().await;
        upstream.set_all([
            cluster("a", "prod").constrained(constraints::value("env", "prod")),
            cluster("a", "test").constrained(constraints::value("env", "test")),
        ]);
        let world = World::start(vec![native(&upstream, dialect)]);
        let (prod, test) = (world.view("cds", &["a{env=prod}"]), world.view("cds", &["a{env=test}"]));
        prod.until_shows(&[("a", "prod")]).await;
        test.until_shows(&[("a", "test")]).await;
        assert_eq!(upstream.look(|s| s.streams.len()), 1, "{dialect}");
        assert!(upstream.look(|s| s.requests.iter().all(|r| r.names.is_empty())));

        upstream.change(|published| published.retain(|r| text(r) != "prod"));
        prod.until_shows(&[]).await;
        test.shows(&[("a", "test")]);
        upstream.reset_streams();
        upstream.set(cluster("a", "prod again").constrained(constraints::value("env", "prod")));
        prod.until_shows(&[("a", "prod again")]).await;
        test.shows(&[("a", "test")]);
    }
}

#[tokio::test]
async fn w01_names_of_a_type_with_a_wildcard_go_on_a_stream_of_their_own() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start().await;
        upstream.set_all([cluster("a", "1"), endpoints("a", "1")]);
        let world = World::start(vec![streams(&upstream, dialect, &[])]);
        let named = world.view("cds", &["a"]);
        named.until_shows(&[("a", "1")]).await;
        let wildcard = world.view("cds", &["*"]);
        wildcard.until_shows(&[("a", "1")]).await;
        let assignments = world.view("eds", &["a"]);
        assignments.until_shows(&[("a", "1")]).await;
        world.until("both streams are in sync", |w| w.status.streams().len() == 2 && w.is_in_sync()).await;
        upstream.set(cluster("a", "2"));
        named.until_shows(&[("a", "2")]).await;
        wildcard.until_shows(&[("a", "2")]).await;
        let shared = upstream.look(|s| {
            let open = |r: &&Request| s.streams[r.stream].open;
            let requests = || s.requests_for(type_url("cds")).filter(open);
            let by_name: Vec<_> = requests().filter(|r| r.asks_for("a")).map(|r| r.stream).collect();
            let is_wildcard =
                |r: &&Request| r.asks_for("*") || (dialect == Dialect::Sotw && r.names.is_empty());
            assert!(!by_name.is_empty() && requests().any(|r| is_wildcard(&r)));
            requests().filter(is_wildcard).any(|r| by_name.contains(&r.stream))
        });
        assert!(!shared, "{dialect}");
    }
}

#[tokio::test]
async fn u04_the_next_endpoint_is_tried_when_one_is_unreachable() {
    let upstream = FakeControlPlane::start().await;
    upstream.set(cluster("a", "1"));
    let mut dead = FakeControlPlane::start().await;
    dead.stop().await;
    let mut settings = streams(&upstream, Dialect::Delta, &[]);
    settings.endpoints.insert(0, dead.uri());
    let world = World::start(vec![settings]);
    world.view("cds", &["a"]).until_shows(&[("a", "1")]).await;
}

#[tokio::test]
async fn a_response_may_be_larger_than_the_usual_limit() {
    let upstream = FakeControlPlane::start().await;
    let large = "x".repeat(5 << 20);
    upstream.set(cluster("a", &large));
    let world = World::start(vec![streams(&upstream, Dialect::Delta, &[])]);
    world.view("cds", &["a"]).until_shows(&[("a", &large)]).await;
}

#[tokio::test]
async fn a_shutdown_closes_all_streams_and_withdraws_nothing() {
    let upstream = FakeControlPlane::start().await;
    upstream.set(cluster("a", "1"));
    let mut world = World::start(vec![streams(&upstream, Dialect::Delta, &[])]);
    let view = world.view("cds", &["a"]);
    view.until_shows(&[("a", "1")]).await;
    world.stop().await.expect("stops in good order");
    upstream.wait_until_alone().await;
    view.shows(&[("a", "1")]);
}

#[tokio::test]
async fn names_of_an_authority_without_a_source_are_known_to_be_absent() {
    let upstream = FakeControlPlane::start().await;
    let world = World::start(vec![streams(&upstream, Dialect::Delta, &[])]);
    let view = world.view("cds", &["xdstp://nobody.example/envoy.config.cluster.v3.Cluster/a"]);
    world.until("it is answered", |_| view.is_settled()).await;
}

#[tokio::test]
async fn a_client_of_its_own_shows_what_comes() {
    use weir_upstream::client::{Client, Event};
    let upstream = FakeControlPlane::start().await;
    upstream.set(cluster("a", "1"));
    let mut client = Client::start(streams(&upstream, Dialect::Sotw, &[]));
    let cds = weir_types::TypeUrl::from_short_name("cds").expect("known");
    client.subscribe(&cds, weir_types::ResourceLocator::new("*", weir_types::DynamicParameters::empty()));
    let applied = loop {
        match client.next().await.expect("goes on") {
            Event::Applied(applied) => break applied,
            Event::Disconnected { reason, .. } => panic!("{reason}"),
            _ => {}
        }
    };
    assert_eq!(&**applied.batch.upserts[0].name(), "a");
    assert!(applied.batch.upserts[0].key().constraints.is_unconstrained());
}

/// What a stream was asked for.
fn types_on(state: &State, stream: usize) -> BTreeSet<&str> {
    let stated = state.requests.iter().filter(|request| request.stream == stream);
    stated.map(|request| &*request.type_url).collect()
}

#[tokio::test]
async fn e05_a_stream_that_knows_too_many_types_gives_way_to_one_that_knows_what_is_wanted() {
    for dialect in BOTH {
        let upstream = FakeControlPlane::start().await;
        upstream.set(cluster("a", "1"));
        let world = World::start(vec![streams(&upstream, dialect, &[])]);
        let view = world.view("cds", &["a"]);
        view.until_shows(&[("a", "1")]).await;
        let made_up = |number| weir_types::TypeUrl::new(format!("type.googleapis.com/made.up.Type{number}"));
        let views: Vec<_> = (0..300).map(|number| world.view_of(&made_up(number), &["a"])).collect();
        upstream.wait_for("all types", |state| (types_on(state, 0).len() == 301).then_some(())).await;
        drop(views);
        let next = |state: &State| {
            let mut open = state.streams.iter().map(|stream| stream.open);
            (open.next() == Some(false) && open.next() == Some(true)).then_some(())
        };
        upstream.wait_for("another stream", next).await;
        upstream.set(cluster("a", "2"));
        view.until_shows(&[("a", "2")]).await;
        upstream.look(|state| {
            let types = types_on(state, 1);
            assert!(types.len() <= 300 - 256, "{dialect}: not those that had been given up: {types:?}");
            assert_eq!(state.streams.len(), 2, "{dialect}");
        });
    }
}
