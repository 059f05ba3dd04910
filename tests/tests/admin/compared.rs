//! A client beside what its control plane sends now, over everything that Weir asks control planes by.

use serde_json::{Value, json};
use weir_testkit::process::{Ran, Weir};
use weir_testkit::resources::{assignment, direct_routes, listener_with_routes, static_cluster};
use weir_testkit::wait::until;
use weir_testkit::{FakeControlPlane, XdsClient, node, type_url};

use crate::support::{Item, for_nodes, local};

/// What the client is given, and has nothing of listeners.
fn before() -> Vec<Item> {
    let in_env = |env, port: u16| (Some(env), static_cluster("backend", &[local(port)]));
    vec![
        in_env("prod", 1),
        in_env("test", 2),
        (None, static_cluster("cart", &[])),
        (None, assignment("backend", &[local(1)])),
    ]
}

/// What another control plane has.
fn after() -> Vec<Item> {
    let in_env = |env, port: u16| (Some(env), static_cluster("backend", &[local(port)]));
    let listener = listener_with_routes("ingress", 1, direct_routes("ingress", "hello"));
    vec![
        in_env("prod", 3),
        in_env("test", 2),
        (None, static_cluster("search", &[])),
        (None, assignment("backend", &[local(2)])),
        (None, listener),
    ]
}

async fn serving(items: &[Item]) -> FakeControlPlane {
    let control_plane = FakeControlPlane::start().await;
    control_plane.set_all(items.iter().map(for_nodes));
    control_plane
}

async fn compare(weir: &Weir, config: &str) -> (Ran, Value) {
    let ran = weir.run(&["diff", "web-1", "--upstream", "--config", config, "--output", "json"]).await;
    let document = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    (ran, document)
}

/// Compares a client of a Weir that uses `protocol` with its control plane, and with one that has something else.
async fn compared_over(protocol: &str) {
    // Shown if the test fails.
    println!("--- {protocol}");
    let (control_plane, other) = (serving(&before()).await, serving(&after()).await);
    let weir = Weir::builder().parameter_from_metadata("env").upstream(&control_plane, protocol, "streams");
    let weir = match protocol {
        "rest" => weir.section("refresh_interval = \"50ms\"\nrefresh_jitter = \"10ms\""),
        _ => weir,
    };
    let weir = weir.start().await;
    let mut client = XdsClient::delta(weir.address(), &node("web-1").metadata("env", "prod")).await;
    client.subscribe(type_url("cds"), &["*"]);
    client.subscribe(type_url("eds"), &["backend"]);
    client.subscribe(type_url("lds"), &["*"]);
    for of_type in ["cds", "eds"] {
        client.accept(type_url(of_type)).await;
    }
    until("the client to have everything", || async {
        let shown = weir.admin("/clients").await.body;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let types = shown["items"][0]["types"].as_array()?;
        (types.len() == 3 && types.iter().all(|of_type| of_type["unanswered"] == 0)).then_some(())
    })
    .await;

    let config = weir.config().display().to_string();
    let (ran, document) = compare(&weir, &config).await;
    assert_eq!((ran.code, &document["same"]), (0, &json!(3)), "{protocol}: {ran:?}");

    let [own, others] = [&control_plane, &other].map(|server| server.address().to_string());
    let elsewhere = weir.config().with_file_name("elsewhere.toml");
    let text = std::fs::read_to_string(weir.config()).unwrap().replace(&own, &others);
    std::fs::write(&elsewhere, text).unwrap();
    let (ran, document) = compare(&weir, &elsewhere.display().to_string()).await;
    let differences = document["differences"].as_array().unwrap().iter();
    let mut found: Vec<_> =
        differences.map(|row| ["type", "name", "difference"].map(|key| row[key].as_str().unwrap())).collect();
    found.sort_unstable();
    let wanted = [
        ["cds", "backend", "differs"],
        ["cds", "cart", "extra"],
        ["cds", "search", "missing"],
        ["eds", "backend", "differs"],
        ["lds", "ingress", "missing"],
    ];
    assert_eq!((ran.code, found), (1, wanted.to_vec()), "{protocol}: {ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_a_client_is_compared_over_aggregated_streams() {
    for protocol in ["ads-delta", "ads-sotw"] {
        compared_over(protocol).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_a_client_is_compared_over_the_services_of_single_types() {
    for protocol in ["delta", "sotw"] {
        compared_over(protocol).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_a_client_is_compared_over_rest() {
    compared_over("rest").await;
}
