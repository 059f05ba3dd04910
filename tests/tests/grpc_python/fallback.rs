//! A second server in the bootstrap (gRFC A71): gRPC turns to it where the stream to Weir ends before its first response and
//! something is not cached, and returns to Weir as soon as that answers.

use std::time::{Duration, Instant};

use weir_testkit::FakeControlPlane;
use weir_testkit::process::{GrpcServers, Weir};
use weir_testkit::resources::{grpc_path, published};

use crate::bootstrap::Setup;

/// Before any timer of gRPC is over.
const SOON: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u14_a_second_server_is_used_where_weir_has_nothing_and_for_no_longer() {
    let servers = GrpcServers::start(&["first", "second"]).await;
    let publish = |control_plane: &FakeControlPlane, server: &str| {
        control_plane.set_all(grpc_path("c", servers.address(server)).iter().map(published));
    };
    let (mut first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    publish(&first, "first");
    publish(&second, "second");
    first.stop().await;
    let mut weir = Weir::builder().upstream(&first, "ads-delta", "streams").start().await;
    weir.child().wait_for_line(&["upstream", "Connection refused"]).await;

    let began = Instant::now();
    let client = Setup::Fallback.client(&[weir.address(), second.address()]);
    client.wait_for("second").await;
    println!("fell back {:?} after the start of the client", began.elapsed());
    assert!(began.elapsed() < SOON, "after {:?}", began.elapsed());

    first.restart().await;
    let restarted = Instant::now();
    client.wait_for("first").await;
    println!("returned {:?} after the control plane", restarted.elapsed());
    assert!(restarted.elapsed() < SOON, "after {:?}", restarted.elapsed());
    second.wait_until_alone().await;

    // Everything is cached from here on, so that nothing is asked of the second one.
    let streams = second.look(|state| state.streams.len());
    first.stop().await;
    client.wait_for_more(30).await;
    weir.kill().await;
    client.wait_for_more(200).await;
    weir.restart().await;
    weir.child().wait_for_line(&["nothing of what is asked for is cached"]).await;
    client.wait_for_more(30).await;
    assert_eq!(second.look(|state| state.streams.len()), streams, "the second server was asked again");
    client.finish();
}
