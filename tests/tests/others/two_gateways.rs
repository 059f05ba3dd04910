//! Two Gateways of one Envoy Gateway, which are two `node.cluster`: a Weir serves the clients of both.

use weir_testkit::Dialect;
use weir_testkit::process::{Weir, free_port};

use super::clients::{Client, ClientKind, ClientNode};
use super::control_planes::{ControlPlaneKind, EnvoyGateway, Gateway, XdsServer};
use super::lane::{MAIN, World};
use super::observed::Expected::Answer;

const KIND: ControlPlaneKind = ControlPlaneKind::EnvoyGateway;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "cargo xtask ecosystem"]
async fn envoy_gateway_with_two_gateways() {
    if let Some(obstacle) = KIND.obstacle() {
        println!("skipped: {obstacle}");
        return;
    }
    let _alone = super::ALONE.lock().await;
    let kind = ClientKind::Envoy(Dialect::Delta);
    let servers = kind.servers(&["one", "two"]).await;
    let mut control_plane = EnvoyGateway::prepare().await;
    let [red_port, blue_port] = [free_port(), free_port()];
    let world = |name| World::from([(MAIN, ("a", Some(servers.address(name))))]);
    let [one, two] = [world("one"), world("two")];
    let publish = async |control_plane: &EnvoyGateway, red, blue| {
        let red = Gateway { name: "red", world: red, port: &|_| red_port };
        let blue = Gateway { name: "blue", world: blue, port: &|_| blue_port };
        control_plane.publish(&[red, blue]).await;
    };
    publish(&control_plane, &one, &two).await;
    control_plane.start().await;
    let server = control_plane.server();
    let weir = Weir::builder()
        .section(&server.upstream("ads-delta"))
        .section(KIND.upstream())
        .section(&server.upstream_tls())
        .section(KIND.sections())
        .start()
        .await;
    let weir = XdsServer { address: weir.address(), tls: None };
    let client = |id, cluster, port| Client::start(kind, &weir, ClientNode { id, cluster }, &[(MAIN, port)]);
    let red = client("envoy-red", "default/red", red_port);
    let blue = client("envoy-blue", "default/blue", blue_port);
    red.observed().wait_for(MAIN, Answer("one")).await.expect("red is sent its Gateway");
    blue.observed().wait_for(MAIN, Answer("two")).await.expect("blue is sent its Gateway");

    // A change of one of them is for its clients only.
    publish(&control_plane, &two, &two).await;
    red.observed().wait_for(MAIN, Answer("two")).await.expect("red is sent the change");
    publish(&control_plane, &two, &one).await;
    blue.observed().wait_for(MAIN, Answer("one")).await.expect("blue is sent the change");
    red.observed().wait_for(MAIN, Answer("two")).await.expect("red stays as it was");
    control_plane.stop().await;
}
