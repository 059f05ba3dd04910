//! `xdstp://` names: w03 to w07. The spelling of names is proved in `weir-types`, what is sent to control planes
//! in `weir-protocol` and `weir-upstream`.

use weir_testkit::client::{Change, DIALECTS, Received};
use weir_testkit::constraints::{locator, value};
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, type_url};
use weir_wire::discovery::{DeltaDiscoveryResponse, ResourceName};

use crate::proxy::{Proxy, in_each_dialect as at_a_proxy_in_each_dialect};
use crate::weir::{Uses, Weir, in_each_dialect};

const GLOB: &str = "xdstp:///T/dir/*?k=v";
const A: &str = "xdstp:///T/dir/a?k=v";
const B: &str = "xdstp:///T/dir/b?k=v";
const C: &str = "xdstp:///T/dir/c?k=v";

/// Names that look like members, and are not.
const OTHERS: [&str; 5] = [
    "xdstp:///T/dir/a",
    "xdstp:///T/dir/a?k=w",
    "xdstp:///T/dir/deeper/a?k=v",
    "xdstp:///T/other/a?k=v",
    "xdstp://else.example/T/dir/a?k=v",
];

/// The next response that has something in it.
async fn accept_some(client: &mut XdsClient, type_url: &str) -> Received {
    loop {
        let received = client.accept(type_url).await;
        if !received.resources.is_empty() {
            return received;
        }
    }
}

#[tokio::test]
async fn w03_names_are_equal_whatever_the_order_of_their_parameters() {
    let (asked, stored) = ("xdstp://auth/T/a?b=2&a=1", "xdstp://auth/T/a?%61=1&b=2");
    let canonical = "xdstp://auth/T/a?a=1&b=2";
    for short in ["cds", "eds", "acme"] {
        let type_url = type_url(short);
        at_a_proxy_in_each_dialect(async |proxy, mut client| {
            proxy.origin.set(Published::text(type_url, stored, "1"));
            client.subscribe(type_url, &[asked]);
            let received = client.accept(type_url).await;
            assert_eq!(received.resources.len(), 1);
            assert_eq!(received.resources[0].text(), "1");
            if received.resources[0].wrapped {
                assert_eq!(received.names(), [canonical]);
            }
            proxy.origin.set(Published::text(type_url, canonical, "2"));
            assert_eq!(client.accept(type_url).await.resources.len(), 1, "the same resource");
            client.unsubscribe(type_url, &[asked]);
            client.drain().await;
            proxy.origin.set(Published::text(type_url, canonical, "3"));
            client.expect_nothing().await;
        })
        .await;
    }
}

#[tokio::test]
async fn w03_a_returning_client_may_spell_its_names_differently() {
    let (proxy, eds) = (Proxy::start().await, type_url("eds"));
    proxy.origin.set(Published::text(eds, "xdstp://auth/T/a?a=1&b=2", "1"));
    let mut client = proxy.client(Dialect::Delta).await;
    client.subscribe(eds, &["xdstp://auth/T/a?b=2&a=1"]);
    let version = client.accept(eds).await.resources[0].version.clone();
    let mut back = proxy.client(Dialect::Delta).await;
    back.change(
        eds,
        Change {
            names: vec!["xdstp://auth/T/a?b=2&a=1".to_owned()],
            initial_versions: [("xdstp://auth/T/a?b=2&a=1".to_owned(), version)].into(),
            ..Change::default()
        },
    );
    back.expect_nothing().await;
}

#[tokio::test]
async fn w07_a_removal_counts_in_whatever_spelling_it_comes() {
    let (canonical, spelling) = ("xdstp:///T/a?a=2&b=1", "xdstp:///T/a?b=1&a=2");
    let cds = type_url("cds");
    for (uses, located) in [(Uses::Nodes, false), (Uses::Locators, false), (Uses::Locators, true)] {
        for dialect in DIALECTS {
            let control_plane = uses.control_plane().await;
            control_plane.set(Published::text(cds, canonical, "1"));
            let weir = Weir::start(control_plane.address(), Dialect::Delta, uses).await;
            let mut client = weir.client(dialect, "prod").await;
            client.subscribe(cds, &[spelling]);
            assert_eq!(client.accept(cds).await.texts(), [(canonical.to_owned(), "1".to_owned())]);
            let removed = ResourceName { name: spelling.into(), dynamic_parameter_constraints: None };
            control_plane.inject_delta(DeltaDiscoveryResponse {
                type_url: cds.into(),
                removed_resources: if located { Vec::new() } else { vec![spelling.into()] },
                removed_resource_names: if located { vec![removed] } else { Vec::new() },
                ..DeltaDiscoveryResponse::default()
            });
            let received = client.accept(cds).await;
            assert!(received.resources.is_empty(), "{dialect:?} {located}");
            if dialect == Dialect::Delta {
                assert_eq!(received.removed, [canonical]);
            }
        }
    }
}

#[tokio::test]
async fn w03_what_nobody_can_answer_is_answered_at_once_and_hurts_nobody_else() {
    for (short, missing) in [
        ("cds", "xdstp://nobody.example/envoy.config.cluster.v3.Cluster/a"),
        ("eds", "xdstp://nobody.example/envoy.config.cluster.v3.Cluster/a"),
        ("cds", "xdstp:///T"),
        ("eds", "xdstp:///T/a?b=1&b=2"),
    ] {
        let type_url = type_url(short);
        in_each_dialect(Uses::Nodes, async |control_plane, weir, ends| {
            control_plane.set(Published::text(type_url, "a", "1"));
            let mut client = weir.client(ends.downstream, "prod").await;
            client.subscribe(type_url, &["a", missing]);
            let mut removed = Vec::new();
            loop {
                let received = client.accept(type_url).await;
                removed.extend(received.removed);
                if !received.resources.is_empty() {
                    assert_eq!(received.resources[0].text(), "1");
                    break;
                }
            }
            if ends.downstream == Dialect::Delta {
                while removed.is_empty() {
                    removed.extend(client.accept(type_url).await.removed);
                }
                assert_eq!(removed, [missing]);
            }
            client.expect_nothing().await;
            let asked = control_plane.look(|s| s.requests.iter().any(|r| r.asks_for(missing)));
            assert!(!asked, "it is nobody's to answer");
        })
        .await;
    }
}

#[tokio::test]
async fn w04_a_glob_is_fetched_and_served_as_such() {
    for (short, uses) in [("cds", Uses::Nodes), ("cds", Uses::Locators), ("acme", Uses::Locators)] {
        let type_url = type_url(short);
        in_each_dialect(uses, async |control_plane, weir, ends| {
            control_plane
                .set_all([A, B].iter().chain(&OTHERS).map(|name| Published::text(type_url, name, "1")));
            let mut client = weir.client(ends.downstream, "prod").await;
            client.subscribe(type_url, &[GLOB]);
            assert_eq!(client.accept(type_url).await.names(), [A, B]);
            client.expect_nothing().await;
            control_plane.look(|state| {
                let named = state.requests.iter().any(|r| r.asks_for(A) || r.asks_for("*"));
                assert!(!named && state.requests.iter().any(|r| r.asks_for(GLOB)), "the glob, by its name");
            });

            control_plane.set(Published::text(type_url, C, "1"));
            let more = client.accept(type_url).await;
            assert!(more.names().contains(&C));
            control_plane.set(Published::text(type_url, A, "2"));
            assert_eq!(client.accept(type_url).await.resource(A).text(), "2");
            let sent = ends.upstream == Dialect::Delta || short == "cds";
            if sent {
                control_plane.remove(type_url, B);
                match (ends.downstream, short) {
                    (Dialect::Delta, _) => assert_eq!(client.accept(type_url).await.removed, [B]),
                    (_, "cds") => assert_eq!(client.accept(type_url).await.names(), [A, C]),
                    _ => {}
                }
            }
        })
        .await;
    }
}

#[tokio::test]
async fn w04_an_empty_glob_is_answered_by_its_name() {
    let cds = type_url("cds");
    for uses in [Uses::Nodes, Uses::Locators] {
        in_each_dialect(uses, async |control_plane, weir, ends| {
            control_plane.set_all(OTHERS.map(|name| Published::text(cds, name, "1")));
            let mut client = weir.client(ends.downstream, "prod").await;
            client.subscribe(cds, &[GLOB]);
            let received = client.accept(cds).await;
            assert!(received.resources.is_empty());
            if ends.downstream == Dialect::Delta {
                assert_eq!(
                    (&*received.removed, received.removed_variants.len()),
                    (&[GLOB.to_owned()][..], 0)
                );
                let mut located = weir.client(Dialect::Delta, "prod").await;
                located.locate(cds, &[locator(GLOB, &[("env", "prod")])]);
                let received = located.accept(cds).await;
                assert_eq!(received.removed_variants[0].name, GLOB);
            }
            control_plane.set(Published::text(cds, A, "1"));
            assert_eq!(client.accept(cds).await.names(), [A]);
        })
        .await;
    }
}

#[tokio::test]
async fn w04_a_glob_by_locators_has_the_variants_that_match() {
    let cds = type_url("cds");
    in_each_dialect(Uses::Locators, async |control_plane, weir, ends| {
        let of =
            |name: &str, env: &'static str| Published::text(cds, name, env).constrained(value("env", env));
        control_plane.set_all([of(A, "prod"), of(A, "test"), of(B, "test")]);
        for (env, wanted) in [("prod", &[A][..]), ("test", &[A, B])] {
            let mut client = weir.client(ends.downstream, "none").await;
            client.locate(cds, &[locator(GLOB, &[("env", env)])]);
            let received = accept_some(&mut client, cds).await;
            assert_eq!(received.names(), wanted, "{env}");
            assert!(received.texts().iter().all(|(_, text)| text == env));
        }
    })
    .await;
}

#[tokio::test]
async fn w04_a_returning_client_is_told_what_is_gone_of_a_glob() {
    let proxy = Proxy::start().await;
    for type_url in ["cds", "eds"].map(type_url) {
        proxy.origin.set_all([A, B].map(|name| Published::text(type_url, name, "1")));
        let mut client = proxy.client(Dialect::Delta).await;
        client.subscribe(type_url, &[GLOB]);
        let held = client.accept(type_url).await.versions();
        proxy.origin.remove(type_url, A);
        let mut back = proxy.client(Dialect::Delta).await;
        let names = vec![GLOB.to_owned()];
        back.change(type_url, Change { names, initial_versions: held, ..Change::default() });
        let sent = back.accept(type_url).await;
        assert_eq!((sent.names().len(), &*sent.removed), (0, &[A.to_owned()][..]));
        back.expect_nothing().await;
    }
}

#[tokio::test]
async fn w05_lists_and_redirects_pass_unchanged() {
    let lds = type_url("lds");
    let list = "type.googleapis.com/envoy.config.listener.v3.ListenerCollection";
    let redirect = "type.googleapis.com/xds.core.v3.ResourceLocator";
    let (entry, alt) = ("xdstp:///L/a#entry=foo", "xdstp:///L/a?z=1&b=2#alt=xdstp://other/L/b?z=1&a=2");
    for upstream in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        let weir = Weir::start(control_plane.address(), upstream, Uses::Nodes).await;
        let body = |of: &str| Published::new(of, "", b"\x0a\x03any").body;
        // Wrapped in either dialect, since such a body does not carry the resource's name.
        let published = |type_url: &str, name: &str, of: &str| Published {
            body: body(of),
            ..Published::text(type_url, name, "").alias("wrapped")
        };
        control_plane.set_all([
            published(list, A, list),
            published(lds, B, list),
            published(lds, C, redirect),
            published(lds, entry, redirect),
        ]);
        let mut client = weir.client(Dialect::Delta, "prod").await;
        for (type_url, name, of) in
            [(list, A, list), (lds, B, list), (lds, C, redirect), (lds, entry, redirect)]
        {
            client.subscribe(type_url, &[name]);
            let received = client.accept(type_url).await;
            assert_eq!(received.resource(name).body, body(of));
        }
        client.subscribe(lds, &[alt]);
        let canonical = "xdstp:///L/a?b=2&z=1#alt=xdstp://other/L/b?z=1&a=2";
        control_plane.wait_for_request("the name with its directive", |r| r.asks_for(canonical)).await;
    }
}

#[tokio::test]
async fn w06_a_name_that_is_part_of_a_glob_is_sent_once() {
    for type_url in ["cds", "eds"].map(type_url) {
        at_a_proxy_in_each_dialect(async |proxy, mut client| {
            proxy.origin.set_all([A, B].map(|name| Published::text(type_url, name, "1")));
            client.subscribe(type_url, &[GLOB, A]);
            assert_eq!(client.accept(type_url).await.names(), [A, B]);
            proxy.origin.set(Published::text(type_url, A, "2"));
            assert_eq!(client.accept(type_url).await.resource(A).text(), "2");
            client.expect_nothing().await;
            if client.dialect() == Dialect::Delta {
                client.unsubscribe(type_url, &[A]);
                assert_eq!(client.accept(type_url).await.names(), [A], "i04: the glob goes on");
                client.subscribe(type_url, &[A, C]);
                assert_eq!(client.accept(type_url).await.removed, [C]);
                client.unsubscribe(type_url, &[C]);
                assert_eq!(client.accept(type_url).await.removed, [C], "i04: the glob has not got it");
            }
            client.unsubscribe(type_url, &[GLOB]);
            client.drain().await;
            for name in [A, B, C] {
                proxy.origin.set(Published::text(type_url, name, "3"));
            }
            for sent in client.drain().await {
                client.ack(&sent);
                assert!(!sent.names().contains(&C) && sent.resources.iter().all(|r| r.text() != "1"));
            }
        })
        .await;
    }
}
