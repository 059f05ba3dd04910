//! Over HTTP.

use crate::support::{Bed, Source, for_all, local};
use serde_json::{Value, json};
use weir_testkit::client::RestClient;
use weir_testkit::process::{Weir, free_port};
use weir_testkit::resources::static_cluster;
use weir_testkit::wait::until;
use weir_testkit::{XdsClient, node};
use weir_wire::discovery::ResourceLocator;

use crate::{CDS, one_accepts_and_one_rejects};

/// The JSON that stands there.
pub(crate) async fn ask(weir: &Weir, path: &str) -> Value {
    let answer = weir.admin(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{path}: {error}: {}", answer.body))
}

/// What is listed at `path` as soon as `good` confirms that it is there.
pub(crate) async fn listed(weir: &Weir, path: &str, good: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    until(path, || async {
        let page = ask(weir, path).await;
        let items = page["items"].as_array().expect("a list").clone();
        good(&items).then_some(items)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d03_p13_a_client_is_shown_with_its_node_and_where_its_parameters_come_from() {
    let (bed, _accepts, _rejects) = one_accepts_and_one_rejects().await;
    let in_sync = |clients: &[Value]| clients.len() == 1 && clients[0]["state"] == "in-sync";
    let clients = listed(&bed.weir, "/clients?node=web-1", in_sync).await;
    let client = ask(&bed.weir, &format!("/clients/{}", clients[0]["id"])).await;
    let node = &client["node"];
    assert_eq!((&node["id"], &node["cluster"]), (&json!("web-1"), &json!("web")));
    assert_eq!((&node["locality"]["zone"], &node["metadata"]), (&json!("eu-a"), &json!({ "env": "prod" })));
    assert_eq!((&client["service"], &client["dialect"]), (&json!("ads"), &json!("delta")));
    assert!(client["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{client}");
    let parameter = &client["parameters"][0];
    assert_eq!((&parameter["key"], &parameter["value"]), (&json!("env"), &json!("prod")));
    assert_eq!(parameter["origin"]["from"], "node.metadata.env");
    let clusters = &client["types"][0];
    assert_eq!((&clusters["type"], &clusters["subscribed"]), (&json!("cds"), &json!(1)));
    assert_eq!(clusters["sent"]["version"], clusters["accepted"]["version"]);
    assert_eq!((&clusters["sent"]["answered"], &clusters["lag_seconds"]), (&json!(true), &json!(0.0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_who_rejected_what_is_shown() {
    let (bed, _accepts, _rejects) = one_accepts_and_one_rejects().await;
    let rejecting = listed(&bed.weir, "/clients?state=rejecting", |clients| !clients.is_empty()).await;
    assert_eq!((rejecting.len(), &rejecting[0]["node"]["id"]), (1, &json!("web-2")));
    let clusters = &rejecting[0]["types"][0];
    assert_eq!(clusters["last_nack"]["message"], "no such thing here");
    assert_eq!(
        (&clusters["last_nack"]["nonce"], &clusters["accepted"]),
        (&clusters["sent"]["nonce"], &Value::Null)
    );
    let nacks = listed(&bed.weir, "/nacks?type=cds", |nacks| !nacks.is_empty()).await;
    assert_eq!((&nacks[0]["node"], &nacks[0]["client"]), (&json!("web-2"), &rejecting[0]["id"]));
    assert_eq!((&nacks[0]["code"], &nacks[0]["message"]), (&json!(3), &json!("no such thing here")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d10_a_client_that_goes_away_is_no_longer_shown() {
    let (bed, accepts, _rejects) = one_accepts_and_one_rejects().await;
    listed(&bed.weir, "/clients", |clients| clients.len() == 2).await;
    drop(accepts);
    let left = listed(&bed.weir, "/clients", |clients| clients.len() == 1).await;
    assert_eq!(left[0]["node"]["id"], "web-2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_answer_is_behind() {
    let (bed, mut accepts, _rejects) = one_accepts_and_one_rejects().await;
    listed(&bed.weir, "/clients?node=web-1&state=in-sync", |clients| clients.len() == 1).await;
    bed.set(&for_all([static_cluster("backend", &[([127, 0, 0, 1], 1).into()])]));
    let received = accepts.receive_type(CDS).await;
    let late = |clients: &[Value]| {
        clients.iter().any(|client| client["types"][0]["lag_seconds"].as_f64().is_some_and(|lag| lag > 0.0))
    };
    let behind = listed(&bed.weir, "/clients?node=web-1&state=behind", late).await;
    let clusters = &behind[0]["types"][0];
    assert_eq!(
        (&clusters["sent"]["answered"], &clusters["sent"]["nonce"]),
        (&json!(false), &json!(received.nonce))
    );
    assert_ne!(clusters["sent"]["version"], clusters["accepted"]["version"]);
    accepts.ack(&received);
    listed(&bed.weir, "/clients?node=web-1&state=in-sync", |clients| clients.len() == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_that_waits_is_shown() {
    let bed = Bed::start(Source::Files, &for_all([static_cluster("backend", &[])])).await;
    let mut polls = RestClient::connect(bed.address(), &node("poller")).await;
    polls.changed("clusters", &[], &[]).await;
    let waiting = tokio::spawn(async move { polls.changed("clusters", &[], &[]).await });
    let shown = listed(&bed.weir, "/clients?dialect=rest", |clients| clients.len() == 1).await;
    assert_eq!((&shown[0]["node"]["id"], &shown[0]["types"][0]["type"]), (&json!("poller"), &json!("cds")));
    waiting.abort();
    listed(&bed.weir, "/clients?dialect=rest", <[Value]>::is_empty).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstreams_are_shown_with_their_state() {
    let (bed, _accepts, _rejects) = one_accepts_and_one_rejects().await;
    let all_in_sync =
        |links: &[Value]| !links.is_empty() && links.iter().all(|link| link["state"] == "in-sync");
    let links = listed(&bed.weir, "/upstreams", all_in_sync).await;
    let address = bed.control_plane.as_ref().map(weir_testkit::FakeControlPlane::address);
    assert!(links.iter().all(|link| {
        let endpoint = link["endpoint"].as_str().unwrap_or_default();
        endpoint.contains(&address.expect("there is one").to_string())
    }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_is_away_is_shown_with_the_reason() {
    let nobody = local(free_port());
    let weir = Weir::builder().upstream_at(nobody, "ads-delta", "native").start().await;
    let mut client = XdsClient::delta(weir.address(), &node("web-1")).await;
    client.subscribe(CDS, &["backend"]);
    let failed = |links: &[Value]| links.iter().any(|link| link["last_error"].is_object());
    let links = listed(&weir, "/upstreams?state=disconnected", failed).await;
    let failed = links.iter().find(|link| link["last_error"].is_object()).unwrap();
    let message = failed["last_error"]["message"].as_str().unwrap();
    assert!(message.contains(&nobody.to_string()) && message.contains("refused"), "{message}");
    let behind = listed(&weir, "/clients?state=behind", |clients| !clients.is_empty()).await;
    assert_eq!(
        (&behind[0]["types"][0]["unanswered"], &behind[0]["types"][0]["sent"]),
        (&json!(1), &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p12_resources_are_shown_with_their_variants_and_explained() {
    let in_env = |env, port: u16| (Some(env), static_cluster("backend", &[([127, 0, 0, 1], port).into()]));
    let bed = Bed::start(Source::Native("ads-delta"), &[in_env("prod", 1), in_env("test", 2)]).await;
    let mut client = XdsClient::delta(bed.address(), &node("web-1").metadata("env", "test")).await;
    client.subscribe(CDS, &["backend"]);
    client.accept(CDS).await;
    let held =
        |resources: &[Value]| resources.first().is_some_and(|backend| backend["variants"][0].is_object());
    let resources = listed(&bed.weir, "/resources?type=cds&prefix=back", held).await;
    let variant = &resources[0]["variants"][0];
    assert_eq!((&variant["constraints"], &variant["subscribers"]), (&json!("env=test"), &json!(1)));
    let whole = ask(&bed.weir, "/resources/cds/backend").await;
    assert_eq!(whole["bodies"][0]["name"], "backend");
    let id = ask(&bed.weir, "/clients").await["items"][0]["id"].clone();
    let explained = ask(&bed.weir, &format!("/resources/cds/backend/explain?client={id}")).await;
    assert_eq!((&explained["outcome"], &explained["chosen"]), (&json!("served"), variant));
    let explained = ask(&bed.weir, "/resources/cds/backend/explain?param=env=dev").await;
    assert_eq!(
        (&explained["outcome"], &explained["mismatches"][0]["requirement"]),
        (&json!("nothing-matches"), &json!("env=test"))
    );
    let views = listed(&bed.weir, "/views?type=cds", |views| views.len() == 1).await;
    assert_eq!((&views[0]["streams"], &views[0]["names"][0]["name"]), (&json!(1), &json!("backend")));
    assert_eq!(ask(&bed.weir, "/ambiguities").await["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locator_is_shown_with_what_the_client_sent_and_what_rules_filled_in() {
    let rule = "[[dynamic_parameters]]\nkey = \"zone\"\nfrom = \"node.locality.zone\"\nfill_locators = true";
    let weir = Weir::builder().section(rule).resources(&[static_cluster("backend", &[])]).start().await;
    let mut client = XdsClient::delta(weir.address(), &node("web-1").locality("eu", "eu-a", "")).await;
    let dynamic_parameters = [("env".to_owned(), "prod".to_owned())].into();
    client.locate(CDS, &[ResourceLocator { name: "backend".to_owned(), dynamic_parameters }]);
    client.accept(CDS).await;
    let id = listed(&weir, "/clients", |clients| !clients.is_empty()).await[0]["id"].clone();
    let client = ask(&weir, &format!("/clients/{id}")).await;
    let located = &client["types"][0]["locators"][0];
    assert_eq!(located["locators"], 1);
    let [env, zone] = &located["parameters"].as_array().unwrap()[..] else { panic!("{client}") };
    assert_eq!((&env["key"], &env["origin"]), (&json!("env"), &json!({ "source": "locator" })));
    assert_eq!((&zone["value"], &zone["origin"]["from"]), (&json!("eu-a"), &json!("node.locality.zone")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_level_is_shown_and_changed_while_weir_runs() {
    let weir = Weir::builder().resources(&[]).start().await;
    let level = json!({ "level": "debug", "chosen_by": "configuration" });
    assert_eq!(ask(&weir, "/log-level").await, level);
    let connect = async |id: &str| {
        let mut client = XdsClient::delta(weir.address(), &node(id)).await;
        client.subscribe(CDS, &["backend"]);
        listed(&weir, &format!("/clients?node={id}"), |clients| clients.len() == 1).await;
        client
    };
    assert_eq!(weir.change("PUT", "/log-level", r#"{ "level": "loud" }"#).await.status, 400);
    weir.child().wait_for_line(&["change by an operator rejected", "/log-level"]).await;
    assert_eq!(weir.run(&["log-level", "warn"]).await.code, 0);
    let _unheard = connect("unheard").await;
    let level = r#"{ "level": "warn,weir_downstream=info" }"#;
    assert_eq!(weir.change("PUT", "/log-level", level).await.status, 200);
    let _received = connect("is-received").await;
    weir.child().wait_for_line(&["client connected", "is-received"]).await;
    assert_eq!(weir.run(&["log-level", "--reset"]).await.code, 0);
    let _detailed = connect("detailed").await;
    weir.child().wait_for_line(&["DEBUG", "\"request\"", "detailed"]).await;
    assert!(!weir.child().output().contains("unheard"), "{}", weir.child().output());
}
