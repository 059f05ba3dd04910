//! Responses that stay under the client's limit (i08).

use std::collections::{BTreeMap, BTreeSet};

use weir_testkit::client::{DIALECTS, Received};
use weir_testkit::constraints::{locator, value};
use weir_testkit::{Dialect, Published, XdsClient, node, type_url};

use crate::observed;
use crate::proxy::{Proxy, Settings, in_each_dialect, in_each_dialect_with};

const LIMIT: usize = 2000;

fn tight(settings: &mut Settings) {
    settings.server.downstream.max_response_size = LIMIT.try_into().expect("a size");
}

/// Thirty resources of about 300 bytes.
fn many(type_url: &str, text: &str) -> Vec<Published> {
    (0..30)
        .map(|i| Published::text(type_url, &format!("r{i:02}"), &format!("{text}-{}", "x".repeat(260))))
        .collect()
}

fn names() -> Vec<String> {
    (0..30).map(|i| format!("r{i:02}")).collect()
}

/// Subscribes to all of `many`.
fn subscribe(client: &mut XdsClient, type_url: &str) {
    let names = names();
    client.subscribe(type_url, &names.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Receives parts until all thirty are there; their content together.
async fn receive_all(client: &mut XdsClient, type_url: &str) -> (Vec<Received>, BTreeMap<String, String>) {
    let (mut parts, mut texts) = (Vec::new(), BTreeMap::new());
    while texts.len() < 30 {
        let part = client.receive_type(type_url).await;
        for (name, text) in part.texts() {
            assert_eq!(texts.insert(name, text), None, "once");
        }
        parts.push(part);
    }
    (parts, texts)
}

fn assert_small(parts: &[Received]) {
    assert!(parts.len() > 3, "{} parts", parts.len());
    for part in parts {
        assert!(part.bytes <= LIMIT, "{} bytes", part.bytes);
    }
    let nonces: BTreeSet<&str> = parts.iter().map(|part| &*part.nonce).collect();
    assert_eq!(nonces.len(), parts.len(), "d05: each has a nonce of its own");
}

#[tokio::test]
async fn i08_a_large_change_comes_in_parts_that_say_what_one_response_would() {
    let eds = type_url("eds");
    for each in [true, false] {
        in_each_dialect_with(tight, async |proxy, mut client| {
            proxy.origin.set_all(many(eds, "1"));
            subscribe(&mut client, eds);
            for text in ["1", "2"] {
                if text == "2" {
                    proxy.origin.set_all(many(eds, "2"));
                }
                let (parts, texts) = receive_all(&mut client, eds).await;
                assert_small(&parts);
                assert_eq!(texts.keys().cloned().collect::<Vec<_>>(), names());
                assert!(texts.values().all(|got| got.starts_with(text)), "{texts:?}");
                let answered = if each { &parts[..] } else { &parts[parts.len() - 1..] };
                answered.iter().for_each(|part| client.ack(part));
                client.expect_nothing().await;
            }
            proxy.origin.set(Published::text(eds, "r07", "3"));
            assert_eq!(client.accept(eds).await.texts(), [("r07".into(), "3".into())]);
        })
        .await;
    }
}

#[tokio::test]
async fn i08_removals_come_in_parts_too() {
    let eds = type_url("eds");
    let proxy = Proxy::start_with(|settings| {
        settings.server.downstream.max_response_size = 500.try_into().expect("a size");
    })
    .await;
    proxy.origin.set_all(names().iter().map(|name| Published::text(eds, name, "1")));
    let mut client = proxy.client(Dialect::Delta).await;
    subscribe(&mut client, eds);
    let (parts, _) = receive_all(&mut client, eds).await;
    parts.iter().for_each(|part| client.ack(part));
    proxy.origin.replace(|old| old.type_url == eds, []);
    let mut removed = Vec::new();
    while removed.len() < 30 {
        let part = client.accept(eds).await;
        assert!(part.bytes <= 500, "{} bytes", part.bytes);
        removed.extend(part.removed);
    }
    removed.sort();
    assert_eq!(removed, names());
    client.expect_nothing().await;
}

#[tokio::test]
async fn i08_d06_a_rejected_part_is_not_sent_again_and_the_others_come() {
    let eds = type_url("eds");
    in_each_dialect_with(tight, async |proxy, mut client| {
        proxy.origin.set_all(many(eds, "1"));
        subscribe(&mut client, eds);
        let first = client.receive_type(eds).await;
        client.nack(&first, "r00: no");
        let mut got = first.resources.len();
        while got < 30 {
            got += client.accept(eds).await.resources.len();
        }
        assert_eq!(got, 30);
        client.expect_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn i08_what_is_asked_for_and_changes_between_parts_is_not_lost() {
    let eds = type_url("eds");
    in_each_dialect_with(tight, async |proxy, mut client| {
        proxy.origin.set_all(many(eds, "1"));
        proxy.origin.set(Published::text(eds, "extra", "1"));
        subscribe(&mut client, eds);
        let first = client.receive_type(eds).await;
        client.ack(&first);
        client.subscribe(eds, &["extra"]);
        proxy.origin.set_all([Published::text(eds, "r00", "2"), Published::text(eds, "r29", "2")]);
        let mut newest: BTreeMap<String, String> = first.texts().into_iter().collect();
        let newer =
            |newest: &BTreeMap<String, String>, name: &str| newest.get(name).is_some_and(|t| t == "2");
        while newest.len() < 31 || !newer(&newest, "r00") || !newer(&newest, "r29") {
            for (name, text) in client.accept(eds).await.texts() {
                let before = newest.insert(name.clone(), text.clone());
                assert!(before.as_deref() != Some("2") || text == "2", "o02: {name} went back");
            }
        }
        client.expect_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn i08_p08_a_variant_and_its_successor_are_never_in_different_parts() {
    let rds = type_url("rds");
    let proxy = Proxy::start_with(tight).await;
    let variants =
        |env: &str| many(rds, env).into_iter().map(|r| r.constrained(value("env", env))).collect::<Vec<_>>();
    proxy.origin.set_all(variants("prod"));
    let mut client = proxy.client(Dialect::Delta).await;
    let locators: Vec<_> = names().iter().map(|name| locator(name, &[("env", "prod")])).collect();
    client.locate(rds, &locators);
    let (parts, _) = receive_all(&mut client, rds).await;
    parts.iter().for_each(|part| client.ack(part));
    // In place of each variant comes one for everyone.
    proxy.origin.replace(|old| old.type_url == rds, many(rds, "all"));
    let (parts, _) = receive_all(&mut client, rds).await;
    assert_small(&parts);
    for part in &parts {
        let gone: BTreeSet<&str> = part.removed_variants.iter().map(|gone| &*gone.name).collect();
        assert_eq!(part.names().into_iter().collect::<BTreeSet<_>>(), gone, "{part:?}");
    }
}

#[tokio::test]
async fn i08_a_whole_state_that_is_too_large_is_sent_whole_and_said_once() {
    let srds = type_url("srds");
    let proxy = Proxy::start_with(tight).await;
    let counted = observed::metric("weir_downstream_oversized_responses_total");
    proxy.origin.set_all(many(srds, "1"));
    let mut client = proxy.client(Dialect::Sotw).await;
    client.subscribe(srds, &[]);
    assert_eq!(client.accept(srds).await.resources.len(), 30);
    proxy.origin.set(Published::text(srds, "r00", "2"));
    assert_eq!(client.accept(srds).await.resources.len(), 30);
    assert!(observed::metric("weir_downstream_oversized_responses_total") >= counted + 2.0);
    assert_eq!(observed::warnings(&[("type_url", srds)]).len(), 1);
}

#[tokio::test]
async fn i08_a_single_resource_over_the_limit_is_sent_alone() {
    let eds = type_url("eds");
    in_each_dialect_with(tight, async |proxy, mut client| {
        let large = Published::text(eds, "large", &"x".repeat(2 * LIMIT));
        proxy.origin.set_all([Published::text(eds, "a", "1"), large, Published::text(eds, "z", "1")]);
        client.subscribe(eds, &["a", "large", "z"]);
        let mut parts = Vec::new();
        for _ in 0..3 {
            parts.push(client.accept(eds).await.names().join(","));
        }
        assert_eq!(parts, ["a", "large", "z"]);
    })
    .await;
}

#[tokio::test]
async fn i08_the_limit_is_that_of_grpc_unless_it_is_configured() {
    let eds = type_url("eds");
    in_each_dialect(async |proxy, mut client| {
        let text = "x".repeat(300 << 10);
        proxy.origin.set_all(names().iter().map(|name| Published::text(eds, name, &text)));
        subscribe(&mut client, eds);
        let (parts, _) = receive_all(&mut client, eds).await;
        assert!(parts.iter().all(|part| part.bytes <= 4 << 20), "nine megabytes in {} parts", parts.len());
        assert_eq!(parts.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn i08_d09_streams_in_lockstep_are_sent_the_same_parts() {
    let eds = type_url("eds");
    for dialect in DIALECTS {
        let proxy = Proxy::start_with(tight).await;
        proxy.origin.set_all(many(eds, "1"));
        let mut clients = [proxy.client(dialect).await, proxy.client(dialect).await];
        for client in &mut clients {
            subscribe(client, eds);
            let (parts, _) = receive_all(client, eds).await;
            parts.iter().for_each(|part| client.ack(part));
        }
        proxy.origin.set_all(many(eds, "2"));
        let mut nonces = Vec::new();
        for client in &mut clients {
            let (parts, _) = receive_all(client, eds).await;
            nonces.push(parts.into_iter().map(|part| (part.nonce, part.bytes)).collect::<Vec<_>>());
        }
        assert_eq!(nonces[0], nonces[1], "{dialect:?}");
    }
}

#[tokio::test]
async fn i08_p16_another_weir_is_given_whole_responses() {
    let cds = type_url("cds");
    let proxy = Proxy::start_with(tight).await;
    proxy.origin.set_all(many(cds, "1"));
    let mut client = proxy.client_of(Dialect::Delta, &node("n").user_agent("weir")).await;
    client.subscribe(cds, &[]);
    assert_eq!(client.accept(cds).await.resources.len(), 30);
}
