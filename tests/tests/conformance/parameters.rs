//! Dynamic parameters (TP2), on the side of clients: p01 to p11. Where parameters come from is in `rules`.

use weir_testkit::client::{Change, DIALECTS};
use weir_testkit::constraints::{all, any, exists, locator, not, value, variant};
use weir_testkit::{Dialect, Published, XdsClient, node, type_url};
use weir_wire::discovery::ResourceLocator;

use crate::proxy::{Proxy, env_from_metadata, in_each_dialect};

const NOT_FOUND: i32 = 5;

/// The variant of `r` for one environment.
pub fn variant_for(env: &str, text: &str) -> Published {
    Published::text(type_url("rds"), "r", text).constrained(value("env", env))
}

/// `r` for a client of one environment.
pub fn r_for(env: &str) -> ResourceLocator {
    locator("r", &[("env", env)])
}

#[tokio::test]
async fn p01_locators_are_accepted_alone_and_beside_plain_names() {
    let rds = type_url("rds");
    in_each_dialect(async |proxy, mut client| {
        proxy.origin.set_all([variant_for("prod", "prod"), Published::text(rds, "plain", "1")]);
        client.locate(rds, &[r_for("prod")]);
        assert_eq!(client.accept(rds).await.resource("r").text(), "prod");

        let mut mixed = proxy.client(client.dialect()).await;
        let (names, locators) = (vec!["plain".to_owned()], vec![r_for("prod")]);
        mixed.change(rds, Change { names, locators, ..Change::default() });
        let received = mixed.accept(rds).await;
        assert_eq!(received.names(), ["plain", "r"]);
        assert!(received.resource("r").located && !received.resource("plain").located);

        mixed.unlocate(rds, &[r_for("prod")]);
        mixed.expect_nothing().await;
        proxy.origin.set(variant_for("prod", "2"));
        mixed.expect_nothing().await;
        proxy.origin.set(Published::text(rds, "plain", "2"));
        assert_eq!(mixed.accept(rds).await.texts(), [("plain".to_owned(), "2".to_owned())]);
    })
    .await;
}

#[tokio::test]
async fn p01_a_request_with_locators_only_is_no_legacy_wildcard() {
    let cds = type_url("cds");
    in_each_dialect(async |proxy, mut client| {
        proxy.origin.set_all(["a", "b"].map(|name| Published::text(cds, name, "1")));
        client.locate(cds, &[locator("a", &[])]);
        assert_eq!(client.accept(cds).await.names(), ["a"]);
        proxy.origin.set(Published::text(cds, "b", "2"));
        client.expect_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn p02_a_locator_gets_the_variant_that_matches_and_only_that_one() {
    let rds = type_url("rds");
    in_each_dialect(async |proxy, mut client| {
        proxy.origin.set_all([variant_for("prod", "1"), variant_for("test", "1")]);
        client.locate(rds, &[r_for("test")]);
        let received = client.accept(rds).await;
        assert_eq!(received.resources.len(), 1);
        assert_eq!(received.resource("r").constraints, Some(value("env", "test")));
        proxy.origin.set(variant_for("prod", "2"));
        client.expect_nothing().await;
        proxy.origin.set(variant_for("test", "2"));
        assert_eq!(client.accept(rds).await.resource("r").text(), "2");
    })
    .await;
}

#[tokio::test]
async fn p03_constraints_nest() {
    let rds = type_url("rds");
    let (prod, test) = (value("env", "prod"), value("env", "test"));
    let nested = all([any([prod, test]), not(all([exists("canary"), not(value("canary", "no"))]))]);
    in_each_dialect(async |proxy, client| {
        proxy.origin.set(Published::text(rds, "r", "nested").constrained(nested.clone()));
        for (parameters, matches) in [
            (&[("env", "prod")][..], true),
            (&[("env", "test"), ("canary", "no")], true),
            (&[("env", "test"), ("canary", "yes")], false),
            (&[("env", "dev")], false),
            (&[("canary", "no")], false),
            (&[], false),
        ] {
            let mut client = proxy.client(client.dialect()).await;
            client.locate(rds, &[locator("r", parameters)]);
            let received = client.accept(rds).await;
            assert_eq!(received.names(), if matches { vec!["r"] } else { vec![] }, "{parameters:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn p04_unknown_keys_do_not_prevent_a_match() {
    let rds = type_url("rds");
    in_each_dialect(async |proxy, mut client| {
        proxy.origin.set_all([variant_for("prod", "1"), Published::text(rds, "free", "1")]);
        let parameters = [("env", "prod"), ("pod", "web-7"), ("zone", "a")];
        client.locate(rds, &[locator("r", &parameters), locator("free", &parameters)]);
        assert_eq!(client.accept(rds).await.names(), ["free", "r"]);
    })
    .await;
}

#[tokio::test]
async fn p05_no_constraints_match_everyone_an_empty_and_too_and_an_empty_or_nobody() {
    let rds = type_url("rds");
    in_each_dialect(async |proxy, client| {
        proxy.origin.set_all([
            Published::text(rds, "free", "1"),
            Published::text(rds, "and", "1").constrained(all([])),
            Published::text(rds, "or", "1").constrained(any([])),
        ]);
        for parameters in [&[][..], &[("env", "prod")], &[("zone", "a"), ("env", "test")]] {
            let mut client = proxy.client(client.dialect()).await;
            client.locate(rds, &["free", "and", "or"].map(|name| locator(name, parameters)));
            assert_eq!(client.accept(rds).await.names(), ["and", "free"], "{parameters:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn p06_two_variants_of_one_name_may_come_in_one_response() {
    let rds = type_url("rds");
    in_each_dialect(async |proxy, mut client| {
        proxy.origin.set_all([variant_for("prod", "p"), variant_for("test", "t")]);
        client.locate(rds, &[r_for("prod"), r_for("test")]);
        let received = client.accept(rds).await;
        assert_eq!(received.texts().iter().map(|(_, text)| text).collect::<Vec<_>>(), ["p", "t"]);
        // A variant that both locators select is one resource, and comes once.
        let both = Published::text(rds, "r", "both").constrained(exists("env"));
        proxy.origin.replace(|_| true, [both]);
        assert_eq!(client.accept(rds).await.resource("r").text(), "both");
    })
    .await;
}

#[tokio::test]
async fn p07_constraints_are_sent_to_those_who_asked_by_locator_only() {
    let rds = type_url("rds");
    for dialect in DIALECTS {
        let proxy = Proxy::start_with(env_from_metadata).await;
        proxy.origin.set_all([variant_for("prod", "1"), Published::text(rds, "free", "1")]);
        let mut located = proxy.client(dialect).await;
        located.locate(rds, &[r_for("prod"), locator("free", &[])]);
        let received = located.accept(rds).await;
        assert_eq!(received.resource("r").constraints, Some(value("env", "prod")));
        assert!(received.resources.iter().all(|resource| resource.located));
        assert_eq!(received.resource("free").constraints, None);

        let prod = node("n").metadata("env", "prod");
        let mut plain = proxy.client_of(dialect, &prod).await;
        plain.subscribe(rds, &["r", "free"]);
        let received = plain.accept(rds).await;
        assert_eq!(received.names(), ["free", "r"]);
        assert!(received.resources.iter().all(|resource| !resource.located));
        assert_eq!(received.resource("r").constraints, None);
    }
}

#[tokio::test]
async fn p08_variants_are_swapped_in_one_response() {
    for short in ["rds", "cds"] {
        let type_url = type_url(short);
        let of = |key: &str, text: &str| Published::text(type_url, "r", text).constrained(value(key, "1"));
        let both = locator("r", &[("old", "1"), ("new", "1")]);
        in_each_dialect(async |proxy, mut client| {
            proxy.origin.set(of("old", "old"));
            client.locate(type_url, std::slice::from_ref(&both));
            client.accept(type_url).await;

            proxy.origin.replace(|_| true, [of("new", "new")]);
            let received = client.accept(type_url).await;
            assert_eq!(received.texts(), [("r".to_owned(), "new".to_owned())]);
            assert_eq!(received.removed, [""; 0]);
            let old = [variant("r", value("old", "1"))];
            match (client.dialect(), short) {
                (Dialect::Delta, _) => assert_eq!(received.removed_variants, old),
                (Dialect::Sotw, "cds") => assert_eq!(received.errors, [], "absence means it"),
                // Which variant it is about is in the error, so that nobody takes the new one for missing.
                (Dialect::Sotw, _) => {
                    let gone: Vec<_> = received.errors.into_iter().filter_map(|e| e.resource_name).collect();
                    assert_eq!(gone, old);
                }
            }
            client.expect_nothing().await;
            client.expect_nothing().await;
        })
        .await;
    }
}

#[tokio::test]
async fn p08_a_plain_client_sees_a_swap_as_a_change() {
    let rds = type_url("rds");
    for dialect in DIALECTS {
        let proxy = Proxy::start_with(env_from_metadata).await;
        let mut client = proxy.client_of(dialect, &node("n").metadata("env", "prod")).await;
        proxy.origin.set(variant_for("prod", "old"));
        client.subscribe(rds, &["r"]);
        client.accept(rds).await;
        let swapped = |text| Published::text(rds, "r", text).constrained(exists("env"));
        proxy.origin.replace(|_| true, [swapped("new")]);
        let received = client.accept(rds).await;
        assert_eq!((received.resource("r").text().as_str(), received.removed.len()), ("new", 0));
        // Other constraints around the same content are no change to who never sees them.
        proxy.origin.replace(|_| true, [variant_for("prod", "new")]);
        client.expect_nothing().await;
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn p09_removals_name_what_the_client_was_sent() {
    let rds = type_url("rds");
    let proxy = Proxy::start_with(env_from_metadata).await;
    proxy.origin.set_all([variant_for("prod", "1"), Published::text(rds, "free", "1")]);
    let prod = node("n").metadata("env", "prod");
    let mut plain = XdsClient::delta(proxy.address(), &prod).await;
    let mut located = XdsClient::delta(proxy.address(), &prod).await;
    plain.subscribe(rds, &["r", "free", "missing"]);
    assert_eq!(plain.accept(rds).await.removed, ["missing"]);
    located.locate(rds, &[r_for("prod"), locator("free", &[]), locator("missing", &[])]);
    let received = located.accept(rds).await;
    assert_eq!((received.removed.len(), received.removed_variants), (0, vec![variant("missing", None)]));

    proxy.origin.replace(|_| true, []);
    let gone = plain.accept(rds).await;
    assert_eq!((gone.removed, gone.removed_variants), (vec!["free".to_owned(), "r".to_owned()], vec![]));
    let gone = located.accept(rds).await;
    assert_eq!(gone.removed, ["free"], "a variant that was sent without constraints");
    assert_eq!(gone.removed_variants, [variant("r", value("env", "prod"))]);
}

#[tokio::test]
async fn p10_a_locator_that_stops_matching_is_told_and_one_that_starts_gets_it() {
    for short in ["rds", "cds"] {
        let type_url = type_url(short);
        let of = |env: &str, text: &str| Published::text(type_url, "r", text).constrained(value("env", env));
        in_each_dialect(async |proxy, mut client| {
            proxy.origin.set(of("prod", "1"));
            client.locate(type_url, &[r_for("prod")]);
            client.accept(type_url).await;
            // The resource is still there, for others.
            proxy.origin.replace(|_| true, [of("test", "1")]);
            let gone = client.accept(type_url).await;
            assert!(gone.resources.is_empty());
            match (client.dialect(), short) {
                (Dialect::Delta, _) => {
                    assert_eq!(gone.removed_variants, [variant("r", value("env", "prod"))]);
                }
                (Dialect::Sotw, "cds") => assert!(gone.errors.is_empty(), "absence means it"),
                (Dialect::Sotw, _) => {
                    let error = &gone.errors[0];
                    assert_eq!(error.resource_name.as_ref().unwrap().name, "r");
                    assert_eq!(error.error_detail.as_ref().unwrap().code, NOT_FOUND);
                }
            }
            proxy.origin.set(of("prod", "back"));
            assert_eq!(client.accept(type_url).await.resource("r").text(), "back");
        })
        .await;
    }
}

#[tokio::test]
async fn p11_streams_with_different_parameters_get_different_variants() {
    let rds = type_url("rds");
    in_each_dialect(async |proxy, mut prod| {
        let mut test = proxy.client(prod.dialect()).await;
        proxy.origin.set_all([variant_for("prod", "p"), variant_for("test", "t")]);
        for (client, env, text) in [(&mut prod, "prod", "p"), (&mut test, "test", "t")] {
            client.locate(rds, &[r_for(env)]);
            assert_eq!(client.accept(rds).await.resource("r").text(), text);
        }
        drop(test);
        proxy.origin.set(variant_for("prod", "p2"));
        assert_eq!(prod.accept(rds).await.resource("r").text(), "p2");
    })
    .await;
}

#[tokio::test]
async fn p11_unsubscribing_one_locator_leaves_the_other_of_its_name() {
    let rds = type_url("rds");
    in_each_dialect(async |proxy, mut client| {
        proxy.origin.set_all([variant_for("prod", "p"), variant_for("test", "t")]);
        client.locate(rds, &[r_for("prod"), r_for("test")]);
        client.accept(rds).await;
        client.unlocate(rds, &[r_for("prod")]);
        client.expect_nothing().await;
        proxy.origin.set(variant_for("prod", "p2"));
        client.expect_nothing().await;
        proxy.origin.set(variant_for("test", "t2"));
        assert_eq!(client.accept(rds).await.resource("r").text(), "t2");
    })
    .await;
}
