//! Weir between control planes and clients that others made. Each scenario is played in three lanes at once: directly,
//! through Weir, and through a Weir with a store; one after another, where only one control plane can run at a time. Through
//! Weir no request may fail that does not fail directly, no change may come noticeably later, and in the end the clients have
//! to be configured alike.
//!
//! A control plane is a file in `control_planes`, a client one in `clients`.

mod clients;
mod control_planes;
mod emptied;
mod forwarded;
mod java_withholds;
mod lane;
mod observed;
mod row;
mod scenarios;
mod two_gateways;
mod verdict;

use std::time::{Duration, Instant};

use clients::ClientKind::{Envoy, GrpcGo, GrpcJava, GrpcNode, GrpcPython, OldestEnvoy};
use control_planes::ControlPlaneKind::{EnvoyGateway, Go, Istiod, Java};
use lane::NodeKey::{Cluster, Id, Metadata};
use lane::{Cell, LANES, Lane};
use tokio::sync::Mutex;
use verdict::Results;
use weir_testkit::Dialect::{Delta, Sotw};

/// How long clients may take until they are configured alike.
const SETTLED: Duration = Duration::from_secs(10);

/// How long the last change may take until clients hold all of it, where the control plane ends before they are compared.
const LAST_CHANGE: Duration = Duration::from_secs(2);

/// How often a cell is played once more that was late somewhere.
const REPEATS: usize = 2;

/// One cell at a time: how long a change takes is measured.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Plays everything, and panics if something is worse through Weir.
async fn run(cell: Cell) {
    if let Some(obstacle) = cell.control_plane.obstacle().or_else(|| cell.client.obstacle()) {
        println!("skipped: {obstacle}");
        return;
    }
    let _alone = ALONE.lock().await;
    row::begin(cell);
    let (mut results, mut problems) = play(cell).await;
    for _ in 0..REPEATS {
        if !problems.is_empty() || verdict::late(&results).is_empty() {
            break;
        }
        println!("{}: late, which a busy machine may be now and then", cell.name);
        (results, problems) = play(cell).await;
    }
    problems.extend(verdict::late(&results));
    row::end(cell, &results, &problems);
    assert!(problems.is_empty(), "{}: {problems:#?}", cell.name);
}

/// Plays everything once, and returns what it came to, and what is wrong with it apart from being late.
async fn play(cell: Cell) -> (Results, Vec<String>) {
    let servers = cell.client.servers(&scenarios::SERVERS).await;
    let is_alone = cell.control_plane.is_alone();
    let lane = async |between| {
        let mut lane = Lane::start(between, cell).await;
        scenarios::play(&mut lane, &servers).await;
        if is_alone {
            lane.go_on(LAST_CHANGE).await;
            lane.stop().await;
        }
        lane
    };
    let [direct, weir, with_store] = LANES;
    let (mut direct, mut weir, mut with_store) = if is_alone {
        (lane(direct).await, lane(weir).await, lane(with_store).await)
    } else {
        tokio::join!(lane(direct), lane(weir), lane(with_store))
    };
    let results = [&direct, &weir, &with_store].map(|lane| lane.measured().to_vec()).to_vec();
    println!("{}", verdict::draw(cell.name, &results));
    let mut problems = verdict::failed(&results);
    problems.extend(difference(&mut weir, &mut with_store).await);
    if !cell.control_plane.withholds_directly() {
        problems.extend(difference(&mut direct, &mut weir).await);
    }
    (results, problems)
}

/// What the client of one lane has in the end and that of the other one lacks, or the other way round. The last change shows
/// in answers before all of it has arrived.
async fn difference(one: &mut Lane, other: &mut Lane) -> Option<String> {
    let started = Instant::now();
    while let Some(difference) = verdict::difference(&one.dump().await, &other.dump().await) {
        if started.elapsed() > SETTLED {
            println!("{one}, {other}: {difference}");
            return Some(format!("in the end the clients have other resources: {one}, {other}"));
        }
        other.go_on(Duration::from_millis(100)).await;
    }
    None
}

/// A test for each cell; those of `cargo xtask ecosystem` are ignored otherwise.
macro_rules! cells {
    ($($(#[$attribute:meta])* $name:ident: $control_plane:expr, $node:expr, $protocol:expr, $client:expr;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        $(#[$attribute])*
        async fn $name() {
            let (name, control_plane) = (stringify!($name), $control_plane);
            run(Cell { name, control_plane, node: $node, protocol: $protocol, client: $client }).await;
        }
    )*};
}

// Behind "snapshot-ads" gRPC works with one target only: it has a stream for each, and none names the whole snapshot.
cells! {
    envoy_delta: Go("snapshot-ads"), Id, "ads-delta", Envoy(Delta);
    envoy_sotw: Go("snapshot-ads"), Id, "ads-sotw", Envoy(Sotw);
    grpc_python_delta: Go("snapshot"), Id, "ads-delta", GrpcPython;
    grpc_python_sotw: Go("snapshot"), Id, "ads-sotw", GrpcPython;
    grpc_go_delta: Go("snapshot"), Id, "ads-delta", GrpcGo;
    grpc_go_sotw: Go("snapshot"), Id, "ads-sotw", GrpcGo;
}

// Each value of each dimension with each kind of client; all of their products would take a day.
cells! {
    #[ignore = "cargo xtask ecosystem"] envoy_delta_linear: Go("linear"), Id, "ads-sotw", Envoy(Delta);
    #[ignore = "cargo xtask ecosystem"] envoy_sotw_linear: Go("linear"), Cluster, "ads-delta", Envoy(Sotw);
    #[ignore = "cargo xtask ecosystem"] envoy_delta_mux: Go("mux"), Metadata, "ads-delta", Envoy(Delta);
    #[ignore = "cargo xtask ecosystem"] envoy_sotw_mux: Go("mux"), Cluster, "ads-sotw", Envoy(Sotw);
    #[ignore = "cargo xtask ecosystem"] envoy_delta_metadata: Go("snapshot-ads"), Metadata, "ads-sotw", Envoy(Delta);
    #[ignore = "cargo xtask ecosystem"] envoy_sotw_cluster: Go("snapshot"), Cluster, "ads-delta", Envoy(Sotw);
    #[ignore = "cargo xtask ecosystem"] envoy_delta_services: Go("snapshot"), Id, "delta", Envoy(Delta);
    #[ignore = "cargo xtask ecosystem"] envoy_sotw_services: Go("snapshot"), Id, "sotw", Envoy(Sotw);
    #[ignore = "cargo xtask ecosystem"] grpc_python_linear: Go("linear"), Cluster, "ads-delta", GrpcPython;
    #[ignore = "cargo xtask ecosystem"] grpc_python_mux: Go("mux"), Metadata, "ads-sotw", GrpcPython;
    #[ignore = "cargo xtask ecosystem"] grpc_python_services: Go("snapshot"), Id, "sotw", GrpcPython;
    #[ignore = "cargo xtask ecosystem"] grpc_go_linear: Go("linear"), Metadata, "ads-sotw", GrpcGo;
    #[ignore = "cargo xtask ecosystem"] grpc_go_mux: Go("mux"), Cluster, "ads-delta", GrpcGo;
    #[ignore = "cargo xtask ecosystem"] grpc_go_services: Go("snapshot"), Id, "delta", GrpcGo;
    #[ignore = "cargo xtask ecosystem"] grpc_node_delta: Go("snapshot"), Id, "ads-delta", GrpcNode;
    #[ignore = "cargo xtask ecosystem"] grpc_node_sotw: Go("snapshot"), Cluster, "ads-sotw", GrpcNode;
    #[ignore = "cargo xtask ecosystem"] grpc_java_delta: Go("snapshot"), Id, "ads-delta", GrpcJava;
    #[ignore = "cargo xtask ecosystem"] grpc_java_sotw: Go("snapshot"), Cluster, "ads-sotw", GrpcJava;
    #[ignore = "cargo xtask ecosystem"] oldest_envoy_delta: Go("snapshot-ads"), Id, "ads-delta", OldestEnvoy(Delta);
    #[ignore = "cargo xtask ecosystem"] oldest_envoy_sotw: Go("snapshot-ads"), Cluster, "ads-sotw", OldestEnvoy(Sotw);
    #[ignore = "cargo xtask ecosystem"] java_envoy_services: Java, Id, "sotw", Envoy(Delta);
    #[ignore = "cargo xtask ecosystem"] istiod_delta: Istiod, Id, "ads-delta", Envoy(Delta);
    #[ignore = "cargo xtask ecosystem"] istiod_sotw: Istiod, Id, "ads-sotw", Envoy(Sotw);
    #[ignore = "cargo xtask ecosystem"] envoy_gateway_delta: EnvoyGateway, Cluster, "ads-delta", Envoy(Delta);
    #[ignore = "cargo xtask ecosystem"] envoy_gateway_sotw: EnvoyGateway, Cluster, "ads-sotw", Envoy(Sotw);
}
