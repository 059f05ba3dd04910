//! A configuration that changes while the program runs.

use serde_json::Value;
use tonic::Code;
use weir_testkit::control_plane::State;
use weir_testkit::process::Weir;
use weir_testkit::resources::{constrained, eds_cluster};
use weir_testkit::wait::until;
use weir_testkit::{Authority, FakeControlPlane, Published, Secured, XdsClient, node, type_url};

const APPLIED: &str = "configuration reloaded";
const FAILED: &str = "configuration rejected";

/// A Weir with a cluster for each of two environments, which by default is the first.
async fn weir() -> Weir {
    let cluster = |env: &str| constrained("env", env, &eds_cluster(&format!("of-{env}")));
    let rule = "[[dynamic_parameters]]\nkey = \"env\"\nfrom = \"node.metadata.env\"\ndefault = \"prod\"";
    Weir::builder().resources(&[cluster("prod"), cluster("test")]).section(rule).start().await
}

/// A client that is sent all clusters, and which these are.
async fn clusters(weir: &Weir) -> (XdsClient, Vec<String>) {
    let mut client = XdsClient::sotw(weir.address(), &node("n")).await;
    client.subscribe(type_url("cds"), &[]);
    let received = client.accept(type_url("cds")).await;
    let names = received.names().into_iter().map(ToString::to_string).collect();
    (client, names)
}

/// Waits for the log of the next reload.
async fn sent(weir: &Weir, parts: &[&str]) {
    weir.child().wait_for_line(parts).await;
}

async fn metric(weir: &Weir, series: &str, value: usize) {
    let line = format!("{series} {value}");
    until(&line, async || weir.admin("/metrics").await.body.lines().any(|l| l == line).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_file_counts_for_who_comes_and_not_for_who_is_there() {
    let weir = weir().await;
    let (mut running, names) = clusters(&weir).await;
    assert_eq!(names, ["of-prod"]);
    weir.reconfigure(|text| text.replace("default = \"prod\"", "default = \"test\""));
    sent(&weir, &[APPLIED, "dynamic_parameters"]).await;
    assert_eq!(clusters(&weir).await.1, ["of-test"]);
    metric(&weir, "weir_config_reloads_total{outcome=\"applied\"}", 1).await;

    // Of those that are there one is kept, and nobody else is let in.
    weir.reconfigure(|text| format!("{text}\n[limits]\nmax_streams = 1\n"));
    sent(&weir, &[APPLIED, "limits.max_streams"]).await;
    until("the other client to be gone", async || {
        let mut late = XdsClient::delta(weir.address(), &node("late")).await;
        late.subscribe(type_url("cds"), &[]);
        (late.closed().await.code() == Code::ResourceExhausted).then_some(())
    })
    .await;
    weir.write_resources(&[eds_cluster("new")]);
    // Until it has reported that the new one is ready, it keeps the old one.
    assert_eq!(running.accept(type_url("cds")).await.names(), ["new", "of-prod"]);
    assert_eq!(running.accept(type_url("cds")).await.names(), ["new"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u12_who_asks_for_more_than_a_client_may_gets_it_once_it_may() {
    let builder = Weir::builder().resources(&[eds_cluster("a"), eds_cluster("b")]);
    let limit = "[limits]\nmax_new_names_per_client = 1\n[admission]\nretry_after = \"50ms\"\n";
    let weir = builder.section(limit).start().await;
    let mut client = XdsClient::delta(weir.address(), &node("greedy")).await;
    client.subscribe(type_url("cds"), &["a", "b"]);
    let first = client.accept(type_url("cds")).await;
    let errors = first.error_codes();
    let [(refused, Code::ResourceExhausted)] = errors[..] else { panic!("{first:?}") };
    weir.reconfigure(|text| text.replace("max_new_names_per_client = 1", "max_new_names_per_client = 2"));
    sent(&weir, &[APPLIED, "limits.max_new_names_per_client"]).await;
    while !client.accept(type_url("cds")).await.names().contains(&refused) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_file_changes_nothing_and_states_why() {
    let weir = weir().await;
    let bad = "default = \"test\"\n\n[limits]\nmax_streams = 0\n";
    weir.reconfigure(|text| text.replace("default = \"prod\"", bad));
    sent(&weir, &[FAILED, "weir.toml:", "limits.max_streams: must be at least 1 (got 0)"]).await;
    metric(&weir, "weir_config_reloads_total{outcome=\"failed\"}", 1).await;
    assert_eq!(clusters(&weir).await.1, ["of-prod"], "not even what was good in it");
    std::fs::remove_file(weir.config()).unwrap();
    weir.signal("HUP").await;
    sent(&weir, &[FAILED, "No such file or directory"]).await;
    assert_eq!(clusters(&weir).await.1, ["of-prod"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_change_states_so_and_the_rest_counts() {
    let weir = weir().await;
    weir.reconfigure(|text| {
        let text = text.replace("weir-test", "renamed").replace("default = \"prod\"", "default = \"test\"");
        format!("{text}\n[cache]\nidle_timeout = \"61s\"\n")
    });
    sent(&weir, &["until a restart", "node,cache"]).await;
    metric(&weir, "weir_config_pending", 2).await;
    let mut client = XdsClient::sotw(weir.address(), &node("n")).await;
    client.subscribe(type_url("cds"), &[]);
    let received = client.accept(type_url("cds")).await;
    assert_eq!((received.names(), &*received.control_plane), (vec!["of-test"], "weir-test"));

    weir.reconfigure(|text| text.replace("renamed", "weir-test").replace("61s", "60s"));
    metric(&weir, "weir_config_pending", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_is_read_again_on_sighup_too() {
    let weir = weir().await;
    weir.signal("HUP").await;
    sent(&weir, &[APPLIED]).await;
    assert_eq!(clusters(&weir).await.1, ["of-prod"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_and_the_log_level_change_at_once() {
    let weir = weir().await;
    let file = weir.config().with_file_name("cds.json");
    let export = format!("\n[[export]]\ntype = \"cds\"\nparameters = {{ env = \"test\" }}\nto = {file:?}\n");
    weir.reconfigure(|text| text.replace("level = \"debug\"", "level = \"warn\"") + &export);
    let written: Value =
        until("the file to be written", async || serde_json::from_slice(&std::fs::read(&file).ok()?).ok())
            .await;
    assert_eq!(written["resources"][0]["name"], "of-test", "{written}");
    weir.reconfigure(|text| text.replace("level = \"warn\"", "level = \"info\""));
    sent(&weir, &[APPLIED, "log.level"]).await;
    let lines = weir.child().output();
    assert!(!lines.contains("\"changed\":\"log.level,export\""), "that was published to nobody: {lines}");
}

/// An upstream of names without an authority.
fn upstream(endpoint: &str, more: &str) -> String {
    format!("[[upstream]]\nendpoints = [\"{endpoint}\"]\nbackoff_max = \"500ms\"\n{more}\n")
}

fn cluster(name: &str, text: &str) -> Published {
    Published::text(type_url("cds"), name, text)
}

async fn subscribed(weir: &Weir) -> XdsClient {
    let mut client = XdsClient::delta(weir.address(), &node("n")).await;
    client.subscribe(type_url("cds"), &[]);
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_moves_to_another_endpoint_and_clients_are_sent_what_differs() {
    let (first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    first.set_all([cluster("same", "1"), cluster("other", "1"), cluster("gone", "1")]);
    second.set_all([cluster("same", "1"), cluster("other", "2")]);
    let weir = Weir::builder().section(&upstream(&first.uri(), "")).start().await;
    let mut client = subscribed(&weir).await;
    assert_eq!(client.accept(type_url("cds")).await.names(), ["gone", "other", "same"]);
    weir.reconfigure(|text| text.replace(&first.uri(), &second.uri()));
    sent(&weir, &[APPLIED, "\"changed\":\"upstream\""]).await;
    let received = client.accept(type_url("cds")).await;
    assert_eq!(received.resource("other").text(), "2");
    assert!(received.names().iter().all(|name| *name != "same"), "{received:?}");
    first.wait_until_alone().await;

    // And stays with the new one: its values count on the streams that there are.
    second.set(cluster("late", "1"));
    let late = loop {
        let received = client.accept(type_url("cds")).await;
        if received.names().contains(&"late") {
            break received;
        }
    };
    assert_eq!(late.resource("late").text(), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_names_of_tls_upstream_change_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, authority: &Authority| {
        authority.write(directory.path(), &format!("{name}-ca"));
        authority.issue(&["weir.example"]).write(directory.path(), name);
    };
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    write("old", &old);
    write("new", &new);
    let path = directory.path().display();
    let tls = |name: &str, server: &str| {
        format!(
            "[upstream.tls]\nca = \"{path}/{name}-ca.pem\"\ncertificate = \"{path}/{name}.pem\"\n\
             key = \"{path}/{name}.key\"\nserver_name = \"{server}\""
        )
    };
    let control_plane =
        FakeControlPlane::start_secured(&Secured::new(old.issue(&["old.example"]), &old)).await;
    control_plane.set(cluster("a", "1"));
    let endpoint = format!("https://localhost:{}", control_plane.address().port());
    let section = upstream(&endpoint, &tls("old", "old.example"));
    let weir = Weir::builder().section(&section).start().await;
    let mut client = subscribed(&weir).await;
    assert_eq!(client.accept(type_url("cds")).await.resource("a").text(), "1");

    // What cannot be used is refused, and the stream that there is goes on.
    weir.reconfigure(|text| text.replace("old-ca.pem", "none.pem").replace("old.example", "new.example"));
    sent(&weir, &[FAILED, "upstream[0].tls.ca: ", "none.pem: it cannot be read"]).await;
    control_plane.set(cluster("a", "2"));
    assert_eq!(client.accept(type_url("cds")).await.resource("a").text(), "2");
    control_plane.look(|state| assert_eq!(state.streams.len(), 1, "{}", state.describe()));

    // Another name and another authority, at one stroke.
    control_plane.secure(&Secured::new(new.issue(&["new.example"]), &new));
    weir.reconfigure(|text| {
        let text = text.replace("none.pem", "new-ca.pem");
        text.replace("/old.pem", "/new.pem").replace("/old.key", "/new.key")
    });
    sent(&weir, &[APPLIED, "upstream"]).await;
    let moved = |state: &State| (state.streams.len() == 2 && !state.streams[0].open).then_some(());
    control_plane.wait_for("the stream by the new files", moved).await;
    control_plane.set(cluster("a", "3"));
    assert_eq!(client.accept(type_url("cds")).await.resource("a").text(), "3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_comes_and_goes_and_one_that_becomes_another_waits_for_a_restart() {
    const NAME: &str = "xdstp://new.example/envoy.config.cluster.v3.Cluster/a";
    let weir = weir().await;
    let control_plane = FakeControlPlane::start().await;
    control_plane.set(cluster(NAME, "1"));
    let mut client = XdsClient::delta(weir.address(), &node("n")).await;
    client.subscribe(type_url("cds"), &[NAME]);
    assert_eq!(client.accept(type_url("cds")).await.removed, [NAME], "there is no upstream for it");

    let section = upstream(&control_plane.uri(), "authority = \"new.example\"");
    weir.reconfigure(|text| format!("{text}\n{section}"));
    sent(&weir, &[APPLIED, "upstream"]).await;
    assert_eq!(client.accept(type_url("cds")).await.resource(NAME).text(), "1");
    until("it to be ready", async || (weir.admin("/ready").await.status == 200).then_some(())).await;

    weir.reconfigure(|text| text.replace("backoff_max = \"500ms\"", "protocol = \"ads-sotw\""));
    sent(&weir, &["until a restart", "upstream,upstream.protocol"]).await;
    control_plane.set(cluster(NAME, "2"));
    assert_eq!(
        client.accept(type_url("cds")).await.resource(NAME).text(),
        "2",
        "on the stream that there was"
    );
    control_plane.look(|state| assert_eq!(state.streams.len(), 1, "{}", state.describe()));

    weir.reconfigure(|text| text[..text.find("[[upstream]]\nendpoints").unwrap()].to_owned());
    assert_eq!(client.accept(type_url("cds")).await.removed, [NAME]);
    control_plane.wait_until_alone().await;
    metric(&weir, "weir_config_pending", 0).await;
}
