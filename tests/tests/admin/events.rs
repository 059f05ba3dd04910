//! The summary, whenever it changes.

use serde_json::{Value, json};
use weir_testkit::process::Events;
use weir_testkit::resources::static_cluster;
use weir_testkit::{XdsClient, node};

use crate::http::{ask, listed};
use crate::support::{Bed, for_all};
use crate::{CDS, one_accepts_and_one_rejects};

/// The counts of the view with most streams.
fn counts(of: &Value) -> [u64; 3] {
    ["in_sync", "behind", "rejecting"].map(|state| of[state].as_u64().expect("a count"))
}

async fn events(bed: &Bed) -> Events {
    Events::of(bed.weir.admin_address(), "/events").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tree_from_control_planes_to_clients_is_sent_as_it_changes() {
    let (bed, mut accepts, mut rejects) = one_accepts_and_one_rejects().await;
    let mut events = events(&bed).await;
    let all = |summary: &Value| {
        let mut links = summary["upstreams"]["links"].as_array().unwrap().iter();
        counts(&summary["streams"]) == [1, 0, 1] && links.all(|link| link["state"] == "in-sync")
    };
    let summary = events.until("the control plane and both clients to have answered", all).await;
    assert_eq!((&summary["ready"], &summary["draining"]), (&json!(true), &json!(false)));
    let links = summary["upstreams"]["links"].as_array().unwrap();
    assert!(!links.is_empty(), "{summary}");
    assert_eq!(summary["upstreams"]["in_sync"], links.len());
    assert_eq!(counts(&summary["types"][0]), [1, 0, 1]);
    let views = summary["views"].as_array().unwrap();
    let [rejected, accepted] = &views[..] else { panic!("{summary}") };
    assert_eq!((counts(rejected), &rejected["names"][0]["name"]), ([0, 0, 1], &json!("*")));
    assert_eq!((counts(accepted), &accepted["names"][0]["name"]), ([1, 0, 0], &json!("backend")));
    assert_eq!(summary["nacks"][0]["message"], "no such thing here");

    bed.set(&for_all([static_cluster("backend", &[([127, 0, 0, 1], 1).into()])]));
    let received = accepts.receive_type(CDS).await;
    let repaired = rejects.receive_type(CDS).await;
    rejects.ack(&repaired);
    let later = events.until("one to be behind", |summary| counts(&summary["streams"]) == [1, 1, 0]).await;
    assert!(later["commit"].as_u64() > summary["commit"].as_u64(), "{later}");
    accepts.ack(&received);
    let in_sync =
        |summary: &Value| counts(&summary["streams"]) == [2, 0, 0] && summary["propagation"] != json!([]);
    let last = events.until("all to be in sync", in_sync).await;
    let newest = &last["propagation"][0];
    assert_eq!((&newest["type"], &newest["outcome"]), (&json!("cds"), &json!("accepted")));
    assert!(newest["seconds"].as_f64().unwrap() > 0.0);
    let followed = ask(&bed.weir, "/propagation?type=cds").await;
    assert!(followed["items"].as_array().unwrap().contains(newest), "{followed}");
    let by_view = listed(&bed.weir, "/views?type=cds", |views| views.len() == 2).await;
    assert!(by_view.iter().all(|view| counts(view) == [1, 0, 0]), "{by_view:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_goes_away_is_sent() {
    let (bed, _accepts, _rejects) = one_accepts_and_one_rejects().await;
    let mut events = events(&bed).await;
    events.until("Weir to be ready", |summary| summary["ready"] == true).await;
    drop(bed.control_plane);
    // There is one for names and one for the wildcard, and each notices it by itself.
    let all = |summary: &Value, are: fn(&Value) -> bool| {
        let links = summary["upstreams"]["links"].as_array().expect("a list");
        !links.is_empty() && links.iter().all(are)
    };
    let away = |summary: &Value| {
        all(summary, |link| link["state"] == "disconnected" && link["last_error"].is_string())
    };
    let summary = events.until("the control plane to be away, and why", away).await;
    assert_eq!(summary["upstreams"]["in_sync"], 0, "{summary}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_watch_do_not_hold_up_the_end() {
    let (mut bed, accepts, rejects) = one_accepts_and_one_rejects().await;
    let mut events = events(&bed).await;
    events.next().await.expect("a summary");
    drop((accepts, rejects));
    bed.weir.signal("TERM").await;
    while events.next().await.is_some() {}
    assert_eq!(bed.weir.ended().await.code(), Some(0));
    assert!(!bed.weir.child().output().contains("did not close in time"), "{}", bed.weir.child().output());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_comes_is_sent() {
    let (bed, _accepts, _rejects) = one_accepts_and_one_rejects().await;
    let mut events = events(&bed).await;
    events.until("two clients", |summary| counts(&summary["streams"]).iter().sum::<u64>() == 2).await;
    let mut third = XdsClient::delta(bed.address(), &node("web-3")).await;
    third.subscribe(CDS, &["backend"]);
    third.accept(CDS).await;
    events.until("three clients", |summary| counts(&summary["streams"]) == [2, 0, 1]).await;
}
