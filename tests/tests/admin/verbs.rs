//! What operators change.

use serde_json::{Value, json};
use tonic::Code;
use weir_testkit::process::Weir;
use weir_testkit::resource::Published;
use weir_testkit::wait::within;
use weir_testkit::{FakeControlPlane, XdsClient, node};

use crate::CDS;
use crate::http::{ask, listed};

const WIDGET: &str = "type.googleapis.com/acme.Widget";

/// A Weir that takes this long to move its clients elsewhere, and a client of it.
async fn with_a_client(control_plane: &FakeControlPlane, over: &str) -> (Weir, XdsClient) {
    control_plane.set(Published::text(WIDGET, "w", "1"));
    let drain = format!("[drain]\nover = \"{over}\"\ngrace = \"50ms\"\n");
    let weir = Weir::builder().upstream(control_plane, "ads-delta", "streams").section(&drain);
    let weir = weir.start().await;
    let mut client = XdsClient::delta(weir.address(), &node("n")).await;
    client.subscribe(WIDGET, &["w"]);
    client.accept(WIDGET).await;
    (weir, client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_that_an_operator_begins_moves_clients_and_ends_the_program() {
    let control_plane = FakeControlPlane::start().await;
    let (mut weir, mut client) = with_a_client(&control_plane, "100ms").await;
    assert_eq!(weir.admin("/ready").await.status, 200);
    let before = ask(&weir, "/drain").await;
    assert_eq!((&before["draining"], &before["streams"]), (&json!(false), &json!(1)));
    assert_eq!(weir.change("POST", "/drain", "").await.status, 202);
    let end = client.closed().await;
    assert!(matches!(end.code(), Code::Unavailable | Code::Unknown), "{end}");
    assert_eq!(weir.ended().await.code(), Some(0));
    weir.child().wait_for_line(&["an operator has changed something", "/drain"]).await;
    weir.child().wait_for_line(&["the last client has gone"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sigterm_after_an_operators_drain_means_the_same_and_the_next_ends_it() {
    let control_plane = FakeControlPlane::start().await;
    let (mut weir, mut client) = with_a_client(&control_plane, "24h").await;
    for _ in 0..2 {
        let draining: Value = serde_json::from_str(&weir.change("POST", "/drain", "").await.body).unwrap();
        assert_eq!((&draining["draining"], &draining["streams"]), (&json!(true), &json!(1)));
        assert!(draining["limit_seconds"].as_f64().unwrap() >= 24.0 * 3600.0);
    }
    let ready = weir.admin("/ready").await;
    assert!(ready.status == 503 && ready.body.contains("clients are moved elsewhere"), "{}", ready.body);
    weir.child().wait_for_line(&["draining clients"]).await;
    weir.signal("TERM").await;
    weir.child().wait_for_line(&["already draining"]).await;
    control_plane.set(Published::text(WIDGET, "w", "2"));
    assert_eq!(client.accept(WIDGET).await.resources[0].text(), "2", "who is still here is served");
    weir.signal("TERM").await;
    assert_eq!(weir.ended().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u11_withheld_removals_are_shown_and_an_operator_believes_them() {
    let control_plane = FakeControlPlane::start().await;
    let all = (0..20).map(|i| Published::text(CDS, &format!("c{i:02}"), "1"));
    control_plane.set_all(all);
    let weir = Weir::builder().upstream(&control_plane, "ads-sotw", "streams");
    let weir = weir.section("shrink_guard = { percent = 50, confirm_after = '1h' }").start().await;
    let mut client = XdsClient::sotw(weir.address(), &node("n")).await;
    client.subscribe(CDS, &[]);
    assert_eq!(client.accept(CDS).await.names().len(), 20);

    control_plane.change(|published| published.truncate(1));
    let withholds = |links: &[Value]| links.iter().any(|link| link["withheld"] != json!([]));
    let links = listed(&weir, "/upstreams", withholds).await;
    let link = links.iter().find(|link| link["withheld"] != json!([])).expect("one withholds");
    let withheld = &link["withheld"][0];
    assert_eq!(
        (&withheld["type"], &withheld["removals"], &withheld["of"]),
        (&json!("cds"), &json!(19), &json!(20))
    );
    assert!(withheld["names"].as_array().is_some_and(|names| names.contains(&json!("c01"))), "{withheld}");

    for (filters, code) in [
        (&["--authority", "other"][..], 1),
        (&["--authority", "", "--type", "lds"], 1),
        (&["--authority", "", "--type", "cds"], 0),
    ] {
        let ran = weir.run(&[&["confirm-removals", "--dry-run"], filters].concat()).await;
        assert_eq!(ran.code, code, "{filters:?}: {ran:?}");
    }
    let path = format!("/upstreams/{}/confirm-removals", link["id"]);
    assert_eq!(weir.change("POST", &format!("{path}?type=lds"), "").await.status, 409);
    let answer = weir.change("POST", &path, "").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let names = within("the removals", async { client.accept(CDS).await.names().len() }).await;
    assert_eq!(names, 1);
    listed(&weir, "/upstreams", |links| !withholds(links)).await;
    assert_eq!(weir.change("POST", &path, "").await.status, 409);
    let metrics = weir.admin("/metrics").await.body;
    assert!(metrics.contains("weir_admin_changes_total 3"), "{metrics}");
    assert!(metrics.contains("outcome=\"confirmed\""), "{metrics}");
}
