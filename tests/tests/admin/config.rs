//! The configuration in force, and the store.

use serde_json::{Value, json};
use weir_testkit::process::Weir;
use weir_testkit::resource::Published;
use weir_testkit::wait::until;
use weir_testkit::{FakeControlPlane, XdsClient, node};

use crate::CDS;
use crate::http::{ask, listed};
use crate::support::local;

/// The answer of `/config` as soon as it is `good`.
async fn config(weir: &Weir, good: impl Fn(&Value) -> bool) -> Value {
    until("the configuration", async || Some(ask(weir, "/config").await).filter(&good)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_configuration_in_force_is_shown_without_secrets_and_as_it_changes() {
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "hunter2").unwrap();
    let secrets = format!(
        "headers = {{ x-key = \"hunter3\" }}\ntoken_file = \"{}\"\ntoken_over_plaintext = true\n",
        token.path().display()
    );
    let nobody = local(weir_testkit::process::free_port());
    let weir = Weir::builder().upstream_at(nobody, "ads-delta", "streams").section(&secrets).start().await;
    let shown = ask(&weir, "/config").await;
    assert_eq!(shown["file"], weir.config().to_str().unwrap());
    assert_eq!((&shown["last_reload"], &shown["waiting_for_restart"]), (&Value::Null, &json!([])));
    let upstream = &shown["effective"]["upstream"][0];
    assert_eq!(upstream["headers"], json!({ "x-key": "[redacted]" }));
    assert_eq!(upstream["token_file"], token.path().to_str().unwrap());
    assert_eq!(upstream["backoff_max"], "30s", "defaults are shown");
    assert_eq!(shown["effective"]["drain"]["over"], "15s");

    weir.reconfigure(|text| format!("{text}\n[drain]\nover = \"33s\"\n[cache]\nidle_timeout = \"7s\"\n"));
    let shown = config(&weir, |shown| shown["last_reload"]["applied"] == true).await;
    assert_eq!(shown["last_reload"]["changed"], json!(["drain.over"]));
    assert_eq!(shown["waiting_for_restart"], json!(["cache"]));
    let effective = &shown["effective"];
    assert_eq!(
        (&effective["drain"]["over"], &effective["cache"]["idle_timeout"]),
        (&json!("33s"), &json!("1m"))
    );

    weir.reconfigure(|text| text.replace("33s", "soon"));
    let shown = config(&weir, |shown| shown["last_reload"]["applied"] == false).await;
    let error = shown["last_reload"]["error"].as_str().unwrap();
    assert!(error.contains("drain.over") && error.contains("soon"), "{error}");
    assert_eq!(shown["effective"]["drain"]["over"], "33s", "the previous one stays in force");

    let file = weir.admin("/config?format=toml").await.body;
    assert!(file.contains("[redacted]") && file.contains("over = \"33s\""), "{file}");
    for secret in ["hunter2", "hunter3"] {
        assert!(!file.contains(secret) && !shown.to_string().contains(secret), "{secret} is shown");
        assert!(!weir.child().output().contains(secret), "{secret} is logged");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_the_store_is_shown_with_what_waits_to_be_vouched_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    std::fs::write(&path, "no store".repeat(1000)).unwrap();
    let mut control_plane = FakeControlPlane::start().await;
    control_plane.set_all((0..7).map(|i| Published::text(CDS, &format!("c{i}"), "1")));
    let store = format!("[store]\npath = \"{}\"\n", path.display());
    let weir = Weir::builder().upstream(&control_plane, "ads-delta", "streams").section(&store);
    let mut weir = weir.downstream("ready_when = \"warm\"").start().await;
    let mut client = XdsClient::delta(weir.address(), &node("n")).await;
    client.subscribe(CDS, &["*"]);
    assert_eq!(client.accept(CDS).await.names().len(), 7);
    let written = |store: &Value| store["pending"] == 0 && store["written"].is_string();
    let store =
        until("the store to be written", async || Some(ask(&weir, "/store").await).filter(written)).await;
    assert_eq!((&store["path"], &store["failure"]), (&json!(path.to_str()), &Value::Null));
    assert_eq!((&store["max_size"], &store["secrets"]), (&json!(1 << 30), &json!(false)));
    assert!(store["size"].as_u64() > Some(0), "{store}");
    let aside = store["set_aside"].as_array().unwrap();
    assert!(aside.len() == 1 && aside[0].as_str().unwrap().contains(".broken-"), "{store}");

    weir.terminate().await;
    control_plane.stop().await;
    weir.restart().await;
    let mut client = XdsClient::delta(weir.address(), &node("n")).await;
    client.subscribe(CDS, &["*"]);
    assert_eq!(client.accept(CDS).await.names().len(), 7);
    let restored = |links: &[Value]| links.iter().any(|link| link["unconfirmed"] != json!([]));
    let links = listed(&weir, "/upstreams?state=disconnected", restored).await;
    let link = links.iter().find(|link| link["unconfirmed"] != json!([])).unwrap();
    assert_eq!(
        (&link["unconfirmed"][0]["type"], &link["unconfirmed"][0]["resources"]),
        (&json!("cds"), &json!(7))
    );
    assert_eq!(ask(&weir, "/store").await["unconfirmed"], 7);
    assert_eq!(weir.admin("/ready").await.status, 200, "there is something to serve");
    let in_sync = "ready_when = \"in-sync\"";
    weir.reconfigure(|text| text.replace("ready_when = \"warm\"", in_sync));
    until(in_sync, async || (weir.admin("/ready").await.status == 503).then_some(())).await;

    control_plane.restart().await;
    listed(&weir, "/upstreams", |links| links.iter().all(|link| link["unconfirmed"] == json!([]))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_refused_is_shown_and_without_a_store_there_is_none() {
    let control_plane = FakeControlPlane::start().await;
    let weir = Weir::builder().upstream(&control_plane, "ads-delta", "streams");
    let weir = weir.section("max_subscriptions = 1").start().await;
    assert_eq!(weir.admin("/store").await.status, 404);
    assert_eq!(ask(&weir, "/refused").await["items"], json!([]));
    let mut client = XdsClient::delta(weir.address(), &node("n")).await;
    client.subscribe(CDS, &["a", "b"]);
    let refused = listed(&weir, "/refused", |refused| !refused.is_empty()).await;
    assert_eq!((&refused[0]["authority"], &refused[0]["limit"]), (&json!(""), &json!("max_subscriptions")));
    assert!(refused[0]["subscriptions"].as_u64() >= Some(1), "{refused:?}");
}
