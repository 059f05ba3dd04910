//! What is kept from clients whatever upstream has, and how many streams a node has.

use serde_json::{Value, json};
use weir_testkit::process::{Weir, free_port};
use weir_testkit::resources::static_cluster;
use weir_testkit::{FakeControlPlane, XdsClient, node};

use crate::CDS;
use crate::http::{ask, listed};
use crate::support::{for_nodes, local};

/// A Weir that gives clusters named `open-…` only, and asks for one of them only.
async fn narrow(control_plane: &FakeControlPlane) -> Weir {
    let names = ["open-1", "open-2", "secret"];
    control_plane.set_all(names.map(|name| for_nodes(&(None, static_cluster(name, &[])))));
    let weir = Weir::builder().upstream(control_plane, "ads-delta", "streams");
    let weir = weir.section("max_subscriptions = 1\n[[access]]\ntypes = [\"cds\"]\nnames = [\"open-*\"]");
    weir.start().await
}

fn names(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e01_u12_names_that_are_denied_or_too_many_are_shown_with_the_client() {
    let control_plane = FakeControlPlane::start().await;
    let weir = narrow(&control_plane).await;
    let who = node("web-1");
    let mut client = XdsClient::delta(weir.address(), &who).await;
    client.subscribe(CDS, &["open-1"]);
    assert_eq!(client.accept(CDS).await.names(), ["open-1"]);
    client.subscribe(CDS, &["open-2", "secret"]);
    let lacks = |clients: &[Value]| {
        let clusters = clients.first().map(|client| &client["types"][0]);
        clusters.is_some_and(|of| (&of["denied"], &of["over_limit"]) == (&json!(1), &json!(1)))
    };
    let clients = listed(&weir, "/clients", lacks).await;
    assert_eq!(clients[0]["types"][0]["subscribed"], 3, "{clients:?}");
    let id = &clients[0]["id"];
    for (obstacle, wanted) in [
        ("denied", &["secret"][..]),
        ("over-limit", &["open-2"]),
        ("any", &["open-2", "secret"]),
        ("away", &[]),
    ] {
        let kept = ask(&weir, &format!("/clients/{id}/resources?obstacle={obstacle}")).await;
        assert_eq!(names(kept["items"].as_array().unwrap()), wanted, "{obstacle}");
        let clients = ask(&weir, &format!("/clients?obstacle={obstacle}")).await;
        assert_eq!(clients["items"].as_array().unwrap().len(), usize::from(!wanted.is_empty()), "{obstacle}");
    }

    let shown = weir.run(&["clients", "--obstacle", "denied"]).await;
    assert!(shown.code == 0 && shown.stdout.contains("1 denied, 1 over limit"), "{shown:?}");
    for (name, code, words) in [
        ("open-1", 0, "served"),
        ("secret", 1, "the access rules do not give it to this client"),
        ("unasked", 1, "the access rules do not give it to this client"),
        ("open-2", 1, "the client asks for more than it may"),
    ] {
        let ran = weir.run(&["explain", name, "--type", "cds", "--client", "web-1"]).await;
        assert!(ran.code == code && ran.stdout.contains(words), "{name}: {ran:?}");
    }

    let mut another = XdsClient::sotw(weir.address(), &who).await;
    another.subscribe(CDS, &["open-1"]);
    another.accept(CDS).await;
    let clients = listed(&weir, "/clients?node=web-1", |clients| clients.len() == 2).await;
    assert!(clients.iter().all(|client| client["streams_of_node"] == 2), "{clients:?}");
    drop(another);
    let alone = |clients: &[Value]| clients.len() == 1 && clients[0]["streams_of_node"] == 1;
    listed(&weir, "/clients", alone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u14_names_that_nobody_can_be_asked_for_are_shown_with_the_client() {
    let weir = Weir::builder().upstream_at(local(free_port()), "ads-delta", "native").start().await;
    let mut client = XdsClient::delta(weir.address(), &node("web-1")).await;
    client.subscribe(CDS, &["backend", "*"]);
    let away = |clients: &[Value]| clients.first().is_some_and(|one| one["types"][0]["away"] == 2);
    let clients = listed(&weir, "/clients?obstacle=away", away).await;
    assert_eq!(clients[0]["types"][0]["unanswered"], 2, "{clients:?}");
    let kept = ask(&weir, &format!("/clients/{}/resources?obstacle=away", clients[0]["id"])).await;
    assert_eq!(names(kept["items"].as_array().unwrap()), ["*", "backend"]);
    let views = ask(&weir, "/views?type=cds").await;
    assert_eq!(views["items"][0]["away"], 2, "{views}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_parameters_are_explained_by_the_rules_that_gave_them() {
    let rule = "[[dynamic_parameters]]\nkey = \"env\"\nfrom = \"node.metadata.env\"\ndefault = \"old\"";
    let weir = Weir::builder().resources(&[static_cluster("backend", &[])]).section(rule).start().await;
    let mut client = XdsClient::delta(weir.address(), &node("web-1")).await;
    client.subscribe(CDS, &["backend"]);
    client.accept(CDS).await;
    weir.reconfigure(|text| text.replace("default = \"old\"", "default = \"new\""));
    weir.child().wait_for_line(&["dynamic_parameters", "reloaded"]).await;
    let clients = ask(&weir, "/clients?param=env=old").await;
    let parameter = &clients["items"][0]["parameters"][0];
    assert_eq!((&parameter["value"], &parameter["origin"]["defaulted"]), (&json!("old"), &json!(true)));
    assert_eq!(ask(&weir, "/clients?param=env=new").await["items"], json!([]));
}
