//! Ordering between the types of one aggregated stream: o01 to o03.
//!
//! The tests run on one thread and change several types without waiting in between, so that the changes are
//! pending together.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use weir_testkit::client::{Change, DIALECTS, Received};
use weir_testkit::resources::{assignment, eds_cluster, published, static_cluster};
use weir_testkit::{Dialect, Published, XdsClient, node, type_url};

use crate::proxy::{Proxy, in_each_dialect};

#[tokio::test]
async fn o01_pending_changes_leave_in_the_order_in_which_they_depend_on_each_other() {
    let types = ["cds", "eds", "lds", "srds", "rds", "vhds", "acme"].map(type_url);
    in_each_dialect(async |proxy, mut client| {
        for type_url in types.into_iter().rev() {
            proxy.origin.set(Published::text(type_url, "a", "1"));
            client.subscribe(type_url, &["a"]);
            client.accept(type_url).await;
        }
        for round in ["2", "3"] {
            for type_url in types.into_iter().rev() {
                proxy.origin.set(Published::text(type_url, "a", round));
            }
            for type_url in types {
                let received = client.receive().await;
                client.ack(&received);
                assert_eq!(
                    (&*received.type_url, received.resource("a").text()),
                    (type_url, round.to_owned())
                );
            }
        }
    })
    .await;
}

/// Type, names of resources, names of removed ones: in state of the world, those of errors.
fn summary(received: &Received) -> (&str, Vec<&str>, Vec<&str>) {
    let removed = received.removed.iter().map(String::as_str);
    let removed = removed.chain(received.error_codes().into_iter().map(|(name, _)| name)).collect();
    let short = ["cds", "eds", "lds", "rds"].into_iter().find(|short| type_url(short) == received.type_url);
    (short.expect("a type of the test"), received.names(), removed)
}

#[tokio::test]
async fn o01_o05_a_route_is_repointed_make_before_break() {
    let [cds, eds, lds, rds] = ["cds", "eds", "lds", "rds"].map(type_url);
    in_each_dialect(async |proxy, mut client| {
        let text = Published::text;
        proxy.origin.set_all([
            text(cds, "old", ""),
            text(eds, "old", ""),
            text(lds, "l", ""),
            text(rds, "r", "old"),
        ]);
        client.subscribe(cds, &[]);
        client.accept(cds).await;
        for (type_url, names) in [(eds, &["old", "new"][..]), (lds, &["l"]), (rds, &["r"])] {
            client.subscribe(type_url, names);
            client.accept(type_url).await;
        }
        // The worst order in which an upstream can send it.
        proxy.origin.remove(cds, "old");
        proxy.origin.remove(eds, "old");
        proxy.origin.set(text(rds, "r", "new"));
        proxy.origin.set(text(eds, "new", ""));
        proxy.origin.set(text(cds, "new", ""));

        let wanted = match client.dialect() {
            Dialect::Delta => vec![
                ("cds", vec!["new"], vec![]),
                ("eds", vec!["new"], vec![]),
                ("rds", vec!["r"], vec![]),
                ("cds", vec![], vec!["old"]),
            ],
            // In between, a response that still has what will go.
            Dialect::Sotw => vec![
                ("cds", vec!["new", "old"], vec![]),
                ("eds", vec!["new"], vec![]),
                ("rds", vec!["r"], vec![]),
                ("cds", vec!["new"], vec![]),
            ],
        };
        for wanted in wanted {
            let received = client.receive().await;
            client.ack(&received);
            assert_eq!(summary(&received), wanted);
        }
        // It has no use for endpoints without their cluster, and is not sent that they are gone.
        client.unsubscribe(eds, &["old"]);
        client.expect_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn o02_a_client_never_sees_an_older_state_after_a_newer_one() {
    let types = ["cds", "rds"].map(type_url);
    in_each_dialect(async |proxy, mut client| {
        for type_url in types {
            proxy.origin.set(Published::text(type_url, "a", "0"));
            client.subscribe(type_url, &["a"]);
            client.accept(type_url).await;
        }
        let changing = tokio::spawn({
            let origin = proxy.origin.clone();
            async move {
                for i in 1..=500 {
                    for type_url in types {
                        origin.set(Published::text(type_url, "a", &i.to_string()));
                    }
                    if i % 7 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            }
        });
        let mut seen = [0; 2];
        while seen != [500; 2] {
            let received = client.receive().await;
            client.ack(&received);
            let newest = &mut seen[usize::from(received.type_url == types[1])];
            let text: u32 = received.resource("a").text().parse().expect("a number");
            assert!(text > *newest, "{text} after {newest}");
            *newest = text;
        }
        changing.await.expect("the changes are made");
    })
    .await;
}

/// Clusters whose endpoints come by EDS, and their endpoints: `a` by its own name, `b` by a service's.
fn warmable(connect_timeout: &str) -> Vec<Published> {
    let with_timeout = |mut cluster: Value| {
        cluster["connect_timeout"] = json!(connect_timeout);
        cluster
    };
    let mut by_service = eds_cluster("b");
    by_service["eds_cluster_config"]["service_name"] = json!("service");
    let endpoint = [SocketAddr::from(([127, 0, 0, 1], 1))];
    [with_timeout(eds_cluster("a")), with_timeout(by_service), eds_cluster("untouched")]
        .into_iter()
        .chain([with_timeout(static_cluster("static", &endpoint))])
        .chain(["a", "service", "untouched", "static"].map(|name| assignment(name, &endpoint)))
        .map(|resource| published(&resource))
        .collect()
}

/// A proxy with [`warmable`] clusters, and a client that has them all.
async fn warmed(dialect: Dialect) -> (Proxy, XdsClient, [Received; 2]) {
    let proxy = Proxy::start().await;
    proxy.origin.set_all(warmable("1s"));
    let mut client = proxy.client(dialect).await;
    client.subscribe(type_url("cds"), &[]);
    let clusters = client.accept(type_url("cds")).await;
    client.subscribe(type_url("eds"), &["a", "service", "untouched", "static"]);
    let endpoints = client.accept(type_url("eds")).await;
    client.expect_nothing().await;
    (proxy, client, [clusters, endpoints])
}

#[tokio::test]
async fn o03_delta_endpoints_of_changed_clusters_come_again_after_the_clusters() {
    let [cds, eds] = ["cds", "eds"].map(type_url);
    let (proxy, mut client, _) = warmed(Dialect::Delta).await;
    for timeout in ["2s", "3s"] {
        proxy.origin.set_all(warmable(timeout));
        let clusters = client.receive().await;
        assert_eq!((&*clusters.type_url, clusters.names()), (cds, vec!["a", "b", "static"]));
        // Before the clusters are acknowledged, and only for those that wait.
        let endpoints = client.accept(eds).await;
        assert_eq!(endpoints.names(), ["a", "service"]);
        client.ack(&clusters);
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn o03_delta_endpoints_come_again_when_the_change_was_made_while_the_client_was_away() {
    let [cds, eds] = ["cds", "eds"].map(type_url);
    for clusters_first in [true, false] {
        let (proxy, _gone, [clusters, endpoints]) = warmed(Dialect::Delta).await;
        proxy.origin.set_all(warmable("2s"));
        let mut back = XdsClient::delta(proxy.address(), &node("n")).await;
        let mut ask = |type_url, names: &[&str], held: &Received| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let initial_versions = held.versions();
            back.change(type_url, Change { names, initial_versions, ..Change::default() });
        };
        let names = ["a", "service", "untouched", "static"];
        if clusters_first {
            ask(cds, &[], &clusters);
            ask(eds, &names, &endpoints);
        } else {
            ask(eds, &names, &endpoints);
            ask(cds, &[], &clusters);
        }
        let sent = back.receive().await;
        assert_eq!((&*sent.type_url, sent.names()), (cds, vec!["a", "b", "static"]));
        assert_eq!(back.accept(eds).await.names(), ["a", "service"]);
        back.ack(&sent);
        back.expect_nothing().await;
    }
}

#[tokio::test]
async fn o03_a_sotw_client_that_asks_again_while_it_warms_is_answered_before_it_acknowledges() {
    let [cds, eds] = ["cds", "eds"].map(type_url);
    let (proxy, mut client, _) = warmed(Dialect::Sotw).await;
    proxy.origin.set_all(warmable("2s"));
    let clusters = client.receive().await;
    assert_eq!((&*clusters.type_url, clusters.names().len()), (cds, 4));
    client.ask_again(eds);
    assert_eq!(client.accept(eds).await.names(), ["a", "service", "static", "untouched"]);
    client.ack(&clusters);
    client.expect_nothing().await;
}

/// A client that never answers for clusters still learns where its routes point, if later.
#[tokio::test]
async fn o01_o04_clusters_that_nobody_accepts_hold_up_nothing_for_ever() {
    let [cds, rds] = ["cds", "rds"].map(type_url);
    for dialect in DIALECTS {
        let (proxy, mut client, _) = warmed(dialect).await;
        proxy.origin.set(Published::text(rds, "r", "1"));
        client.subscribe(rds, &["r"]);
        client.accept(rds).await;
        // Nobody has endpoints for it.
        proxy.origin.set(published(&eds_cluster("new")));
        let clusters = client.receive().await;
        assert_eq!(&*clusters.type_url, cds);
        proxy.origin.set(Published::text(rds, "r", "2"));
        client.expect_nothing().await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::time::resume();
        assert_eq!(client.accept(rds).await.resource("r").text(), "2", "{dialect:?}");
    }
}
