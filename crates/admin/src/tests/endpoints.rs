//! Each endpoint.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::fake::Fake;
use super::{get, request};

pub(super) fn instance(clients: u64) -> Arc<Fake> {
    Fake::new(clients)
}

fn ids(page: &Value) -> Vec<u64> {
    page["items"].as_array().unwrap().iter().map(|client| client["id"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn ready_sends_what_is_missing() {
    let fake = instance(0);
    fake.ready.store(false, Ordering::Relaxed);
    let answer = get(&fake, "/ready").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.json(), json!({ "ready": false, "pending": ["upstream \"\": not connected"] }));
    assert_eq!(get(&fake, "/metrics").await.status, 500);
    fake.ready.store(true, Ordering::Relaxed);
    let answer = get(&fake, "/ready").await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "ready": true })));
}

#[tokio::test]
async fn live_and_metrics_answer_and_the_rest_does_not() {
    let fake = instance(0);
    for (method, path, status, body) in
        [("GET", "/live", 200, "live\n"), ("GET", "/metrics", 200, "weir_x 1\n")]
    {
        let answer = request(&fake, method, path, "").await;
        assert_eq!((answer.status, &*answer.body), (status, body), "{method} {path}");
    }
    for (method, path, status, field, detail) in [
        ("GET", "/nowhere", 404, "path", "there is no /nowhere; see /openapi.json"),
        ("POST", "/live", 405, "method", "/live does not take POST; see /openapi.json"),
        (
            "DELETE",
            "/resources/cds/a",
            405,
            "method",
            "/resources/cds/a does not take DELETE; see /openapi.json",
        ),
    ] {
        let answer = request(&fake, method, path, "").await;
        assert_eq!(
            (answer.status, &*answer.content_type),
            (status, "application/problem+json"),
            "{method} {path}"
        );
        let problem = answer.json();
        assert_eq!((&problem["field"], &problem["detail"]), (&json!(field), &json!(detail)));
    }
}

#[tokio::test]
async fn upstreams_are_listed_with_what_went_wrong() {
    let page = get(&instance(0), "/upstreams").await.json();
    assert_eq!(page["next"], Value::Null);
    let [first, second] = &page["items"].as_array().unwrap()[..] else { panic!("{page}") };
    assert_eq!((&first["state"], &first["endpoint"]), (&json!("in-sync"), &json!("http://10.0.0.1:18000")));
    assert_eq!(first["parameters"], json!({ "env": "prod" }));
    assert_eq!(first["since"], "2023-11-14T22:13:20Z");
    assert_eq!((&second["authority"], &second["state"]), (&json!("other"), &json!("disconnected")));
    assert_eq!(second["last_error"]["message"], "connection refused");
    let withheld = json!([{
        "type": "cds", "type_url": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "loss": "removals",
        "removals": 40, "of": 100,
        "names": ["a", "b"], "since": "2023-11-14T22:13:20Z",
    }]);
    assert_eq!((&first["id"], &first["withheld"], &first["unconfirmed"]), (&json!(3), &withheld, &json!([])));
    assert_eq!((&second["unconfirmed"][0]["resources"], &second["withheld"]), (&json!(7), &json!([])));
    assert_eq!(get(&instance(0), "/upstreams?after=3").await.json()["items"][0]["id"], 5);
    let page = get(&instance(0), "/upstreams?state=disconnected").await.json();
    assert_eq!(page["items"][0]["authority"], "other");
    assert_eq!(get(&instance(0), "/upstreams?authority=none").await.json()["items"], json!([]));
}

#[tokio::test]
async fn clients_come_in_pages() {
    let fake = instance(2500);
    let first = get(&fake, "/clients").await;
    assert_eq!(first.content_type, "application/json");
    let first = first.json();
    assert_eq!((ids(&first), &first["next"]), ((1..=1000).collect(), &json!("1000")));
    let second = get(&fake, "/clients?after=1000&limit=2").await.json();
    assert_eq!((ids(&second), &second["next"]), (vec![1001, 1002], &json!("1002")));
    let last = get(&fake, "/clients?after=2400").await.json();
    assert_eq!((ids(&last).len(), &last["next"]), (100, &Value::Null));
}

#[tokio::test]
async fn clients_are_filtered() {
    let fake = instance(6);
    for (filter, wanted) in [
        ("state=rejecting", &[3, 6][..]),
        ("state=rejecting&type=cds", &[3, 6]),
        ("type=lds", &[]),
        ("view=7&cluster=even", &[2, 4, 6]),
        ("view=7&state=rejecting&type=cds", &[3, 6]),
        ("view=8", &[]),
        ("cluster=even", &[2, 4, 6]),
        ("node=node-4", &[4]),
        ("dialect=sotw", &[1]),
        ("user_agent=grpc", &[]),
        ("param=env=prod&cluster=odd", &[1, 3, 5]),
        ("param=env=test", &[]),
        ("identity=spiffe://prod.example/*", &[2]),
        ("identity=web.example", &[2]),
        ("obstacle=away", &[1, 2, 3, 4, 5, 6]),
        ("obstacle=any&state=rejecting&type=cds", &[3, 6]),
        ("obstacle=over-limit&type=lds", &[]),
        ("identity=spiffe://test.example/*", &[]),
    ] {
        let page = get(&fake, &format!("/clients?{filter}")).await.json();
        assert_eq!(ids(&page), wanted, "{filter}");
    }
}

#[tokio::test]
async fn a_client_is_shown_with_whom_its_certificate_names_and_the_rules_for_it() {
    let client = get(&instance(2), "/clients/2").await.json();
    assert_eq!(client["identity"]["spiffe"], "spiffe://prod.example/ns/shop/sa/web");
    assert_eq!(client["access"], json!([0, 3]));
    let other = get(&instance(2), "/clients/1").await.json();
    assert_eq!((&other["identity"], &other["access"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn a_client_is_shown_with_where_its_parameters_come_from() {
    let client = get(&instance(3), "/clients/3").await.json();
    assert_eq!(client["node"]["locality"]["zone"], "a");
    let origin = json!({
        "source": "rule", "rule": 0, "from": "node.metadata.env", "value": "prod", "defaulted": false,
    });
    assert_eq!(client["parameters"][0]["origin"], origin);
    assert_eq!(client["types"][0]["last_nack"]["message"], "no");
    assert_eq!(client["types"][0]["type"], "cds");
    for id in ["4", "x", "-1"] {
        let answer = get(&instance(3), &format!("/clients/{id}")).await;
        assert_eq!((answer.status, &*answer.content_type), (404, "application/problem+json"));
        assert_eq!((&answer.json()["field"], &answer.json()["value"]), (&json!("id"), &json!(id)));
    }
}

#[tokio::test]
async fn e04_nacks_are_listed_the_newest_first() {
    let fake = instance(3);
    let page = get(&fake, "/nacks?limit=2").await.json();
    assert_eq!((&page["items"][0]["node"], &page["next"]), (&json!("node-3"), &json!("2")));
    let page = get(&fake, "/nacks?after=2").await.json();
    assert_eq!((&page["items"][0]["node"], &page["next"]), (&json!("node-1"), &Value::Null));
    assert_eq!(get(&fake, "/nacks?type=lds").await.json()["items"], json!([]));
    assert_eq!(get(&fake, "/nacks?node=node-2").await.json()["items"][0]["client"], 2);
}

#[tokio::test]
async fn changes_that_were_followed_are_listed_the_newest_first() {
    let page = get(&instance(0), "/propagation?limit=2").await.json();
    let newest = &page["items"][0];
    assert_eq!(
        (&newest["number"], &newest["seconds"], &page["next"]),
        (&json!(30), &json!(0.03), &json!("29"))
    );
    assert_eq!((&newest["type"], &newest["streams"]), (&json!("cds"), &json!(3)));
    let page = get(&instance(0), "/propagation?outcome=late&after=28&limit=1").await.json();
    assert_eq!(page["items"][0]["number"], 27);
    assert_eq!(get(&instance(0), "/propagation?type=lds").await.json()["items"], json!([]));
    assert_eq!(get(&instance(0), "/propagation?authority=x").await.json()["items"], json!([]));
}

#[tokio::test]
async fn e05_what_is_not_understood_is_named_with_what_is_allowed() {
    for (target, field, value, limit) in [
        ("/clients?limit=0", "limit", "0", "it is a number from 1 to 100000"),
        ("/clients?after=x", "after", "x", "it is the next of another page"),
        ("/clients?state=bad", "state", "bad", "allowed are in-sync, behind, rejecting"),
        ("/nacks?what=1", "what", "1", "there is no such parameter here; see /openapi.json"),
        ("/upstreams?state=x", "state", "x", "allowed are in-sync, syncing, disconnected"),
        ("/propagation?outcome=x", "outcome", "x", "allowed are accepted, rejected, late"),
        ("/clients?param=env", "param", "env", "it is written KEY=VALUE"),
        ("/clients?dialect=x", "dialect", "x", "allowed are sotw, delta, rest"),
        ("/clients?obstacle=x", "obstacle", "x", "allowed are any, denied, over-limit, away"),
    ] {
        let answer = get(&instance(1), target).await;
        assert_eq!((answer.status, &*answer.content_type), (400, "application/problem+json"), "{target}");
        let problem = answer.json();
        let found = (&problem["field"], &problem["value"], &problem["limit"]);
        assert_eq!(found, (&json!(field), &json!(value), &json!(limit)), "{target}");
    }
}

#[tokio::test]
async fn every_endpoint_is_described_and_documented() {
    let description = get(&instance(0), "/openapi.json").await.json();
    let documentation = include_str!("../../../../docs/admin.md");
    let paths = description["paths"].as_object().unwrap();
    assert!(paths.len() >= 18, "{paths:?}");
    for (path, methods) in paths {
        for (method, endpoint) in methods.as_object().unwrap() {
            assert!(endpoint["summary"].is_string(), "{method} {path} has no summary");
            let heading = format!("`{} {path}`", method.to_uppercase());
            assert!(documentation.contains(&heading), "docs/admin.md has no {heading}");
        }
    }
}

#[tokio::test]
async fn the_log_level_is_shown_and_changed() {
    let fake = instance(0);
    let level = |level: &str, by: &str| json!({ "level": level, "chosen_by": by });
    assert_eq!(get(&fake, "/log-level").await.json(), level("info", "configuration"));
    let answer = request(&fake, "PUT", "/log-level", "{\"level\": \"debug\"}").await;
    assert_eq!((answer.status, answer.json()), (200, level("debug", "operator")));
    let answer = request(&fake, "PUT", "/log-level", "{\"level\": null}").await;
    assert_eq!((answer.status, answer.json()), (200, level("info", "configuration")));
    for (body, field, value) in [
        ("{\"level\": \"loud\"}", "level", "loud"),
        ("{\"lvl\": 1}", "body", "{\"lvl\": 1}"),
        ("{}", "body", "{}"),
        ("debug", "body", "debug"),
    ] {
        let answer = request(&fake, "PUT", "/log-level", body).await;
        let problem = answer.json();
        assert_eq!(
            (answer.status, &problem["field"], &problem["value"]),
            (400, &json!(field), &json!(value))
        );
    }
    assert_eq!(get(&fake, "/log-level").await.json(), level("info", "configuration"));
}

#[tokio::test]
async fn u11_removals_are_confirmed_once() {
    let fake = instance(0);
    for (target, status) in [
        ("/upstreams/x/confirm-removals", 404),
        ("/upstreams/4/confirm-removals", 404),
        ("/upstreams/5/confirm-removals", 409),
        ("/upstreams/3/confirm-removals?type=lds", 409),
        ("/upstreams/3/confirm-removals?type=x", 400),
        ("/upstreams/3/confirm-removals?all=1", 400),
    ] {
        let answer = request(&fake, "POST", target, "").await;
        assert_eq!((answer.status, &*answer.content_type), (status, "application/problem+json"), "{target}");
    }
    assert_eq!(get(&fake, "/upstreams/3/confirm-removals").await.status, 405);
    let answer = request(&fake, "POST", "/upstreams/3/confirm-removals?type=cds", "").await;
    assert_eq!(answer.status, 200);
    let removals = &answer.json()["confirmed"][0];
    assert_eq!((&removals["type"], &removals["removals"]), (&json!("cds"), &json!(40)));
    let again = request(&fake, "POST", "/upstreams/3/confirm-removals", "").await;
    assert_eq!(
        (again.status, again.json()["detail"].as_str()),
        (409, Some("the stream 3 withholds no removals"))
    );
}

#[tokio::test]
async fn a_drain_is_begun_and_looked_at() {
    let fake = instance(2);
    let state = |draining: bool| json!({ "draining": draining, "streams": 2, "limit_seconds": 21.5 });
    assert_eq!(get(&fake, "/drain").await.json(), state(false));
    for _ in 0..2 {
        let answer = request(&fake, "POST", "/drain", "").await;
        assert_eq!((answer.status, answer.json()), (202, state(true)));
    }
    assert_eq!(get(&fake, "/drain").await.json(), state(true));
}

#[tokio::test]
async fn the_configuration_is_shown_with_what_became_of_the_file() {
    let fake = instance(0);
    let shown = get(&fake, "/config").await.json();
    assert_eq!((&shown["file"], &shown["effective"]["log"]["level"]), (&json!("weir.toml"), &json!("info")));
    assert_eq!(
        (&shown["loaded"], &shown["waiting_for_restart"]),
        (&json!("2023-11-14T22:13:20Z"), &json!(["store"]))
    );
    assert_eq!(shown["last_reload"]["error"], "weir.toml:1: downstream: it is missing");
    let file = get(&fake, "/config?format=toml").await;
    assert_eq!(
        (&*file.content_type, &*file.body),
        ("application/toml; charset=utf-8", "[log]\nlevel = \"info\"\n")
    );
    assert_eq!(get(&fake, "/config?format=xml").await.status, 400);
    fake.ready.store(false, Ordering::Relaxed);
    let answer = get(&fake, "/config?format=toml").await;
    assert_eq!((answer.status, &answer.json()["detail"]), (500, &json!("broken")));
}

#[tokio::test]
async fn the_store_is_shown_where_there_is_one() {
    let answer = get(&instance(0), "/store").await;
    assert_eq!((answer.status, &*answer.content_type), (404, "application/problem+json"));
    let store = get(&instance(1), "/store").await.json();
    assert_eq!(
        (&store["size"], &store["pending"], &store["written"]),
        (&json!(1 << 20), &json!(3), &json!("2023-11-14T22:13:20Z"))
    );
    assert_eq!(store["set_aside"], json!(["/var/lib/weir/store.broken-1700000000"]));
    assert_eq!(store["unconfirmed"], 7);
}

#[tokio::test]
async fn what_was_refused_is_listed_by_limit() {
    let page = get(&instance(0), "/refused?limit=1").await.json();
    let first = json!({ "authority": "a", "limit": "max_subscriptions", "subscriptions": 7 });
    assert_eq!((&page["items"], &page["next"]), (&json!([first]), &json!("1")));
    let page = get(&instance(0), "/refused?after=1").await.json();
    assert_eq!((&page["items"][0]["limit"], &page["next"]), (&json!("new_names_per_client"), &Value::Null));
    assert_eq!(get(&instance(0), "/refused?authority=b").await.json()["items"], json!([]));
}
