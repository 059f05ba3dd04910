//! What an operator sees of real Envoys behind Weir, one of which rejects its clusters: every command, every endpoint,
//! the status of clients over gRPC, and `docs/operating.md` as it stands.

mod operate;
mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use operate::{Scene, page};
use serde_json::{Value, json};
use tonic::transport::Endpoint;
use weir_testkit::wait::until_within;
use weir_wire::status::client_status_discovery_service_client::ClientStatusDiscoveryServiceClient;
use weir_wire::status::{ClientConfig, ClientResourceStatus, ClientStatusRequest, ConfigStatus};

/// How long an Envoy may take to answer on a busy machine.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_what_operating_weir_says_is_so() {
    let mut scene = Scene::start().await;
    let mut commands = BTreeSet::new();
    for section in page::sections(include_str!("../../docs/operating.md")) {
        scene.prepare(section.heading).await;
        for example in &section.examples {
            commands.insert(example.arguments()[0].to_owned());
            scene.expect(example).await;
        }
    }
    let shown: Vec<_> = commands.iter().map(String::as_str).collect();
    assert_eq!(
        shown,
        [
            "clients",
            "confirm-removals",
            "diff",
            "drain",
            "explain",
            "lint",
            "log-level",
            "status",
            "trace-change",
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_every_endpoint_tells_of_the_envoys() {
    let scene = Scene::start().await;
    scene.settle().await;
    let id = scene.id_of("web-2").await;
    let description = scene.ask("/openapi.json").await;
    let paths = description["paths"].as_object().unwrap().iter();
    let asked: Vec<_> =
        paths.filter(|(_, verbs)| is_answered_at_once(&verbs["get"])).map(|(path, _)| path).collect();
    assert!(asked.len() >= 16, "{asked:?}");
    for path in asked {
        let path = path.replace("{type}", "cds").replace("{name}", "backend").replace("{id}", &id);
        let answer = scene.weir.admin(&path).await;
        // This Weir has no store, and logs it.
        let wanted = if path == "/store" { 404 } else { 200 };
        assert_eq!(answer.status, wanted, "{path}: {}", answer.body);
    }

    let client = scene.ask(&format!("/clients/{id}")).await;
    assert_eq!((&client["node"]["user_agent"], &client["dialect"]), (&json!("envoy"), &json!("delta")));
    let nack = &scene.ask("/nacks?type=cds&node=web-2").await["items"][0];
    assert!(nack["message"].as_str().unwrap().contains("backend"), "{nack}");
    let given = scene.ask(&format!("/clients/{id}/resources?type=cds")).await;
    let names: Vec<_> =
        given["items"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["backend", "cart", "checkout", "search"]);
    let delivery = scene.ask("/resources/cds/backend/delivery").await;
    assert_eq!((&delivery["accepted"], &delivery["open"][0]["node"]), (&json!(1), &json!("web-2")));
    let explained = scene.ask(&format!("/resources/cds/backend/explain?client={id}")).await;
    assert_eq!(explained["chosen"]["constraints"], "env=test");
    let views = scene.ask("/views?type=cds").await;
    assert_eq!(views["items"].as_array().unwrap().len(), 2, "{views:#}");
    let links = scene.ask("/upstreams").await;
    assert!(links["items"].as_array().unwrap().iter().all(|link| link["state"] == "in-sync"), "{links:#}");
}

/// Whether what a `GET` gives has an end.
fn is_answered_at_once(get: &Value) -> bool {
    let content = get["responses"]["200"]["content"].as_object();
    get.is_object() && content.is_none_or(|content| !content.contains_key("text/event-stream"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_the_status_of_envoys_is_that_which_they_have() {
    let scene = Scene::start().await;
    scene.settle().await;
    let server = Endpoint::from_shared(format!("http://{}", scene.weir.address())).unwrap();
    let mut csds = ClientStatusDiscoveryServiceClient::new(server.connect().await.unwrap());
    let answer = csds.fetch_client_status(ClientStatusRequest::default()).await.unwrap().into_inner();
    let status = |node: &str, name: &str| {
        let of_node = |config: &&ClientConfig| config.node.as_ref().is_some_and(|of| of.id == node);
        let resources = answer.config.iter().filter(of_node).flat_map(|config| &config.generic_xds_configs);
        let found = resources.clone().find(|resource| resource.name == name);
        let found = found.unwrap_or_else(|| panic!("{node} has no {name}: {answer:?}")).clone();
        (found.config_status(), found.client_status(), found.error_state)
    };
    let acked = (ConfigStatus::Synced, ClientResourceStatus::Acked, None);
    for name in ["backend", "cart", "ingress"] {
        assert_eq!(status("web-1", name), acked, "{name}");
    }
    assert_eq!(status("web-2", "ingress"), acked);
    let (config, client, error) = status("web-2", "backend");
    assert_eq!((config, client), (ConfigStatus::Error, ClientResourceStatus::Nacked));
    assert!(error.unwrap().details.contains("backend"));
    // So has Envoy itself: what it rejected is not in use, and what was good beside it is.
    let dump = scene.envoys[1].config_dump().await.to_string();
    assert!(dump.contains("\"cart\"") && !dump.contains("\"backend\""), "{dump}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_a_change_that_is_mended_is_followed_to_its_end() {
    let scene = Scene::start().await;
    scene.settle().await;
    let listed =
        scene.weir.run(&["resources", "--type", "cds", "--prefix", "backend", "--output", "json"]).await;
    let resources: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(resources[0]["variants"].as_array().unwrap().len(), 2, "{resources:#}");
    scene.mend();
    let ran = until_within(LONG, "the change to be accepted by all", || async {
        let ran = scene.weir.run(&["trace-change", "cds", "backend", "--output", "json"]).await;
        (ran.code == 0).then_some(ran)
    });
    let document: Value = serde_json::from_str(&ran.await.stdout).unwrap();
    assert_eq!(
        (&document["outcome"], &document["accepted"]),
        (&json!("accepted"), &json!(2)),
        "{document:#}"
    );
    let status = scene.weir.run(&["status", "--output", "json"]).await;
    assert_eq!(status.code, 0, "{status:?}");
}
