//! The endpoints about what is held.

use serde_json::{Value, json};
use weir_types::constraints::Expr;
use weir_types::{Absence, Batch, Provenance, ResourceLocator, TypeUrl};

use super::fake::Fake;
use super::get;

fn env(value: &str) -> Expr {
    Expr::value("env", value)
}

fn names(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|resource| resource["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn resources_come_in_pages_in_order() {
    let fake = Fake::new(0);
    let all: Vec<String> = (0..200).map(|i| format!("c-{i:03}")).collect();
    let variants: Vec<_> = all.iter().map(|name| (name.as_str(), env("prod"), 1)).collect();
    fake.hold(&variants);
    assert_eq!(names(&get(&fake, "/resources").await.json()), all);
    let mut page = get(&fake, "/resources?type=cds&limit=70").await.json();
    let mut listed = Vec::new();
    loop {
        listed.extend(names(&page).into_iter().map(str::to_owned));
        let Some(next) = page["next"].as_str() else { break };
        let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        page = get(&fake, &format!("/resources?type=cds&limit=70&after={next}")).await.json();
    }
    assert_eq!(listed, all);
    assert_eq!(names(&get(&fake, "/resources?prefix=c-19").await.json()).len(), 10);
    assert_eq!(get(&fake, "/resources?type=lds").await.json()["items"], json!([]));
}

#[tokio::test]
async fn a_resource_is_shown_with_its_variants_and_who_asks_for_it() {
    let fake = Fake::new(0);
    fake.hold(&[("a", env("prod"), 1), ("a", env("test"), 2)]);
    let _streams = [
        fake.ask("a", &[("env", "prod")]),
        fake.ask("a", &[("env", "prod")]),
        fake.ask("*", &[("env", "test")]),
        fake.ask("a", &[("env", "dev")]),
    ];
    let resource = get(&fake, "/resources/cds/a").await.json();
    assert_eq!(resource["type"], "cds");
    let variants = resource["variants"].as_array().unwrap();
    let shown: Vec<_> =
        variants.iter().map(|v| (&v["constraints"], &v["subscribers"], &v["reach"])).collect();
    let local = json!("local");
    assert_eq!(shown, [(&json!("env=prod"), &json!(2), &local), (&json!("env=test"), &json!(1), &local)]);
    assert_eq!(resource["bodies"][1]["connect_timeout"], "2s");
    assert_eq!(
        resource["asked"][0],
        json!({ "parameters": { "env": "dev" }, "streams": 1, "served": null, "absence": "unknown" })
    );
    assert_eq!(
        resource["asked"][1],
        json!({ "parameters": { "env": "prod" }, "streams": 2, "served": "env=prod" })
    );
    let by_message = get(&fake, "/resources/envoy.config.cluster.v3.Cluster/a").await.json();
    assert_eq!(by_message["variants"], resource["variants"]);
    for (path, status) in [("/resources/cds/b", 404), ("/resources/xds/a", 400)] {
        assert_eq!(get(&fake, path).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn p12_it_is_explained_who_gets_which_variant_and_why() {
    let fake = Fake::new(1);
    let canary = Expr::All(vec![env("prod"), Expr::exists("canary")]);
    fake.hold(&[("a", env("prod"), 1), ("a", env("test"), 2), ("a", canary, 3)]);
    let explained = get(&fake, "/resources/cds/a/explain?param=env=prod").await.json();
    assert_eq!(
        (&explained["outcome"], &explained["chosen"]["constraints"]),
        (&json!("served"), &json!("env=prod"))
    );
    let mismatches = explained["mismatches"].as_array().unwrap();
    let unfit: Vec<_> = mismatches.iter().map(|m| (&m["requirement"], &m["given"])).collect();
    let given = [json!({ "canary": null }), json!({ "env": "prod" })];
    assert_eq!(unfit, [(&json!("canary exists"), &given[0]), (&json!("env=test"), &given[1])]);
    assert_eq!(explained["overlaps"][0]["witness"], json!({ "canary": "other-0", "env": "prod" }));

    let both = get(&fake, "/resources/cds/a/explain?param=env=prod&param=canary=1").await.json();
    assert_eq!(both["chosen"]["constraints"], "env=prod and canary exists");
    assert_eq!(both["rivals"][0]["constraints"], "env=prod");
    let of_client = get(&fake, "/resources/cds/a/explain?client=1").await.json();
    assert_eq!(
        (&of_client["parameters"], &of_client["chosen"]),
        (&json!({ "env": "prod" }), &explained["chosen"])
    );
    assert_eq!(get(&fake, "/resources/cds/a/explain").await.json()["outcome"], "nothing-matches");
    assert_eq!(get(&fake, "/resources/cds/b/explain").await.json()["outcome"], "not-held");
    assert_eq!(explained["asked"], Value::Null);
    for (query, status) in
        [("client=2", 404), ("client=1&param=a=b", 400), ("client=x", 400), ("param=a", 400)]
    {
        assert_eq!(get(&fake, &format!("/resources/cds/a/explain?{query}")).await.status, status, "{query}");
    }
}

#[tokio::test]
async fn what_upstream_has_not_answered_is_no_missing_resource() {
    let fake = Fake::new(1);
    let explain = async |query: &str| get(&fake, &format!("/resources/cds/a/explain?{query}")).await.json();
    let parameters = [("env", "prod")];
    let _asking = fake.ask("a", &parameters);
    let pending = explain("param=env=prod").await;
    let asked =
        json!({ "parameters": { "env": "prod" }, "streams": 1, "served": null, "absence": "unknown" });
    assert_eq!((&pending["outcome"], &pending["asked"]), (&json!("unanswered"), &asked));
    assert_eq!(explain("param=env=test").await["outcome"], "not-held");
    fake.hold(&[("a", env("test"), 1)]);
    assert_eq!(explain("param=env=prod").await["outcome"], "unanswered", "the other variant is no answer");

    for (absence, outcome) in [(Absence::TimedOut, "timed-out"), (Absence::Known, "nothing-matches")] {
        let locator = ResourceLocator::new("a", parameters.into_iter().collect());
        let mut batch = Batch::new(TypeUrl::from_short_name("cds").unwrap(), Provenance::Named);
        batch.mark_absent(&locator, absence);
        fake.database.commit(batch);
        assert_eq!(explain("param=env=prod").await["outcome"], outcome);
    }
}

/// All pages of an explanation, and how many there are.
async fn explained(fake: &std::sync::Arc<Fake>, limit: usize) -> (Vec<Value>, Vec<Value>, usize) {
    let (mut others, mut overlaps, mut pages, mut after) = (Vec::new(), Vec::new(), 0, String::new());
    loop {
        let target = format!("/resources/cds/a/explain?param=env=1&limit={limit}{after}");
        let page = get(fake, &target).await.json();
        let list = |field: &str| page[field].as_array().unwrap().clone();
        assert!(list("mismatches").len() <= limit && list("overlaps").len() <= limit, "{page}");
        assert_eq!(page["outcome"], "served");
        others.extend([list("rivals"), list("mismatches")].concat());
        overlaps.extend(list("overlaps"));
        pages += 1;
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    (others, overlaps, pages)
}

#[tokio::test]
async fn p12_an_explanation_comes_in_pages() {
    let fake = Fake::new(0);
    let keys: Vec<_> = (0..30).map(|n| Expr::exists(format!("k{n}"))).chain([env("1")]).collect();
    let variants: Vec<_> = keys.into_iter().map(|expr| ("a", expr, 1)).collect();
    fake.hold(&variants);
    let (others, overlaps, pages) = explained(&fake, 1000).await;
    assert_eq!((others.len(), overlaps.len(), pages), (30, 31 * 30 / 2, 1));
    let in_parts = explained(&fake, 20).await;
    assert_eq!(in_parts, (others, overlaps, 24));
    let wrong = get(&fake, "/resources/cds/a/explain?after=1.2").await;
    assert_eq!((wrong.status, &wrong.json()["field"]), (400, &json!("after")));
    let far = format!("/resources/cds/a/explain?after={0}.{0}.{0}", usize::MAX);
    assert_eq!(get(&fake, &far).await.json()["next"], Value::Null);
}

#[tokio::test]
async fn p12_a_page_of_an_explanation_is_limited_by_its_work_too() {
    let fake = Fake::new(0);
    let names: Vec<_> = (0..3000).map(|n| n.to_string()).collect();
    let variants: Vec<_> = names.iter().map(|name| ("a", env(name), 1)).collect();
    fake.hold(&variants);
    let page = get(&fake, "/resources/cds/a/explain?limit=100000").await.json();
    assert_eq!((page["mismatches"].as_array().unwrap().len(), &page["overlaps"]), (3000, &json!([])));
    let next = page["next"].as_str().unwrap();
    assert!(next.starts_with("3000."), "{next}");
    let page = get(&fake, &format!("/resources/cds/a/explain?after={next}")).await.json();
    assert!(page["next"].as_str().is_some_and(|further| further != next), "{page}");
}

#[tokio::test]
async fn p12_ambiguities_are_listed_with_a_witness_while_they_last() {
    let fake = Fake::new(0);
    fake.hold(&[("a", env("prod"), 1), ("a", Expr::value("zone", "a"), 2)]);
    let _stream = fake.ask("a", &[("env", "prod"), ("zone", "a")]);
    let page = get(&fake, "/ambiguities").await.json();
    let found = &page["items"][0];
    assert_eq!((&found["served"], &found["ignored"]), (&json!("env=prod"), &json!("zone=a")));
    assert_eq!(found["witness"], json!({ "env": "prod", "zone": "a" }));
    assert_eq!(get(&fake, "/ambiguities?type=lds").await.json()["items"], json!([]));
    fake.withdraw("a", &Expr::value("zone", "a"));
    assert_eq!(get(&fake, "/ambiguities").await.json()["items"], json!([]));
}

#[tokio::test]
async fn views_are_listed_with_what_they_are_subscribed_to() {
    let fake = Fake::new(0);
    let _streams = [fake.ask("a", &[]), fake.ask("a", &[]), fake.ask("*", &[("env", "prod")])];
    let page = get(&fake, "/views?type=cds").await.json();
    let [first, second] = &page["items"].as_array().unwrap()[..] else { panic!("{page}") };
    assert_eq!((&first["streams"], &first["names"][0]["name"]), (&json!(2), &json!("a")));
    let wildcard = json!({ "name": "*", "located": false, "parameters": { "env": "prod" } });
    assert_eq!(
        (&second["streams"], &second["names"][0], &second["unanswered"]),
        (&json!(1), &wildcard, &json!(1))
    );
    assert_eq!((&first["in_sync"], &first["behind"], &first["rejecting"]), (&json!(0), &json!(0), &json!(0)));
    let next = get(&fake, "/views?limit=1").await.json();
    assert_eq!(next["items"][0]["id"], first["id"]);
    let rest = get(&fake, &format!("/views?after={}", next["next"].as_str().unwrap())).await.json();
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["items"][0]["id"]), (1, &second["id"]));
}

#[tokio::test]
async fn it_is_shown_what_a_client_is_given() {
    let fake = Fake::new(1);
    fake.hold(&[("a", env("prod"), 1), ("a", env("test"), 2), ("b", env("prod"), 3)]);
    let _stream = fake.ask("*", &[("env", "prod")]);
    let page = get(&fake, "/clients/1/resources?limit=1").await.json();
    let given = &page["items"][0];
    assert_eq!(
        (&given["name"], &given["asked"], &given["located"]),
        (&json!("a"), &json!("*"), &json!(false))
    );
    assert_eq!((&given["constraints"], &given["absence"]), (&json!("env=prod"), &Value::Null));
    let held = get(&fake, "/resources/cds/a").await.json();
    assert_eq!(given["version"], held["variants"][0]["version"]);
    let rest = get(&fake, "/clients/1/resources?after=1").await.json();
    assert_eq!((names(&rest), &rest["next"]), (vec!["b"], &Value::Null));
    assert_eq!(get(&fake, "/clients/1/resources?type=lds").await.json()["items"], json!([]));
    assert_eq!(get(&fake, "/clients/2/resources").await.status, 404);
}

#[tokio::test]
async fn it_is_sent_how_far_a_change_has_come() {
    let fake = Fake::new(30);
    fake.hold(&[("a", env("prod"), 1), ("b", env("prod"), 1)]);
    let _stream = fake.ask("*", &[("env", "prod")]);
    let progress = get(&fake, "/resources/cds/a/delivery").await.json();
    let counts = ["streams", "accepted", "waiting", "rejected", "unanswered"]
        .map(|key| progress[key].as_u64().unwrap());
    assert_eq!(counts, [30, 7, 8, 8, 7]);
    let open = progress["open"].as_array().unwrap();
    assert_eq!((open.len(), &open[0]["state"], &open[0]["client"]), (20, &json!("rejected"), &json!(30)));
    assert_eq!((&open[0]["message"], &open[0]["sent"]), (&json!("no"), &json!("2023-11-14T22:12:50Z")));
    assert_eq!((&open[8]["state"], &open[8]["client"]), (&json!("unanswered"), &json!(27)));
    assert_eq!(progress["versions"].as_object().unwrap().len(), 1);

    let first = progress["versions"].clone();
    fake.hold(&[("a", env("prod"), 2)]);
    let changed = get(&fake, "/resources/cds/a/delivery").await.json()["versions"].clone();
    let commit = |versions: &Value| versions.as_object().unwrap().values().next().unwrap().as_u64().unwrap();
    assert!(changed != first && commit(&changed) > commit(&first), "{first} {changed}");
    let nobody = get(&fake, "/resources/cds/x/delivery").await.json();
    assert_eq!((&nobody["streams"], &nobody["versions"]), (&json!(0), &json!({})));
}
