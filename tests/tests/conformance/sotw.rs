//! State of the world: s01 to s12.

use std::time::Duration;

use weir_testkit::client::Change;
use weir_testkit::constraints::locator;
use weir_testkit::{Published, XdsClient, node, type_url};
use weir_types::{Absence, Provenance};
use weir_wire::discovery::DiscoveryRequest;

use crate::proxy::{Proxy, brought_by};

/// The types whose responses hold everything, so that absence means deletion.
const FULL_STATE: [&str; 3] = ["cds", "lds", "srds"];

async fn proxy_and_client() -> (Proxy, XdsClient) {
    let proxy = Proxy::start().await;
    let client = XdsClient::sotw(proxy.address(), &node("n")).await;
    (proxy, client)
}

/// A request with a state of the test's own.
fn request(type_url: &str, names: &[&str], version: &str, nonce: &str) -> DiscoveryRequest {
    DiscoveryRequest {
        type_url: type_url.to_owned(),
        resource_names: names.iter().map(|name| (*name).to_owned()).collect(),
        version_info: version.to_owned(),
        response_nonce: nonce.to_owned(),
        ..DiscoveryRequest::default()
    }
}

#[tokio::test]
async fn s01_a_full_state_response_carries_everything_and_deletes_by_absence() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in FULL_STATE.map(type_url) {
        proxy.origin.set_all(["a", "b", "not subscribed"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &["a", "b", "missing"]);
        assert_eq!(client.accept(type_url).await.names(), ["a", "b"]);
        proxy.origin.set(Published::text(type_url, "b", "2"));
        let received = client.accept(type_url).await;
        assert_eq!(received.names(), ["a", "b"]);
        assert_eq!(received.resource("b").text(), "2");
        proxy.origin.remove(type_url, "a");
        assert_eq!(client.accept(type_url).await.names(), ["b"]);
        proxy.origin.remove(type_url, "b");
        assert!(client.accept(type_url).await.resources.is_empty(), "the last one's deletion is sent too");
    }
}

#[tokio::test]
async fn s01_other_types_may_carry_only_what_changed() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["rds", "eds", "sds"].map(type_url) {
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &["a", "b"]);
        assert_eq!(client.accept(type_url).await.names(), ["a", "b"]);
        proxy.origin.set(Published::text(type_url, "b", "2"));
        assert_eq!(client.accept(type_url).await.resource("b").text(), "2");
        proxy.origin.remove(type_url, "a");
        assert_eq!(client.accept(type_url).await.names(), [""; 0], "absence is no deletion");
    }
}

#[tokio::test]
async fn s02_a_stale_nonce_acknowledges_nothing_and_its_names_count_all_the_same() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["eds", "cds"].map(type_url) {
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &["a"]);
        let stale = client.receive_type(type_url).await;
        proxy.origin.set(Published::text(type_url, "a", "2"));
        let newest = client.receive_type(type_url).await;
        assert_ne!(stale.nonce, newest.nonce);

        client.send_sotw(request(type_url, &["a"], &stale.version, &stale.nonce));
        client.send_sotw(request(type_url, &["a"], &stale.version, &stale.nonce));
        client.expect_nothing().await;

        client.send_sotw(request(type_url, &["a", "b"], &stale.version, &stale.nonce));
        assert_eq!(client.receive_type(type_url).await.resource("b").text(), "1");
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn s02_the_first_request_of_a_type_is_accepted_whatever_nonce_it_carries() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["lds", "rds"].map(type_url) {
        proxy.origin.set(Published::text(type_url, "a", "1"));
        client.send_sotw(request(type_url, &["a"], "", "of another stream"));
        assert_eq!(client.receive_type(type_url).await.names(), ["a"]);
    }
}

#[tokio::test]
async fn s03_newly_named_resources_are_sent_even_if_they_were_sent_before() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["eds", "cds"].map(type_url) {
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &["a"]);
        assert_eq!(client.accept(type_url).await.names(), ["a"]);
        for _ in 0..2 {
            client.subscribe(type_url, &["b"]);
            assert_eq!(client.accept(type_url).await.resource("b").text(), "1");
            client.unsubscribe(type_url, &["b"]);
            for answer in client.drain().await {
                client.ack(&answer);
            }
        }
    }
}

#[tokio::test]
async fn s04_a_repeated_request_is_answered_again() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["eds", "cds"].map(type_url) {
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &["a", "b"]);
        client.accept(type_url).await;
        client.expect_nothing().await;
        for _ in 0..2 {
            client.ask_again(type_url);
            assert_eq!(client.accept(type_url).await.names(), ["a", "b"]);
            client.expect_nothing().await;
        }
    }
}

#[tokio::test]
async fn s04_a_repeated_request_after_a_rejection_is_answered_again() {
    let (proxy, mut client) = proxy_and_client().await;
    let eds = type_url("eds");
    proxy.origin.set(Published::text(eds, "a", "bad"));
    client.subscribe(eds, &["a"]);
    let bad = client.receive().await;
    client.nack(&bad, "no");
    client.expect_nothing().await;
    client.ask_again(eds);
    assert_eq!(client.receive().await.resource("a").text(), "bad");
}

#[tokio::test]
async fn s05_no_names_at_first_is_a_wildcard_for_types_that_have_one() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["lds", "cds", "srds", "acme"].map(type_url) {
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &[]);
        assert_eq!(client.accept(type_url).await.names(), ["a", "b"]);
        proxy.origin.set(Published::text(type_url, "c", "1"));
        assert_eq!(client.accept(type_url).await.resource("c").text(), "1");

        // After an explicit name, none means none, and not everything again.
        client.subscribe(type_url, &["a"]);
        client.accept(type_url).await;
        client.unsubscribe(type_url, &["a"]);
        for answer in client.drain().await {
            assert!(answer.resources.is_empty(), "{answer:?}");
            client.ack(&answer);
        }
        proxy.origin.set(Published::text(type_url, "d", "1"));
        proxy.origin.set(Published::text(type_url, "a", "2"));
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn s05_no_names_at_first_is_nothing_yet_for_types_that_have_no_wildcard() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["rds", "eds", "sds", "rtds", "ecds", "vhds", "leds"].map(type_url) {
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &[]);
        client.expect_nothing().await;
        proxy.origin.set(Published::text(type_url, "b", "2"));
        client.expect_nothing().await;
        client.subscribe(type_url, &["a"]);
        assert_eq!(client.accept(type_url).await.names(), ["a"]);
    }
}

#[tokio::test]
async fn s06_a_wildcard_beside_names_is_their_union_and_the_names_outlive_it() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["cds", "acme"].map(type_url) {
        let text = |name, text| Published::text(type_url, name, text);
        proxy.origin.set_all([text("a", "1"), text("b", "1")]);
        client.subscribe(type_url, &["*", "hidden"]);
        client.accept(type_url).await;
        // Nothing that a wildcard covers.
        proxy.database.commit(brought_by(Provenance::Named, &[text("hidden", "1")]));
        let received = client.accept(type_url).await;
        assert_eq!(received.resource("hidden").text(), "1");
        proxy.origin.set(text("b", "2"));
        assert_eq!(client.accept(type_url).await.resource("b").text(), "2");

        client.unsubscribe(type_url, &["*"]);
        for answer in client.drain().await {
            assert_eq!(answer.names(), ["hidden"]);
            client.ack(&answer);
        }
        proxy.origin.set(text("b", "3"));
        client.expect_nothing().await;
        proxy.database.commit(brought_by(Provenance::Named, &[text("hidden", "2")]));
        let received = client.accept(type_url).await;
        assert_eq!(received.texts(), [("hidden".to_owned(), "2".to_owned())]);
    }
}

#[tokio::test]
async fn s07_the_version_is_a_pure_function_of_the_content() {
    let cds = type_url("cds");
    for names in [&[][..], &["a", "b"]] {
        // One replica has seen another history than the other, and resources in another order.
        let (young, mut at_young) = proxy_and_client().await;
        young.origin.set_all([Published::text(cds, "a", "1"), Published::text(cds, "b", "1")]);
        let (old, mut at_old) = proxy_and_client().await;
        old.origin.set(Published::text(cds, "b", "0"));
        old.origin.set(Published::text(cds, "gone", "0"));
        at_old.subscribe(cds, names);
        let before = at_old.accept(cds).await.version;
        old.origin.remove(cds, "gone");
        old.origin.set(Published::text(cds, "b", "1").version("of another server"));
        old.origin.set(Published::text(cds, "a", "1"));
        let mut late = XdsClient::sotw(old.address(), &node("late")).await;
        late.subscribe(cds, names);
        at_young.subscribe(cds, names);

        let version = at_young.accept(cds).await.version;
        assert_eq!(late.accept(cds).await.version, version);
        assert_ne!(before, version);
        young.origin.set(Published::text(cds, "a", "2"));
        assert_ne!(at_young.accept(cds).await.version, version);
        young.origin.set(Published::text(cds, "a", "1"));
        assert_eq!(at_young.accept(cds).await.version, version, "the content is the same again");
    }
}

#[tokio::test]
async fn s08_a_wildcard_that_states_the_current_version_gets_nothing_resent() {
    for type_url in ["lds", "cds"].map(type_url) {
        let (proxy, mut client) = proxy_and_client().await;
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(type_url, name, "1")));
        client.subscribe(type_url, &[]);
        let version = client.accept(type_url).await.version;
        for names in [&[][..], &["*"]] {
            let mut back = XdsClient::sotw(proxy.address(), &node("n")).await;
            back.send_sotw(request(type_url, names, &version, ""));
            back.expect_nothing().await;
            let changed = format!("after {names:?}");
            proxy.origin.set(Published::text(type_url, "b", &changed));
            assert_eq!(back.accept(type_url).await.resource("b").text(), changed);

            let mut changed_meanwhile = XdsClient::sotw(proxy.address(), &node("n")).await;
            changed_meanwhile.send_sotw(request(type_url, names, &version, ""));
            assert_eq!(changed_meanwhile.accept(type_url).await.names(), ["a", "b"]);
            proxy.origin.set(Published::text(type_url, "b", "1"));
        }
    }
}

#[tokio::test]
async fn s08_every_other_subscription_gets_everything_resent() {
    let (proxy, mut client) = proxy_and_client().await;
    for (short, names) in [("cds", &["a"][..]), ("cds", &["*", "a"]), ("eds", &["a"]), ("rds", &["a"])] {
        let type_url = type_url(short);
        proxy.origin.set(Published::text(type_url, "a", "1"));
        client.subscribe(type_url, names);
        let version = client.accept(type_url).await.version;
        let mut back = XdsClient::sotw(proxy.address(), &node("n")).await;
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        back.change(type_url, Change { names, version: Some(version), ..Change::default() });
        assert_eq!(back.accept(type_url).await.names(), ["a"], "{short}");
    }
}

#[tokio::test]
async fn s09_resources_are_wrapped_for_those_who_take_it_and_bare_for_others() {
    let rds = type_url("rds");
    let proxy = Proxy::start_with(|settings| {
        settings.server.downstream.wrap_resources =
            [("wrapping".to_owned(), true), ("bare".to_owned(), false)].into();
    })
    .await;
    proxy.origin.set(Published::text(rds, "a", "1"));
    for (client, wrapped) in [
        (node("n"), false),
        (node("n").feature("xds.config.resource-in-sotw"), true),
        (node("n").feature("xds.config.supports-resource-in-sotw"), true),
        (node("n").user_agent("wrapping"), true),
        (node("n").user_agent("bare").feature("xds.config.resource-in-sotw"), false),
    ] {
        let mut client = XdsClient::sotw(proxy.address(), &client).await;
        client.subscribe(rds, &["a"]);
        assert_eq!(client.accept(rds).await.resource("a").wrapped, wrapped);
    }
    let mut client = XdsClient::sotw(proxy.address(), &node("n")).await;
    client.locate(rds, &[locator("a", &[])]);
    assert!(client.accept(rds).await.resource("a").wrapped, "locators can only be answered in the wrapper");
}

#[tokio::test]
async fn s09_a_ttl_is_carried_to_an_envoy_that_announces_nothing() {
    let rds = type_url("rds");
    let proxy = Proxy::start().await;
    proxy.origin.set(Published::text(rds, "a", "1").ttl(Duration::from_secs(60)));
    proxy.origin.set(Published::text(rds, "b", "1"));
    let mut envoy = XdsClient::sotw(proxy.address(), &node("n").as_large_as_envoy()).await;
    envoy.subscribe(rds, &["a", "b"]);
    let received = envoy.accept(rds).await;
    assert_eq!(received.resource("a").ttl.map(|ttl| ttl.seconds), Some(60));
    assert!(!received.resource("b").wrapped);
}

#[tokio::test]
async fn s10_what_is_missing_holds_nothing_else_back() {
    for short in ["cds", "lds", "rds", "eds"] {
        let type_url = type_url(short);
        for absence in [Absence::Known, Absence::TimedOut] {
            let (proxy, mut client) = proxy_and_client().await;
            proxy.origin.fall_silent();
            proxy.origin.set(Published::text(type_url, "a", "1"));
            client.subscribe(type_url, &["a", "missing"]);
            if FULL_STATE.contains(&short) {
                client.expect_nothing().await;
                proxy.origin.declare_absent(type_url, "missing", absence);
            }
            assert_eq!(client.accept(type_url).await.names(), ["a"], "{short}");
        }
    }
}

#[tokio::test]
async fn s11_the_first_full_state_response_waits_until_each_name_is_known() {
    for type_url in FULL_STATE.map(type_url) {
        let (proxy, mut client) = proxy_and_client().await;
        proxy.origin.fall_silent();
        proxy.origin.set(Published::text(type_url, "a", "1"));
        client.subscribe(type_url, &["a", "b", "c"]);
        client.expect_nothing().await;
        proxy.origin.declare_absent(type_url, "b", Absence::Known);
        client.expect_nothing().await;
        proxy.origin.set(Published::text(type_url, "c", "1"));
        assert_eq!(client.accept(type_url).await.names(), ["a", "c"]);

        // Names that are added later delay nothing.
        client.subscribe(type_url, &["d"]);
        for answer in client.drain().await {
            assert_eq!(answer.names(), ["a", "c"]);
            client.ack(&answer);
        }
        proxy.origin.set(Published::text(type_url, "a", "2"));
        assert_eq!(client.accept(type_url).await.resource("a").text(), "2");
    }
}

#[tokio::test]
async fn s11_the_first_full_state_response_is_sent_even_if_it_is_empty() {
    for type_url in FULL_STATE.map(type_url) {
        let (proxy, mut client) = proxy_and_client().await;
        proxy.origin.fall_silent();
        client.subscribe(type_url, &["missing"]);
        client.expect_nothing().await;
        proxy.origin.declare_absent(type_url, "missing", Absence::Known);
        assert!(client.accept(type_url).await.resources.is_empty());
    }
}

#[tokio::test]
async fn s11_a_wildcard_waits_until_upstream_has_answered() {
    for type_url in FULL_STATE.map(type_url) {
        let (proxy, mut client) = proxy_and_client().await;
        let mut late = XdsClient::sotw(proxy.address(), &node("late")).await;
        proxy.origin.fall_silent();
        client.subscribe(type_url, &[]);
        proxy.origin.set(Published::text(type_url, "a", "1"));
        client.expect_nothing().await;
        proxy.origin.answer_wildcards(type_url);
        assert_eq!(client.accept(type_url).await.names(), ["a"]);

        proxy.origin.remove(type_url, "a");
        assert!(client.accept(type_url).await.resources.is_empty());
        late.subscribe(type_url, &[]);
        assert!(late.accept(type_url).await.resources.is_empty(), "an empty answer is an answer");
    }
}

#[tokio::test]
async fn s12_what_is_subscribed_again_is_sent_although_the_client_knows_its_version() {
    let (proxy, mut client) = proxy_and_client().await;
    for type_url in ["eds", "cds"].map(type_url) {
        proxy.origin.set(Published::text(type_url, "a", "1"));
        client.subscribe(type_url, &["a"]);
        client.accept(type_url).await;
        client.unsubscribe(type_url, &["a"]);
        client.expect_nothing().await;
        // The request states the version and the nonce of the one response there was.
        client.subscribe(type_url, &["a"]);
        assert_eq!(client.accept(type_url).await.resource("a").text(), "1");
    }
}
