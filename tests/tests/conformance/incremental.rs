//! Incremental: i01 to i07, and i11 to i13.

use std::collections::BTreeMap;

use weir_testkit::client::Change;
use weir_testkit::constraints::{locator, value};
use weir_testkit::{Published, XdsClient, node, type_url};
use weir_types::{Absence, Provenance};
use weir_wire::discovery::DeltaDiscoveryRequest;

use crate::proxy::{Proxy, brought_by};

async fn proxy_and_client() -> (Proxy, XdsClient) {
    let proxy = Proxy::start().await;
    let client = another_client(&proxy).await;
    (proxy, client)
}

async fn another_client(proxy: &Proxy) -> XdsClient {
    XdsClient::delta(proxy.address(), &node("n")).await
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The first request of a client that holds resources from an earlier stream.
fn return_with(client: &mut XdsClient, type_url: &str, names: &[&str], held: &BTreeMap<String, String>) {
    let initial_versions = held.clone();
    client.change(type_url, Change { names: owned(names), initial_versions, ..Change::default() });
}

#[tokio::test]
async fn i01_subscriptions_count_whatever_the_nonce() {
    let (proxy, mut client) = proxy_and_client().await;
    let eds = type_url("eds");
    proxy.origin.set_all(["a", "b"].map(|name| Published::text(eds, name, "1")));
    client.subscribe(eds, &["a"]);
    client.accept(eds).await;
    client.send_delta(DeltaDiscoveryRequest {
        type_url: eds.to_owned(),
        response_nonce: "never given".to_owned(),
        resource_names_subscribe: owned(&["b"]),
        resource_names_unsubscribe: owned(&["a"]),
        ..DeltaDiscoveryRequest::default()
    });
    assert_eq!(client.accept(eds).await.names(), ["b"]);
    proxy.origin.set(Published::text(eds, "a", "2"));
    client.expect_nothing().await;
}

#[tokio::test]
async fn i01_phantom_unsubscriptions_are_ignored() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["eds", "cds"].map(type_url) {
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &["a"]);
        client.accept(type_url).await;
        client.unsubscribe(type_url, &["b", "phantom", "*"]);
        client.expect_nothing().await;
        proxy.origin.set(Published::text(type_url, "a", "2"));
        assert_eq!(client.accept(type_url).await.names(), ["a"]);
    }
}

#[tokio::test]
async fn i02_what_is_subscribed_again_is_sent_again() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["eds", "cds"].map(type_url) {
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &["a", "b"]);
        client.accept(type_url).await;
        client.subscribe(type_url, &["a"]);
        assert_eq!(client.accept(type_url).await.names(), ["a"]);
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn i03_no_names_at_first_is_a_wildcard_that_lasts_until_it_is_taken_back() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["lds", "cds", "srds", "acme"].map(type_url) {
        proxy.origin.set(Published::text(type_url, "a", "1"));
        client.subscribe(type_url, &[]);
        assert_eq!(client.accept(type_url).await.names(), ["a"]);
        client.subscribe(type_url, &["a"]);
        client.accept(type_url).await;
        proxy.origin.set(Published::text(type_url, "b", "1"));
        assert_eq!(client.accept(type_url).await.names(), ["b"], "the wildcard lasts beside the name");

        client.unsubscribe(type_url, &["*"]);
        client.expect_nothing().await;
        proxy.origin.set(Published::text(type_url, "b", "2"));
        client.expect_nothing().await;
        proxy.origin.set(Published::text(type_url, "a", "2"));
        assert_eq!(client.accept(type_url).await.names(), ["a"], "the name outlives the wildcard");
    }
}

#[tokio::test]
async fn i03_other_types_have_no_wildcard_without_a_star() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["rds", "eds", "sds", "rtds", "ecds", "leds"].map(type_url) {
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &[]);
        client.expect_nothing().await;
        client.subscribe(type_url, &["a"]);
        assert_eq!(client.accept(type_url).await.names(), ["a"]);
        client.subscribe(type_url, &["*"]);
        assert!(client.accept(type_url).await.names().contains(&"b"));
    }
}

#[tokio::test]
async fn i04_unsubscribing_from_what_a_wildcard_covers_is_answered() {
    let (proxy, mut client) = proxy_and_client().await;
    let cds = type_url("cds");
    proxy.origin.set_all(["a", "b"].map(|name| Published::text(cds, name, "1")));
    client.subscribe(cds, &["*", "a", "hidden", "missing"]);
    client.accept(cds).await;
    proxy.database.commit(brought_by(Provenance::Named, &[Published::text(cds, "hidden", "1")]));
    assert_eq!(client.accept(cds).await.names(), ["hidden"]);

    client.unsubscribe(cds, &["a"]);
    let kept = client.accept(cds).await;
    assert_eq!((kept.names(), kept.removed.len()), (vec!["a"], 0));
    for gone in ["hidden", "missing"] {
        client.unsubscribe(cds, &[gone]);
        let answer = client.accept(cds).await;
        assert_eq!((answer.resources.len(), answer.removed), (0, owned(&[gone])));
    }
    client.expect_nothing().await;
}

#[tokio::test]
async fn i05_a_returning_client_is_sent_only_what_differs() {
    for (short, names) in [("cds", &[][..]), ("cds", &["*"]), ("eds", &["changed", "gone", "new", "same"])] {
        let (proxy, mut client) = proxy_and_client().await;
        let type_url = type_url(short);
        proxy.origin.set_all(["changed", "gone", "same"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, names);
        let held = client.accept(type_url).await.versions();
        proxy.origin.set_all(["changed", "new"].map(|name| Published::text(type_url, name, "2")));
        proxy.origin.remove(type_url, "gone");

        let mut back = another_client(&proxy).await;
        return_with(&mut back, type_url, names, &held);
        let sent = back.accept(type_url).await;
        assert_eq!((sent.names(), &sent.removed), (vec!["changed", "new"], &owned(&["gone"])));
        back.expect_nothing().await;
    }
}

#[tokio::test]
async fn i05_a_stated_name_that_is_not_subscribed_is_ignored() {
    let (proxy, mut client) = proxy_and_client().await;
    let eds = type_url("eds");
    proxy.origin.set_all(["a", "b", "not subscribed"].map(|name| Published::text(eds, name, "1")));
    client.subscribe(eds, &["a", "b", "not subscribed"]);
    let mut held = client.accept(eds).await.versions();
    held.insert("not there either".to_owned(), "7".to_owned());
    proxy.origin.set_all(["b", "not subscribed"].map(|name| Published::text(eds, name, "2")));
    let mut back = another_client(&proxy).await;
    return_with(&mut back, eds, &["a", "b"], &held);
    let sent = back.accept(eds).await;
    assert_eq!((sent.names(), sent.removed.len()), (vec!["b"], 0));
    back.expect_nothing().await;
}

#[tokio::test]
async fn i06_a_missing_name_is_told_as_soon_as_it_is_known() {
    for short in ["cds", "eds", "rds"] {
        for absence in [Absence::Known, Absence::TimedOut] {
            let (proxy, mut client) = proxy_and_client().await;
            let type_url = type_url(short);
            proxy.origin.fall_silent();
            client.subscribe(type_url, &["missing"]);
            client.expect_nothing().await;
            proxy.origin.declare_absent(type_url, "missing", absence);
            assert_eq!(client.accept(type_url).await.removed, ["missing"]);
            client.expect_nothing().await;
            proxy.origin.set(Published::text(type_url, "missing", "now"));
            assert_eq!(client.accept(type_url).await.names(), ["missing"]);
        }
    }
}

#[tokio::test]
async fn i06_the_timeout_never_answers_for_a_name_that_the_client_holds() {
    let (proxy, mut client) = proxy_and_client().await;
    let eds = type_url("eds");
    proxy.origin.fall_silent();
    let held = ["held", "known"].map(|name| (name.to_owned(), "1".to_owned())).into();
    return_with(&mut client, eds, &["held", "known", "other"], &held);
    client.expect_nothing().await;
    for name in ["held", "known", "other"] {
        proxy.origin.declare_absent(eds, name, Absence::TimedOut);
    }
    assert_eq!(client.accept(eds).await.removed, ["other"]);
    client.expect_nothing().await;
    proxy.origin.declare_absent(eds, "known", Absence::Known);
    assert_eq!(client.accept(eds).await.removed, ["known"], "what upstream sends is believed");
}

#[tokio::test]
async fn i07_the_version_of_a_resource_is_a_hash_of_what_the_client_gets() {
    let (proxy, mut client) = proxy_and_client().await;
    let (rds, prod) = (type_url("rds"), locator("a", &[("env", "prod")]));
    proxy.origin.set(Published::text(rds, "a", "1").version("upstream-1"));
    client.subscribe(rds, &["a"]);
    let version = client.accept(rds).await.resource("a").version.clone();
    assert_ne!(version, "upstream-1");
    proxy.origin.set(Published::text(rds, "a", "2").version("upstream-1"));
    assert_ne!(client.accept(rds).await.resource("a").version, version);
    proxy.origin.set(Published::text(rds, "a", "1").version("upstream-3"));
    assert_eq!(client.accept(rds).await.resource("a").version, version);

    // For who is sent the constraints, they count.
    let constrained = |env| Published::text(rds, "a", "1").constrained(value("env", env));
    proxy.origin.replace(|_| true, [constrained("prod"), constrained("test")]);
    let mut versions = BTreeMap::new();
    for env in ["prod", "test"] {
        let mut client = another_client(&proxy).await;
        client.locate(rds, &[locator("a", &[("env", env)])]);
        versions.insert(client.accept(rds).await.resource("a").version.clone(), env);
    }
    let mut client = another_client(&proxy).await;
    client.locate(rds, &[prod]);
    assert_eq!(versions.get(&client.accept(rds).await.resource("a").version), Some(&"prod"));
    assert_eq!(versions.len(), 2);
    assert!(!versions.contains_key(&version));
}

#[tokio::test]
async fn i11_a_client_that_lands_on_another_replica_gets_nothing_resent() {
    for (short, names) in [("cds", &[][..]), ("lds", &["*", "a"]), ("eds", &["a", "b"]), ("vhds", &["r/a"])] {
        let type_url = type_url(short);
        let resources = |version| {
            ["a", "b"].map(|name| {
                let resource = Published::text(type_url, name, "1").version(version);
                if name == "a" { resource.alias("r/a") } else { resource }
            })
        };
        let (first, mut client) = proxy_and_client().await;
        first.origin.set_all(resources("1"));
        client.subscribe(type_url, names);
        let held = client.accept(type_url).await.versions();

        let (second, mut client) = proxy_and_client().await;
        second.origin.set(Published::text(type_url, "b", "0"));
        second.origin.set_all(resources("of a fallback server"));
        return_with(&mut client, type_url, names, &held);
        for answer in client.drain().await {
            assert!(answer.resources.is_empty() && answer.removed.is_empty(), "{answer:?}");
        }
        second.origin.set(Published::text(type_url, "a", "2").alias("r/a"));
        assert_eq!(client.accept(type_url).await.names(), ["a"]);
    }
}

#[tokio::test]
async fn i12_a_resource_without_body_passes_unchanged_and_is_not_removed_beside() {
    let (proxy, mut client) = proxy_and_client().await;
    let vhds = type_url("vhds");
    proxy.origin.set(Published::text(vhds, "r/vh1", "1").alias("r/one.test"));
    proxy.origin.set(Published::text(vhds, "r/none.test", "").alias("r/none.test").without_body());
    client.subscribe(vhds, &["r/none.test"]);
    let received = client.accept(vhds).await;
    let none = received.resource("r/none.test");
    assert_eq!((&none.body, &none.ttl), (&None, &None));
    assert_eq!((&none.aliases, received.removed.len()), (&owned(&["r/none.test"]), 0));

    // As Envoy comes back: with the alias among the names, and the missing host without a version.
    let mut back = another_client(&proxy).await;
    let held = [("r/vh1", "1"), ("r/none.test", "")].map(|(name, v)| (name.to_owned(), v.to_owned())).into();
    return_with(&mut back, vhds, &["*", "r/none.test", "r/one.test"], &held);
    let sent = back.accept(vhds).await;
    assert_eq!((sent.names(), &sent.removed), (vec!["r/vh1"], &owned(&["r/none.test"])));
    back.expect_nothing().await;
    // As it comes back to Weir, with the version of the answer: it is sent nothing again.
    let mut again = another_client(&proxy).await;
    return_with(&mut again, vhds, &["*", "r/none.test", "r/one.test"], &received.versions());
    assert_eq!(again.accept(vhds).await.names(), ["r/vh1"], "i11");
    // The name is asked for again: the request that it is for waits for an answer.
    again.subscribe(vhds, &["r/none.test"]);
    assert_eq!(again.accept(vhds).await.resource("r/none.test").body, None, "i14");
}

#[tokio::test]
async fn i12_no_name_is_both_sent_and_removed() {
    let (proxy, mut client) = proxy_and_client().await;
    let vhds = type_url("vhds");
    // The name is asked for, and turns out to be the alias of what another name brings.
    proxy.origin.set(Published::text(vhds, "r/vh1", "1").alias("r/one.test"));
    client.subscribe(vhds, &["r/one.test", "r/vh1", "r/two.test"]);
    let received = client.accept(vhds).await;
    assert_eq!((received.names(), &received.removed), (vec!["r/two.test", "r/vh1"], &Vec::new()));
    assert_eq!(received.resource("r/two.test").body, None, "i14");
    proxy
        .origin
        .replace(|old| old.name == "r/vh1", [Published::text(vhds, "r/two.test", "2").alias("r/vh1")]);
    for sent in client.drain().await {
        let twice = sent.removed.iter().find(|gone| sent.names().contains(&gone.as_str()));
        assert_eq!(twice, None, "{sent:?}");
    }
}

#[tokio::test]
async fn i13_the_first_nameless_request_of_vhds_is_no_wildcard() {
    let (proxy, mut client) = proxy_and_client().await;
    let vhds = type_url("vhds");
    proxy.origin.set_all([
        Published::text(vhds, "r/vh1", "1").alias("r/one.test"),
        Published::text(vhds, "r/vh2", "1").alias("r/two.test"),
    ]);
    client.subscribe(vhds, &[]);
    client.expect_nothing().await;
    client.subscribe(vhds, &["r/one.test"]);
    assert_eq!(client.accept(vhds).await.names(), ["r/vh1"]);
    // Nor is the star that Envoy makes of it when it comes back.
    let mut back = another_client(&proxy).await;
    back.subscribe(vhds, &["*", "r/one.test"]);
    assert_eq!(back.accept(vhds).await.names(), ["r/vh1"]);
    proxy.origin.set(Published::text(vhds, "r/vh2", "2").alias("r/two.test"));
    back.expect_nothing().await;
    client.expect_nothing().await;
}
