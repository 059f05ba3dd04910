//! Polls answered from a database, without a connection; time is virtual.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use weir_config::{Count, NodeRule};
use weir_database::{Database, DemandChange};
use weir_types::constraints::Expr;
use weir_types::{
    Absence, Answered, Batch, Constraints, Content, Provenance, ResourceLocator, Variant, VariantKey,
};
use weir_wire::json::any_from;

use super::*;
use crate::NodeRules;
use crate::settings::Settings;

const CLUSTERS: &str = "/v3/discovery:clusters";
const ENDPOINTS: &str = "/v3/discovery:endpoints";
const HOLD: Duration = Duration::from_secs(20);

#[derive(Clone)]
struct Fixture {
    shared: Arc<Shared>,
    ending: CancellationToken,
}

fn peer() -> Arc<Peer> {
    Arc::new(Peer::new(([127, 0, 0, 1], 1).into(), None))
}

impl Fixture {
    fn new() -> Self {
        Self::admitting(|_| ())
    }

    fn admitting(adjust: impl FnOnce(&mut Settings)) -> Self {
        let env = NodeRule {
            key: "env".into(),
            from: weir_types::NodeField::Metadata(vec!["env".into()]),
            pattern: None,
            default: None,
            fill_locators: false,
            enforce: false,
        };
        let mut settings = Settings { rules: NodeRules::new(vec![env]), ..Settings::default() };
        settings.downstream.rest_hold = HOLD.try_into().unwrap();
        settings.downstream.max_request_size = 2000.try_into().unwrap();
        settings.limits.max_names = Count::of::<3>();
        settings.limits.max_name_length = Count::of::<100>();
        settings.limits.max_node_size = 1000.try_into().unwrap();
        adjust(&mut settings);
        let database = Database::new(weir_database::Settings::default());
        answer_wildcards(database.clone());
        Self { shared: Arc::new(Shared::new(settings, database)), ending: CancellationToken::new() }
    }

    /// Publishes these as all clusters there are.
    fn with_clusters(names: &[&str]) -> Self {
        let fixture = Self::new();
        fixture.publish("cds", names.iter().map(|name| cluster(name, "1s")).collect());
        fixture
    }

    fn publish(&self, short: &str, upserts: Vec<Variant>) {
        self.commit(short, |batch| batch.upserts = upserts);
    }

    fn commit(&self, short: &str, change: impl FnOnce(&mut Batch)) {
        let mut batch = Batch::new(TypeUrl::from_short_name(short).unwrap(), Provenance::Local);
        change(&mut batch);
        self.shared.database.commit(batch);
    }

    async fn ask(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send(Request::post(path).body(body.to_string()).unwrap()).await
    }

    async fn send(&self, request: Request<String>) -> (u16, Value) {
        let (shared, ending) = (Arc::clone(&self.shared), self.ending.clone());
        let response = answer(shared, peer(), ending, request.map(Full::<Bytes>::from)).await;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() })
    }

    /// A poll that has been taken in and waits.
    async fn waits(&self, path: &str, body: &Value) -> JoinHandle<(u16, Value)> {
        let (fixture, path, body) = (self.clone(), path.to_owned(), body.clone());
        let poll = tokio::spawn(async move { fixture.ask(&path, &body).await });
        tokio::task::yield_now().await;
        assert!(!poll.is_finished());
        poll
    }
}

/// As files do: a wildcard is answered as soon as it is wanted.
fn answer_wildcards(database: Database) {
    let source = database.clone();
    database.on_demand(move || {
        for change in source.take_demand() {
            if let DemandChange::Wanted(type_url, locator) = change
                && locator.is_wildcard()
            {
                let mut batch = Batch::new(type_url, Provenance::Local);
                batch.answered.push(Answered::all());
                source.commit(batch);
            }
        }
    });
}

fn variant(key: VariantKey, json: &Value) -> Variant {
    Variant::new(key, Content { body: Some(any_from(json).unwrap()), ..Content::default() })
}

fn anyone(name: &str) -> VariantKey {
    VariantKey::new(name, Constraints::unconstrained())
}

fn only(name: &str, env: &str) -> VariantKey {
    VariantKey::new(name, Constraints::new(Expr::value("env", env)))
}

fn cluster_json(name: &str, timeout: &str) -> Value {
    json!({
        "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
        "name": name, "connect_timeout": timeout,
    })
}

fn cluster(name: &str, timeout: &str) -> Variant {
    variant(anyone(name), &cluster_json(name, timeout))
}

fn endpoints(name: &str, priority: u32) -> Variant {
    variant(anyone(name), &endpoints_json(name, priority))
}

fn endpoints_json(name: &str, priority: u32) -> Value {
    json!({
        "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": name, "endpoints": [{ "priority": priority }],
    })
}

fn names(answer: &Value) -> Vec<&str> {
    let resources = answer["resources"].as_array().unwrap();
    resources.iter().map(|r| r["name"].as_str().or(r["cluster_name"].as_str()).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn r01_a_poll_is_answered_with_all_there_is() {
    let fixture = Fixture::with_clusters(&["a", "b"]);
    let (status, answer) = fixture.ask(CLUSTERS, &json!({})).await;
    let version = answer["version_info"].as_str().unwrap();
    assert_eq!(status, 200);
    assert_eq!(
        answer,
        json!({
            "version_info": version,
            "resources": [cluster_json("a", "1s"), cluster_json("b", "1s")],
            "type_url": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            "nonce": version,
            "control_plane": { "identifier": "weir" },
        })
    );
}

#[tokio::test(start_paused = true)]
async fn r01_an_answer_waits_for_a_change_and_is_then_whole() {
    let fixture = Fixture::with_clusters(&["a", "b"]);
    fixture.publish("eds", vec![endpoints("a", 1), endpoints("b", 1)]);
    for (path, request) in [
        (CLUSTERS, json!({})),
        (CLUSTERS, json!({"resource_names": ["a", "b"]})),
        (ENDPOINTS, json!({"resource_names": ["a", "b"]})),
    ] {
        let (_, first) = fixture.ask(path, &request).await;
        assert_eq!(names(&first), ["a", "b"]);
        let mut poll = request.clone();
        poll["version_info"] = first["version_info"].clone();
        let waiting = fixture.waits(path, &poll).await;
        fixture.publish("cds", vec![cluster("b", "7s")]);
        fixture.publish("eds", vec![endpoints("b", 7)]);
        let (status, second) = waiting.await.unwrap();
        assert_eq!((status, names(&second)), (200, vec!["a", "b"]));
        assert_ne!(second["version_info"], first["version_info"]);
        fixture.publish("cds", vec![cluster("b", "1s")]);
        fixture.publish("eds", vec![endpoints("b", 1)]);
    }
}

#[tokio::test(start_paused = true)]
async fn r01_after_the_longest_hold_there_is_nothing_new() {
    let fixture = Fixture::with_clusters(&["a"]);
    let (_, first) = fixture.ask(CLUSTERS, &json!({})).await;
    let poll = json!({ "version_info": first["version_info"] });
    let begin = Instant::now();
    assert_eq!(fixture.ask(CLUSTERS, &poll).await, (304, Value::Null));
    assert_eq!(begin.elapsed().as_secs(), HOLD.as_secs());
    let request = Request::post(CLUSTERS).header("x-envoy-expected-rq-timeout-ms", "1000");
    let begin = Instant::now();
    assert_eq!(fixture.send(request.body(poll.to_string()).unwrap()).await, (304, Value::Null));
    assert_eq!(begin.elapsed().as_millis(), 750);
}

#[tokio::test(start_paused = true)]
async fn r01_removals_are_told_by_absence_and_a_missing_endpoint_is_not() {
    let fixture = Fixture::with_clusters(&["a", "b"]);
    fixture.publish("eds", vec![endpoints("a", 1)]);
    let (_, clusters) = fixture.ask(CLUSTERS, &json!({})).await;
    let poll = json!({ "version_info": clusters["version_info"] });
    let waiting = fixture.waits(CLUSTERS, &poll).await;
    fixture.commit("cds", |batch| batch.removals.push(anyone("a")));
    assert_eq!(names(&waiting.await.unwrap().1), ["b"]);
    let asked = json!({ "resource_names": ["x"] });
    assert_eq!(fixture.ask(ENDPOINTS, &asked).await.0, 304);
    let waiting = fixture.waits(ENDPOINTS, &asked).await;
    fixture.publish("eds", vec![endpoints("x", 1)]);
    assert_eq!(names(&waiting.await.unwrap().1), ["x"]);
}

#[tokio::test(start_paused = true)]
async fn p01_a_poll_may_ask_by_locator_and_learns_when_nothing_matches() {
    let fixture = Fixture::new();
    let prod = |timeout| variant(only("a", "prod"), &cluster_json("a", timeout));
    fixture.publish("cds", vec![prod("1s"), variant(only("a", "test"), &cluster_json("a", "2s"))]);
    let by_locator =
        json!({ "resource_locators": [{ "name": "a", "dynamic_parameters": { "env": "prod" } }] });
    let (_, located) = fixture.ask(CLUSTERS, &by_locator).await;
    assert_eq!(
        located["resources"][0]["resource_name"]["dynamic_parameter_constraints"],
        json!({ "constraint": { "key": "env", "value": "prod" } })
    );
    assert_eq!(located["resources"][0]["resource"], cluster_json("a", "1s"));
    let by_node = json!({ "resource_names": ["a"], "node": { "metadata": { "env": "test" } } });
    let (_, plain) = fixture.ask(CLUSTERS, &by_node).await;
    assert_eq!(plain["resources"], json!([cluster_json("a", "2s")]));
}

#[tokio::test(start_paused = true)]
async fn p10_a_poll_is_told_once_that_nothing_matches() {
    let fixture = Fixture::new();
    let locator = |name: &str| json!({ "name": name, "dynamic_parameters": { "env": "prod" } });
    let mut poll = json!({ "resource_locators": [locator("a"), locator("b")] });
    fixture.publish("eds", vec![variant(only("a", "prod"), &endpoints_json("a", 1))]);
    let (_, first) = fixture.ask(ENDPOINTS, &poll).await;
    assert_eq!(first["resources"].as_array().unwrap().len(), 1);
    poll["version_info"] = first["version_info"].clone();
    let waiting = fixture.waits(ENDPOINTS, &poll).await;
    fixture.commit("eds", |batch| {
        let prod = [("env", "prod")].into_iter().collect();
        batch.mark_absent(&ResourceLocator::new("b", prod), Absence::Known);
    });
    let (_, second) = waiting.await.unwrap();
    assert_eq!(second["resource_errors"][0]["resource_name"]["name"], "b");
    poll["version_info"] = second["version_info"].clone();
    assert_eq!(fixture.ask(ENDPOINTS, &poll).await.0, 304);
}

#[tokio::test(start_paused = true)]
async fn d06_what_a_poll_rejects_is_not_sent_again() {
    let fixture = Fixture::with_clusters(&["a"]);
    let (_, first) = fixture.ask(CLUSTERS, &json!({})).await;
    assert_eq!(names(&first), ["a"]);
    let rejection = json!({
        "response_nonce": first["nonce"], "error_detail": { "code": 3, "message": "no" },
    });
    let waiting = fixture.waits(CLUSTERS, &rejection).await;
    fixture.publish("cds", vec![cluster("a", "2s")]);
    assert_eq!(waiting.await.unwrap().0, 200);
}

#[tokio::test(start_paused = true)]
async fn r02_what_cannot_be_answered_is_said_with_its_place() {
    let fixture = Fixture::with_clusters(&["a"]);
    let long = format!("{{\"type_url\": \"{}\"}}", "x".repeat(3000));
    for (method, path, body, status, message) in [
        ("POST", CLUSTERS, "{", 400, "$: EOF while parsing"),
        ("POST", CLUSTERS, r#"{"resource_names": [1]}"#, 400, "$.resource_names[0]: invalid type"),
        (
            "POST",
            CLUSTERS,
            r#"{"type_url": "x"}"#,
            400,
            "$.type_url: \"x\" is not the type of /v3/discovery:clusters",
        ),
        (
            "POST",
            "/v3/discovery:widgets",
            "{}",
            400,
            "/v3/discovery:widgets: no such resource type; there are /v3/discovery:listeners",
        ),
        ("POST", "/v4/discovery:clusters", "{}", 404, "there is no /v4/discovery:clusters"),
        ("GET", CLUSTERS, "", 405, "/v3/discovery:clusters takes POST, not GET"),
        ("POST", CLUSTERS, &long, 413, "the request is over the limit of 2000 bytes"),
        (
            "POST",
            CLUSTERS,
            r#"{"resource_names": ["a", "b", "c", "d"]}"#,
            429,
            "4 names of resource are over",
        ),
        (
            "POST",
            CLUSTERS,
            &format!(r#"{{"node": {{"id": "{}"}}}}"#, "n".repeat(101)),
            400,
            "node.id of 101 bytes is over the limit of 100 (limits.max_name_length)",
        ),
        (
            "POST",
            CLUSTERS,
            &format!(r#"{{"node": {{"metadata": {{"a": "{}"}}}}}}"#, "n".repeat(1000)),
            400,
            "node has 1015 bytes, over the limit of 1000 (limits.max_node_size)",
        ),
    ] {
        let request = Request::builder().method(method).uri(path).body(body.to_owned()).unwrap();
        let (found, answer) = fixture.send(request).await;
        let text = answer["message"].as_str().unwrap();
        assert_eq!(found, status, "{path} {body} {text}");
        assert!(text.starts_with(message), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn r02_a_resource_without_a_json_form_is_an_error_and_not_left_out() {
    let fixture = Fixture::with_clusters(&["a"]);
    // A cluster with a field that no cluster has.
    let body = [
        &[0x0a, 51][..],
        b"type.googleapis.com/envoy.config.cluster.v3.Cluster",
        b"\x12\x07\x0a\x01b\xc2\xa9\x07\x00",
    ];
    let content = Content { body: Some(body.concat().into()), ..Content::default() };
    fixture.publish("cds", vec![Variant::new(anyone("b"), content)]);
    let (status, answer) = fixture.ask(CLUSTERS, &json!({})).await;
    assert_eq!(status, 500);
    let text = answer["message"].as_str().unwrap();
    assert!(text.starts_with("resource \"b\" has no JSON form: field 15000"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn polls_that_there_is_no_room_for_are_sent_when_to_come_back() {
    let fixture = Fixture::admitting(|settings| {
        settings.admission.new_streams_per_second = Some(Count::of::<1>());
    });
    fixture.publish("cds", vec![cluster("a", "1s")]);
    let (status, first) = fixture.ask(CLUSTERS, &json!({})).await;
    assert_eq!(status, 200);
    let request = Request::post(CLUSTERS).body(Full::<Bytes>::from("{}")).unwrap();
    let refused = answer(Arc::clone(&fixture.shared), peer(), fixture.ending.clone(), request).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "2");
    let next = json!({ "version_info": first["version_info"] });
    assert_eq!(fixture.ask(CLUSTERS, &next).await.0, 304, "who was answered before is no newcomer");
}

#[tokio::test(start_paused = true)]
async fn an_answer_counts_as_a_poll_until_it_is_read() {
    let of_all: fn(&mut Settings) = |settings| settings.limits.max_streams = Count::of::<1>();
    let of_node: fn(&mut Settings) = |settings| settings.limits.max_streams_per_node = Some(Count::of::<1>());
    for admission in [of_all, of_node] {
        let fixture = Fixture::admitting(admission);
        fixture.publish("cds", vec![cluster("a", "1s")]);
        let asked = json!({ "node": { "id": "n" } });
        let request = Request::post(CLUSTERS).body(Full::<Bytes>::from(asked.to_string())).unwrap();
        let unread = answer(Arc::clone(&fixture.shared), peer(), fixture.ending.clone(), request).await;
        assert_eq!(unread.status(), StatusCode::OK);
        let mut body = unread.into_body();
        let chunk = body.frame().await.unwrap().unwrap();
        drop(body);
        assert_eq!(fixture.ask(CLUSTERS, &asked).await.0, 429, "the bytes are still here");
        drop(chunk);
        assert_eq!(fixture.ask(CLUSTERS, &asked).await.0, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn polls_end_with_the_server() {
    let fixture = Fixture::new();
    let waiting = fixture.waits(ENDPOINTS, &json!({ "resource_names": ["a"] })).await;
    fixture.shared.phases.stop.cancel();
    assert_eq!(waiting.await.unwrap().0, 503);
}

#[tokio::test(start_paused = true)]
async fn a_poll_is_not_held_back_while_its_client_is_moved_elsewhere() {
    let fixture = Fixture::with_clusters(&["a"]);
    let (_, answer) = fixture.ask(CLUSTERS, &json!({})).await;
    let waiting = fixture.waits(CLUSTERS, &json!({ "version_info": answer["version_info"] })).await;
    fixture.ending.cancel();
    assert_eq!(waiting.await.unwrap(), (304, Value::Null));
    assert_eq!(fixture.ask(CLUSTERS, &json!({})).await.0, 200, "what there is to send is sent");
}
