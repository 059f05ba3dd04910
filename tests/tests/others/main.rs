//! Weir between control planes and clients that others made. Each scenario is played in three lanes at once: directly,
//! through Weir, and through a Weir with a store. Through Weir no request may fail that does not fail directly, no change may
//! come noticeably later, and in the end the clients have to be configured alike.
//!
//! A control plane is a file in `control_planes`, a client one in `clients`.

mod clients;
mod control_planes;
mod lane;
mod observed;
mod scenarios;
mod verdict;

use std::time::{Duration, Instant};

use clients::ClientKind::{Envoy, GrpcGo, GrpcPython};
use control_planes::{ControlPlane, GoControlPlane};
use lane::NodeKey::{Cluster, Id, Metadata};
use lane::{Between, Cell, LANES, Lane};
use tokio::sync::Mutex;
use weir_testkit::Dialect::{Delta, Sotw};
use weir_testkit::process::no_go;

/// How long clients may take until they are configured alike.
const SETTLED: Duration = Duration::from_secs(10);

/// Plays everything, and panics if something is worse through Weir.
async fn run<C: ControlPlane>(cell: Cell, control_plane: impl AsyncFn(Between) -> C) {
    // One cell at a time: how long a change takes is measured.
    static ALONE: Mutex<()> = Mutex::const_new(());
    let _alone = ALONE.lock().await;
    let servers = cell.client.servers(&scenarios::SERVERS).await;
    let lane = async |between| {
        let mut lane = Lane::start(between, cell, control_plane(between).await).await;
        scenarios::play(&mut lane, &servers).await;
        lane
    };
    let [direct, weir, with_store] = LANES;
    let (mut direct, weir, with_store) = tokio::join!(lane(direct), lane(weir), lane(with_store));
    let lanes = [&direct, &weir, &with_store];
    let results = lanes.map(|lane| lane.measured().to_vec()).to_vec();
    println!("{}", verdict::draw(cell.name, &results));
    let problems = verdict::problems(&results);
    assert!(problems.is_empty(), "{}: {problems:#?}", cell.name);
    for mut through in [weir, with_store] {
        expect_equal_dumps(&mut direct, &mut through).await;
    }
}

/// The last change shows in answers before all of it has arrived.
async fn expect_equal_dumps<C: ControlPlane>(direct: &mut Lane<C>, through: &mut Lane<C>) {
    let started = Instant::now();
    while let Some(difference) = verdict::difference(&direct.dump().await, &through.dump().await) {
        assert!(
            started.elapsed() < SETTLED,
            "{through} does not configure the client as directly: {difference}"
        );
        through.go_on(Duration::from_millis(100)).await;
    }
}

/// A test for each cell; those of `cargo xtask ecosystem` are ignored otherwise.
macro_rules! cells {
    ($($(#[$attribute:meta])* $name:ident: $client:expr, $protocol:expr, $cache:expr, $node:expr;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        $(#[$attribute])*
        async fn $name() {
            let cell = Cell { name: stringify!($name), client: $client, protocol: $protocol, node: $node };
            go_control_plane(cell, $cache).await;
        }
    )*};
}

// Behind "snapshot-ads" gRPC works with one target only: it has a stream for each, and none names the whole snapshot.
cells! {
    envoy_delta: Envoy(Delta), "ads-delta", "snapshot-ads", Id;
    envoy_sotw: Envoy(Sotw), "ads-sotw", "snapshot-ads", Id;
    grpc_python_delta: GrpcPython, "ads-delta", "snapshot", Id;
    grpc_python_sotw: GrpcPython, "ads-sotw", "snapshot", Id;
    grpc_go_delta: GrpcGo, "ads-delta", "snapshot", Id;
    grpc_go_sotw: GrpcGo, "ads-sotw", "snapshot", Id;
}

// Each value of each dimension with each kind of client; all of their products would take a day.
cells! {
    #[ignore = "cargo xtask ecosystem"] envoy_delta_linear: Envoy(Delta), "ads-sotw", "linear", Id;
    #[ignore = "cargo xtask ecosystem"] envoy_sotw_linear: Envoy(Sotw), "ads-delta", "linear", Cluster;
    #[ignore = "cargo xtask ecosystem"] envoy_delta_mux: Envoy(Delta), "ads-delta", "mux", Metadata;
    #[ignore = "cargo xtask ecosystem"] envoy_sotw_mux: Envoy(Sotw), "ads-sotw", "mux", Cluster;
    #[ignore = "cargo xtask ecosystem"] envoy_delta_metadata: Envoy(Delta), "ads-sotw", "snapshot-ads", Metadata;
    #[ignore = "cargo xtask ecosystem"] envoy_sotw_cluster: Envoy(Sotw), "ads-delta", "snapshot", Cluster;
    #[ignore = "cargo xtask ecosystem"] envoy_delta_services: Envoy(Delta), "delta", "snapshot", Id;
    #[ignore = "cargo xtask ecosystem"] envoy_sotw_services: Envoy(Sotw), "sotw", "snapshot", Id;
    #[ignore = "cargo xtask ecosystem"] grpc_python_linear: GrpcPython, "ads-delta", "linear", Cluster;
    #[ignore = "cargo xtask ecosystem"] grpc_python_mux: GrpcPython, "ads-sotw", "mux", Metadata;
    #[ignore = "cargo xtask ecosystem"] grpc_python_services: GrpcPython, "sotw", "snapshot", Id;
    #[ignore = "cargo xtask ecosystem"] grpc_go_linear: GrpcGo, "ads-sotw", "linear", Metadata;
    #[ignore = "cargo xtask ecosystem"] grpc_go_mux: GrpcGo, "ads-delta", "mux", Cluster;
    #[ignore = "cargo xtask ecosystem"] grpc_go_services: GrpcGo, "delta", "snapshot", Id;
}

async fn go_control_plane(cell: Cell, cache: &str) {
    if let Some(obstacle) = no_go() {
        println!("skipped: {obstacle}");
        return;
    }
    let hash = match cell.node {
        Id => "id",
        Cluster => "cluster",
        Metadata => "env",
    };
    run(cell, async |between| GoControlPlane::launch(cache, hash, cell.node.of(between)).await).await;
}
