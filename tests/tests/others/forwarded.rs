//! Control planes that are sent what belongs to each client: its node, and the name in its certificate.

use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use weir_testkit::client::Connection;
use weir_testkit::process::{Weir, free_port};
use weir_testkit::wait::until;
use weir_testkit::{Authority, Dialect, Secured, XdsClient, node, type_url};

use super::clients::{Client, ClientKind, ClientNode};
use super::control_planes::{ControlPlaneKind, ISTIO_GATEWAY, Istiod, Steered, XdsServer};
use super::lane::{Between, MAIN, NodeKey, World};
use super::observed::Expected::Answer;

/// Two Envoys behind one Weir, each with the snapshot of its own id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p19_two_envoys_have_the_snapshots_of_their_ids() {
    const KIND: ControlPlaneKind = ControlPlaneKind::Go("snapshot-ads");
    if let Some(obstacle) = KIND.obstacle() {
        println!("skipped: {obstacle}");
        return;
    }
    let _alone = super::ALONE.lock().await;
    let kind = ClientKind::Envoy(Dialect::Delta);
    let servers = kind.servers(&["one", "two"]).await;
    let mut control_plane = Steered::launch(KIND, NodeKey::Id, Between::Nothing).await;
    control_plane.start().await;
    let server = XdsServer { address: control_plane.address(), tls: None };
    let weir = Weir::builder().section(&server.upstream("ads-delta"));
    let weir = weir.section("[upstream.node]\nforward = [\"id\"]").start().await;
    let weir = XdsServer { address: weir.address(), tls: None };
    let world = |name| World::from([(MAIN, ("a", Some(servers.address(name))))]);
    let client = |id| Client::start(kind, &weir, ClientNode { id, cluster: "test" }, &[(MAIN, free_port())]);
    let [first, second] = [client("first"), client("second")];
    control_plane.publish_for("first", &world("one"), &first).await;
    control_plane.publish_for("second", &world("two"), &second).await;
    first.observed().wait_for(MAIN, Answer("one")).await.expect("the first has its snapshot");
    second.observed().wait_for(MAIN, Answer("two")).await.expect("the second has its snapshot");

    // A change of one of them is for that client only.
    control_plane.publish_for("first", &world("two"), &first).await;
    first.observed().wait_for(MAIN, Answer("two")).await.expect("the first is sent the change");
    control_plane.publish_for("second", &world("one"), &second).await;
    second.observed().wait_for(MAIN, Answer("one")).await.expect("the second is sent the change");
    first.observed().wait_for(MAIN, Answer("two")).await.expect("the first stays as it was");
}

/// A client of a Weir that shows a certificate with this SPIFFE id, and has a gateway's node.
async fn gateway(weir: &Weir, authority: &Authority, spiffe: &str) -> XdsClient {
    let shows = Secured::new(authority.issue(&[spiffe]), authority);
    let connection = Connection::secured(weir.address(), &shows).await.expect("it may connect");
    let node = node(ISTIO_GATEWAY).metadata("NAMESPACE", "default").metadata("SERVICE_ACCOUNT", "gateway");
    let mut client = connection.ads(Dialect::Delta, &node);
    client.subscribe(type_url("cds"), &[]);
    client
}

/// istiod compares namespace and service account of a node with the identity in the header that Weir fills.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "cargo xtask ecosystem"]
async fn istiod_that_authenticates() {
    const KIND: ControlPlaneKind = ControlPlaneKind::Istiod;
    const HEADER: &str = "[upstream.headers]\nx-forwarded-client-cert = \"URI={identity.spiffe}\"";
    const NODE: &str = "[upstream.node]\nforward = [\"id\", \"metadata\"]\nunique_id = false";
    let spiffe = |account: &str| format!("spiffe://cluster.local/ns/default/sa/{account}");
    if let Some(obstacle) = KIND.obstacle() {
        println!("skipped: {obstacle}");
        return;
    }
    let _alone = super::ALONE.lock().await;
    let directory = TempDir::with_prefix("weir-certificates-").expect("a temporary directory");
    let authority = Authority::new("clients");
    authority.write(directory.path(), "ca");
    authority.issue(&["localhost"]).write(directory.path(), "weir");
    let path = directory.path().display();
    let tls = format!(
        "[downstream.tls]\ncertificate = \"{path}/weir.pem\"\nkey = \"{path}/weir.key\"\nclient_ca = \"{path}/ca.pem\""
    );
    let servers = ClientKind::Envoy(Dialect::Delta).servers(&["one"]).await;
    let mut control_plane = Istiod::prepare().await.authenticating();
    let port = free_port();
    control_plane.publish(&World::from([(MAIN, ("a", Some(servers.address("one"))))]), |_| port);
    control_plane.start().await;
    let weir = Weir::builder().section(&control_plane.server().upstream("ads-delta"));
    let weir = weir.section(NODE).section(HEADER).section(&tls).start().await;

    let mut right = gateway(&weir, &authority, &spiffe("gateway")).await;
    let received = right.accept(type_url("cds")).await;
    assert!(received.resources.iter().any(|cluster| cluster.name.contains("a.test")), "{received:?}");

    let mut wrong = gateway(&weir, &authority, &spiffe("other")).await;
    let reason = until("istiod to refuse the other one", async || {
        let upstreams: Value = serde_json::from_str(&weir.admin("/upstreams").await.body).expect("JSON");
        let streams = upstreams["items"].as_array().expect("streams");
        let other =
            streams.iter().find(|s| s["header_values"]["identity.spiffe"] == spiffe("other").as_str())?;
        other["last_error"]["message"].as_str().map(str::to_owned)
    })
    .await;
    assert!(reason.contains("no identities"), "{reason}");
    assert!(wrong.try_receive(Duration::ZERO).await.is_none(), "it is sent nothing");
    control_plane.stop().await;
}
