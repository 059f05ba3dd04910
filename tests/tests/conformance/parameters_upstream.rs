//! Dynamic parameters (TP2) on the side of control planes: p03, p05, p06 and p09 as far as upstream sends it, p10,
//! and p14 to p16; with the wildcards of w01 and w02.

use std::collections::BTreeSet;

use prost::Message as _;
use weir_testkit::client::{Change, DIALECTS, Received};
use weir_testkit::constraints::{all, exists, locator, not, value, variant};
use weir_testkit::control_plane::{Request, State};
use weir_testkit::resource::metadata;
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, type_url};
use weir_wire::discovery::{DeltaDiscoveryResponse, DynamicParameterConstraints, ResourceName};

use crate::parameters::{r_for, variant_for};
use crate::weir::{Uses, Weir, in_each_dialect};

/// A TP2 control plane with a good variant of `r`, a Weir that uses delta with it, and a client that has it.
async fn with_good_variant(downstream: Dialect) -> (FakeControlPlane, Weir, XdsClient) {
    let control_plane = FakeControlPlane::start_tp2().await;
    let weir = Weir::start(control_plane.address(), Dialect::Delta, Uses::Locators).await;
    control_plane.set(variant_for("prod", "good"));
    let mut client = weir.client(downstream, "prod").await;
    client.locate(type_url("rds"), &[r_for("prod")]);
    client.accept(type_url("rds")).await;
    control_plane.wait_for_ack(type_url("rds")).await;
    (control_plane, weir, client)
}

/// Has the control plane send these variants of `r`, and gives the message of the NACK.
async fn nack_of(control_plane: &FakeControlPlane, variants: &[Published]) -> String {
    let resources = variants.iter().map(|variant| variant.wrapped(true).encode_to_vec().into()).collect();
    control_plane.inject_delta(DeltaDiscoveryResponse {
        type_url: type_url("rds").to_owned(),
        nonce: "injected".to_owned(),
        resources,
        ..DeltaDiscoveryResponse::default()
    });
    let nack = control_plane.wait_for_request("a NACK", |request| request.error.is_some()).await;
    assert_eq!(nack.nonce, "injected");
    nack.error.expect("it is a NACK").message
}

fn nested(depth: usize) -> DynamicParameterConstraints {
    (0..depth).fold(exists("env"), |inner, _| not(inner))
}

#[tokio::test]
async fn p03_constraints_that_nest_too_deep_are_rejected_with_the_path() {
    let rds = type_url("rds");
    for downstream in DIALECTS {
        let (control_plane, _weir, mut client) = with_good_variant(downstream).await;
        control_plane.set(Published::text(rds, "deep", "as deep as is allowed").constrained(nested(32)));
        client.locate(rds, &[locator("deep", &[("env", "prod")])]);
        assert_eq!(client.accept(rds).await.resource("deep").text(), "as deep as is allowed");
        let message = nack_of(&control_plane, &[variant_for("prod", "2").constrained(nested(33))]).await;
        for part in ["r: ", "nest deeper than 32", "not.not.not"] {
            assert!(message.contains(part), "{message}");
        }
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn p05_a_constraint_without_a_type_is_rejected_and_the_good_content_stays() {
    let rds = type_url("rds");
    for downstream in DIALECTS {
        let (control_plane, weir, mut client) = with_good_variant(downstream).await;
        let untyped = all([value("env", "prod"), DynamicParameterConstraints::default()]);
        let message = nack_of(&control_plane, &[variant_for("prod", "bad").constrained(untyped)]).await;
        assert!(message.contains("r: ") && message.contains("without a type at and[1]"), "{message}");
        client.expect_nothing().await;
        let mut late = weir.client(downstream, "prod").await;
        late.locate(rds, &[r_for("prod")]);
        assert_eq!(late.accept(rds).await.resource("r").text(), "good");
    }
}

#[tokio::test]
async fn p06_two_variants_with_equal_constraints_are_rejected_by_name() {
    for downstream in DIALECTS {
        let (control_plane, _weir, mut client) = with_good_variant(downstream).await;
        // Equal once they are normalised.
        let same = variant_for("prod", "two").constrained(not(not(all([value("env", "prod")]))));
        let message = nack_of(&control_plane, &[variant_for("prod", "one"), same]).await;
        assert!(message.contains("r[env=prod]") || message.contains("r: "), "{message}");
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn p09_a_removal_by_plain_name_is_about_the_unconstrained_variant() {
    let rds = type_url("rds");
    for downstream in DIALECTS {
        let (control_plane, _weir, mut client) = with_good_variant(downstream).await;
        client.locate(rds, &[locator("r", &[])]);
        assert!(client.accept(rds).await.resources.is_empty());
        control_plane.set(Published::text(rds, "r", "free"));
        assert_eq!(client.accept(rds).await.resource("r").text(), "free");
        control_plane.inject_delta(DeltaDiscoveryResponse {
            type_url: rds.to_owned(),
            nonce: "injected".to_owned(),
            removed_resources: vec!["r".to_owned()],
            ..DeltaDiscoveryResponse::default()
        });
        let gone = client.accept(rds).await;
        assert!(gone.resources.is_empty(), "{gone:#?}");
        match downstream {
            Dialect::Delta => {
                assert_eq!((gone.removed, gone.removed_variants.len()), (vec!["r".to_owned()], 0))
            }
            Dialect::Sotw => assert_eq!(removed_by_error(&gone), [variant("r", None)]),
        }
        control_plane.set(variant_for("prod", "still there"));
        assert_eq!(client.accept(rds).await.resource("r").text(), "still there");
    }
}

fn removed_by_error(received: &Received) -> Vec<ResourceName> {
    received.errors.iter().filter_map(|error| error.resource_name.clone()).collect()
}

#[tokio::test]
async fn p10_a_locator_that_matches_what_is_held_is_served_at_once_and_confirmed_upstream() {
    let rds = type_url("rds");
    in_each_dialect(Uses::Locators, async |control_plane, weir, ends| {
        control_plane.set(variant_for("prod", "1"));
        let mut first = weir.client(ends.downstream, "prod").await;
        first.locate(rds, &[r_for("prod")]);
        first.accept(rds).await;
        control_plane.pause();
        let other = locator("r", &[("env", "prod"), ("zone", "b")]);
        let mut second = weir.client(ends.downstream, "prod").await;
        second.locate(rds, std::slice::from_ref(&other));
        assert_eq!(second.accept(rds).await.resource("r").text(), "1", "before upstream has answered");
        control_plane.wait_for_request("the question", |request| request.locators.contains(&other)).await;
    })
    .await;
}

/// The open streams that ever asked for names, or the wildcard, of a type.
fn streams_for(state: &State, wanted: impl Fn(&Request) -> bool) -> BTreeSet<usize> {
    state.requests.iter().filter(|request| wanted(request)).map(|request| request.stream).collect()
}

#[tokio::test]
async fn p14_a_tp2_upstream_is_asked_by_locators_for_all_parameter_sets_on_one_stream() {
    let [rds, eds] = ["rds", "eds"].map(type_url);
    in_each_dialect(Uses::Locators, async |control_plane, weir, ends| {
        for env in ["prod", "test"] {
            control_plane.set(variant_for(env, env));
            control_plane.set(Published::text(eds, "e", env).constrained(value("env", env)));
        }
        for env in ["prod", "test"] {
            let mut plain = weir.client(ends.downstream, env).await;
            plain.subscribe(rds, &["r"]);
            assert_eq!(plain.accept(rds).await.resource("r").text(), env);
            plain.subscribe(eds, &["e"]);
            assert_eq!(plain.accept(eds).await.resource("e").text(), env);
            let mut located = weir.client(ends.downstream, "other").await;
            located.locate(rds, &[r_for(env)]);
            assert_eq!(located.accept(rds).await.resource("r").constraints, Some(value("env", env)));
        }
        control_plane.look(|state| {
            assert_eq!(state.streams.len(), 1);
            assert!(state.requests.iter().all(|request| request.names.is_empty()), "locators only");
            for env in ["prod", "test"] {
                assert!(state.requests.iter().any(|request| request.locators.contains(&r_for(env))));
            }
        });
    })
    .await;
}

#[tokio::test]
async fn p15_another_upstream_has_one_stream_per_parameter_set_with_a_node_made_of_it() {
    let rds = type_url("rds");
    in_each_dialect(Uses::Nodes, async |control_plane, weir, ends| {
        for env in ["prod", "test"] {
            control_plane.set(Published::text(rds, "r", env).for_metadata("env", env));
        }
        for env in ["prod", "test"] {
            let mut plain = weir.client(ends.downstream, env).await;
            plain.subscribe(rds, &["r"]);
            assert_eq!(plain.accept(rds).await.resource("r").text(), env);
            // Keys that the upstream does not know make no further set.
            let mut located = weir.client(ends.downstream, "other").await;
            located.locate(rds, &[locator("r", &[("env", env), ("pod", "web-7")])]);
            let received = located.accept(rds).await;
            let resource = received.resource("r");
            assert_eq!((resource.text(), &resource.constraints), (env.to_owned(), &Some(value("env", env))));
        }
        control_plane.look(|state| {
            let nodes = state.streams.iter().map(|stream| stream.node.clone().expect("it has asked"));
            let mut nodes: Vec<_> = nodes.map(|node| (metadata(&node, "env"), node.id)).collect();
            nodes.sort();
            let of = |env: &str| (Some(env.to_owned()), format!("weir-{env}"));
            assert_eq!(nodes, [of("prod"), of("test")]);
            assert!(state.requests.iter().all(|request| request.locators.is_empty()));
        });
    })
    .await;
}

#[tokio::test]
async fn p15_what_comes_for_clients_without_the_key_is_constrained_to_its_absence() {
    let rds = type_url("rds");
    in_each_dialect(Uses::Nodes, async |control_plane, weir, ends| {
        control_plane.set(Published::text(rds, "r", "for all"));
        let mut client = weir.client(ends.downstream, "prod").await;
        client.locate(rds, &[locator("r", &[])]);
        assert_eq!(client.accept(rds).await.resource("r").constraints, Some(not(exists("env"))));
        client.locate(rds, &[r_for("prod")]);
        let received = client.accept(rds).await;
        let constraints: Vec<_> = received.resources.iter().map(|r| r.constraints.clone()).collect();
        assert!(constraints.contains(&Some(value("env", "prod"))), "{constraints:?}");
    })
    .await;
}

/// What a client is served of a proxy: bodies, versions and constraints by name and locator.
async fn served_by(weir: &Weir, dialect: Dialect) -> Vec<Received> {
    let [cds, rds] = ["cds", "rds"].map(type_url);
    let mut served = Vec::new();
    for env in ["prod", "test"] {
        let mut plain = weir.client(dialect, env).await;
        plain.subscribe(cds, &[]);
        served.push(plain.accept(cds).await);
        plain.subscribe(rds, &["r"]);
        served.push(plain.accept(rds).await);
        let mut located = weir.client(dialect, "other").await;
        located.locate(cds, &[locator("*", &[("env", env)])]);
        served.push(located.accept(cds).await);
        located.locate(rds, &[r_for(env)]);
        served.push(located.accept(rds).await);
    }
    for received in &mut served {
        // Of the stream, not of the content.
        received.nonce.clear();
        received.bytes = 0;
    }
    served
}

#[tokio::test]
async fn p16_a_weir_behind_a_weir_gives_its_clients_the_same_bytes() {
    let [cds, rds] = ["cds", "rds"].map(type_url);
    for between in DIALECTS {
        for downstream in DIALECTS {
            println!("{between:?} between, {downstream:?} below:");
            let control_plane = FakeControlPlane::start().await;
            for env in ["prod", "test"] {
                let of = |type_url, name, env: &str| {
                    Published::text(type_url, name, env).version("its own").for_metadata("env", env)
                };
                control_plane.set_all([of(cds, "a", env), of(cds, env, env), of(rds, "r", env)]);
            }
            let near = Weir::start(control_plane.address(), Dialect::Delta, Uses::Nodes).await;
            let far = Weir::start(near.proxy.address(), between, Uses::Locators).await;
            let through_two = served_by(&far, downstream).await;
            let through_one = served_by(&near, downstream).await;
            assert_eq!(format!("{through_two:#?}"), format!("{through_one:#?}"));
            assert_eq!(through_two[0].names(), ["a", "prod"]);
            assert_eq!(through_two[3].resource("r").constraints, Some(value("env", "prod")));

            if between == Dialect::Delta {
                // Sent at once through both, where it can be sent.
                let mut empty = far.client(downstream, "dev").await;
                empty.subscribe(cds, &[]);
                assert!(empty.accept(cds).await.resources.is_empty());
            }
            let mut client = far.client(downstream, "prod").await;
            client.subscribe(rds, &["r"]);
            client.accept(rds).await;
            control_plane.set(Published::text(rds, "r", "new").for_metadata("env", "prod"));
            assert_eq!(client.accept(rds).await.resource("r").text(), "new");
        }
    }
}

#[tokio::test]
async fn w01_wildcards_and_names_of_a_type_travel_on_different_streams() {
    let cds = type_url("cds");
    for uses in [Uses::Nodes, Uses::Locators] {
        in_each_dialect(uses, async |control_plane, weir, ends| {
            control_plane.set_all(["a", "b"].map(|name| Published::text(cds, name, "1")));
            let mut named = weir.client(ends.downstream, "prod").await;
            // Named first, so that the names have to make way for the wildcard.
            named.subscribe(cds, &["a"]);
            assert_eq!(named.accept(cds).await.names(), ["a"]);
            let mut wildcard = weir.client(ends.downstream, "prod").await;
            wildcard.subscribe(cds, &[]);
            assert_eq!(wildcard.accept(cds).await.names(), ["a", "b"]);
            named.change(cds, Change { names: vec!["b".to_owned()], ..Change::default() });
            assert!(named.accept(cds).await.names().contains(&"b"));
            control_plane.wait_for_request("b by its name", |r| r.type_url == cds && r.asks_for("b")).await;

            control_plane.look(|state| {
                let newest =
                    |stream| state.requests_for(cds).filter(|r| r.stream == stream).collect::<Vec<_>>();
                let by_name = streams_for(state, |r| r.type_url == cds && r.asks_for("b"));
                let [stream] = by_name.into_iter().collect::<Vec<_>>()[..] else { panic!("on one stream") };
                let wild = |r: &&Request| r.asks_for("*") || r.names.is_empty() && r.locators.is_empty();
                let opening = newest(stream)[0];
                assert!(!wild(&opening), "names without a wildcard: {opening:?}");
                let wildcards = streams_for(state, |r| r.type_url == cds && r.asks_for("*"));
                let legacy = streams_for(state, |r| r.type_url == cds && wild(&r) && r.nonce.is_empty());
                assert!(!wildcards.union(&legacy).any(|other| *other == stream));
            });
        })
        .await;
    }
}

#[tokio::test]
async fn w02_the_wildcards_of_two_parameter_sets_are_two_sets_upstream_too() {
    let cds = type_url("cds");
    for uses in [Uses::Nodes, Uses::Locators] {
        in_each_dialect(uses, async |control_plane, weir, ends| {
            let of = |name: &str, env: &str| {
                let resource = Published::text(cds, name, env);
                match uses {
                    Uses::Nodes => resource.for_metadata("env", env),
                    Uses::Locators => resource.constrained(value("env", env)),
                }
            };
            control_plane.set_all([of("a", "prod"), of("a", "test"), of("b", "test")]);
            let mut clients = Vec::new();
            for (env, wanted) in [("prod", &["a"][..]), ("test", &["a", "b"])] {
                let mut client = weir.client(ends.downstream, env).await;
                client.subscribe(cds, &[]);
                let received = client.accept(cds).await;
                assert_eq!(received.names(), wanted, "{env}");
                assert!(received.texts().iter().all(|(_, text)| text == env));
                clients.push(client);
            }
            control_plane.set(of("c", "prod"));
            assert!(clients[0].accept(cds).await.names().contains(&"c"));
            clients[1].expect_nothing().await;
        })
        .await;
    }
}
