//! What java-control-plane does not send, to whichever client: why not every scenario can be played with it in every way. A
//! client of the tests subscribes directly, with its node in every request.

use std::net::SocketAddr;

use weir_testkit::process::no_java;
use weir_testkit::resources::{assignment, eds_cluster};
use weir_testkit::{Dialect, XdsClient, node, type_url};
use weir_wire::discovery::{DeltaDiscoveryRequest, DiscoveryRequest};

use super::control_planes::{ControlPlaneKind, Steered};
use super::lane::{Between, NodeKey};

const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

/// A control plane and a client; none where Java is missing.
async fn start(dialect: Dialect) -> Option<(Steered, XdsClient)> {
    if let Some(obstacle) = no_java() {
        println!("skipped: {obstacle}");
        return None;
    }
    let mut control_plane = Steered::launch(ControlPlaneKind::Java, NodeKey::Id, Between::Nothing).await;
    control_plane.start().await;
    let client = XdsClient::connect(dialect, control_plane.address(), &node("client")).await;
    Some((control_plane, client))
}

fn delta(type_url: &str, names: &[&str], nonce: &str) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        node: Some(node("client").encode()),
        type_url: type_url.to_owned(),
        resource_names_subscribe: names.iter().map(|&name| name.to_owned()).collect(),
        response_nonce: nonce.to_owned(),
        ..DeltaDiscoveryRequest::default()
    }
}

fn sotw(type_url: &str, names: &[&str]) -> DiscoveryRequest {
    DiscoveryRequest {
        node: Some(node("client").encode()),
        type_url: type_url.to_owned(),
        resource_names: names.iter().map(|&name| name.to_owned()).collect(),
        ..DiscoveryRequest::default()
    }
}

#[tokio::test]
#[ignore = "cargo xtask ecosystem"]
async fn java_incremental_never_sends_again_what_it_removed() {
    let Some((control_plane, mut client)) = start(Dialect::Delta).await else { return };
    let eds = type_url("eds");
    let [a, b] = ["a", "b"].map(|name| assignment(name, &[SERVER]));
    control_plane.put(std::slice::from_ref(&a)).await;
    client.send_delta(delta(eds, &["a"], ""));
    let received = client.receive().await;
    assert_eq!(received.names(), ["a"]);
    client.send_delta(delta(eds, &[], &received.nonce));

    control_plane.put(&[]).await;
    let received = client.receive().await;
    assert_eq!(received.removed, ["a"]);
    client.send_delta(delta(eds, &[], &received.nonce));

    // The subscription has not ended, and it is there again.
    control_plane.put(&[a, b]).await;
    client.send_delta(delta(eds, &["b"], ""));
    let received = client.receive().await;
    assert_eq!(received.names(), ["b"]);
    client.send_delta(delta(eds, &[], &received.nonce));
    client.send_delta(delta(eds, &["a"], ""));
    assert_eq!(client.receive().await.names(), ["a"]);
}

#[tokio::test]
#[ignore = "cargo xtask ecosystem"]
async fn java_aggregated_sotw_answers_no_request_with_a_name_that_it_lacks() {
    let Some((control_plane, mut client)) = start(Dialect::Sotw).await else { return };
    let (cds, eds) = (type_url("cds"), type_url("eds"));
    control_plane.put(&[eds_cluster("a"), assignment("a", &[SERVER])]).await;
    client.send_sotw(sotw(eds, &["a", "missing"]));
    client.send_sotw(sotw(cds, &[]));
    assert_eq!(client.receive().await.type_url, cds);
    client.send_sotw(sotw(eds, &["a"]));
    let received = client.receive().await;
    assert_eq!((received.type_url.as_str(), received.names()), (eds, vec!["a"]));
}
