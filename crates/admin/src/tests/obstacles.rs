//! What is kept from clients, and why.

use serde_json::{Value, json};
use weir_types::constraints::Expr;
use weir_types::{Batch, Constraints, Provenance, ResourceError, ResourceLocator, TypeUrl};

use super::fake::Fake;
use super::get;

#[tokio::test]
async fn e01_of_each_type_it_is_said_how_much_is_kept_from_a_client() {
    let clusters = &get(&Fake::new(1), "/clients/1").await.json()["types"][0];
    for (field, wanted) in [("unanswered", 1), ("away", 1), ("denied", 2), ("over_limit", 3)] {
        assert_eq!(clusters[field], wanted, "{field}");
    }
}

#[tokio::test]
async fn e01_what_is_kept_from_a_client_is_listed_with_the_reason() {
    let fake = Fake::new(1);
    let stream = fake.ask_for_barred();
    let locator = stream.subscription().iter().find(|selector| &*selector.locator.name == "open").unwrap();
    let mut batch = Batch::new(TypeUrl::new(LDS), Provenance::Named);
    let ResourceLocator { name, parameters } = &locator.locator;
    batch.fail(
        &ResourceLocator::new(name.clone(), parameters.clone()),
        ResourceError::unavailable(Constraints::unconstrained()),
    );
    fake.database.commit(batch);

    let given = get(&fake, "/clients/1/resources?type=lds").await.json();
    let rows = given["items"].as_array().unwrap().iter();
    let shown: Vec<_> = rows.map(|row| (&row["name"], &row["obstacle"], &row["error"])).collect();
    let row = |texts: [&str; 3]| texts.map(|text| json!(text));
    let [denied, open, too_much] = [
        row([
            "denied",
            "denied",
            "PERMISSION_DENIED: the access rules of this proxy do not give it to this client",
        ]),
        row(["open", "away", "UNAVAILABLE: the control plane cannot be reached"]),
        row(["too-much", "over-limit", "RESOURCE_EXHAUSTED: that is too much"]),
    ];
    let wanted = [&denied, &open, &too_much].map(|[name, obstacle, error]| (name, obstacle, error));
    assert_eq!(shown, wanted);

    for (filter, wanted) in [
        ("any", &["denied", "open", "too-much"][..]),
        ("denied", &["denied"]),
        ("over-limit", &["too-much"]),
        ("away", &["open"]),
    ] {
        let page = get(&fake, &format!("/clients/1/resources?obstacle={filter}")).await.json();
        let names: Vec<_> =
            page["items"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!(names, wanted, "{filter}");
    }
    let answer = get(&fake, "/clients/1/resources?obstacle=x").await;
    assert_eq!((answer.status, &answer.json()["field"]), (400, &json!("obstacle")));

    let views = get(&fake, "/views?type=lds").await.json();
    let view = &views["items"][0];
    let kept = ["subscribed", "unanswered", "away", "denied", "over_limit"]
        .map(|field| view[field].as_u64().unwrap());
    assert_eq!(kept, [3, 1, 1, 1, 1]);
}

#[tokio::test]
async fn e01_what_is_explained_for_a_client_is_what_it_may_have() {
    let fake = Fake::new(1);
    fake.hold(&[("secret", Expr::value("env", "prod"), 1), ("plain", Expr::value("env", "prod"), 1)]);
    let _stream = fake.ask_for_barred();
    for (path, outcome, chosen) in [
        ("cds/plain", "served", json!("env=prod")),
        ("cds/secret", "denied", Value::Null),
        ("lds/too-much", "over-limit", Value::Null),
        ("lds/open", "unanswered", Value::Null),
    ] {
        let explained = get(&fake, &format!("/resources/{path}/explain?client=1")).await.json();
        assert_eq!(
            (&explained["outcome"], &explained["chosen"]["constraints"]),
            (&json!(outcome), &chosen),
            "{path}"
        );
    }
    let anybody = get(&fake, "/resources/cds/secret/explain?param=env=prod").await.json();
    assert_eq!(anybody["outcome"], "served");
    assert_eq!(get(&fake, "/resources/cds/secret/explain?client=2").await.status, 404);
}

#[tokio::test]
async fn the_streams_of_a_node_are_counted() {
    let fake = Fake::new(6);
    let clients = get(&fake, "/clients").await.json();
    let counts: Vec<_> = clients["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|client| client["streams_of_node"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [1, 1, 2, 1, 1, 2]);
    assert_eq!(get(&fake, "/clients/6").await.json()["streams_of_node"], 2);
}

const LDS: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";
