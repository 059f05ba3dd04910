//! A change of all types at once (gRFC A74), and how resources are sent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use weir_testkit::process::{GrpcServers, Weir};
use weir_testkit::resources::{api_listener, assignment, eds_cluster, grpc_path, grpc_routes, published};
use weir_testkit::{FakeControlPlane, Fault, FaultProxy, type_url};

use crate::bootstrap::Setup;

/// What is in the type URL of a wrapped resource only.
const WRAPPER: &str = "envoy.service.discovery.v3.Resource";

/// How a change of all types reaches Weir: so many bytes a second, of which it has about 1,500.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// For seconds, and what is replaced is removed once nobody uses it, as a careful control plane does.
    Crawl,
    /// In less than `downstream.warming_timeout`, and what is replaced is removed at once.
    Walk,
}

impl Pace {
    fn fault(self) -> Fault {
        Fault::Slow(match self {
            Self::Crawl => 500,
            Self::Walk => 4_000,
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o01_o05_a_slow_change_of_all_types_fails_no_call() {
    let servers = GrpcServers::start(&["old", "new"]).await;
    let old: Vec<_> = grpc_path("c", servers.address("old")).iter().map(published).collect();
    let new = [
        api_listener("svc", "r2"),
        grpc_routes("r2", "d"),
        eds_cluster("d"),
        assignment("d", &[servers.address("new")]),
    ];
    let new: Vec<_> = new.iter().map(published).collect();
    for (protocol, pace) in ["ads-delta", "ads-sotw"]
        .into_iter()
        .flat_map(|protocol| [(protocol, Pace::Crawl), (protocol, Pace::Walk)])
    {
        println!("--- {protocol}, {pace:?}");
        let control_plane = FakeControlPlane::start().await;
        control_plane.set_all(old.clone());
        let network = FaultProxy::start(control_plane.address()).await;
        let weir = Weir::builder().upstream_at(network.address(), protocol, "streams").start().await;
        let clients =
            [Setup::Usual, Setup::Lenient, Setup::Strict].map(|setup| setup.client(&[weir.address()]));
        for client in &clients {
            client.wait_for("old").await;
        }
        network.inject(pace.fault());
        let changed = Instant::now();
        match pace {
            Pace::Crawl => control_plane.set_all(new.clone()),
            Pace::Walk => control_plane.change(|all| all.clone_from(&new)),
        }
        for client in &clients {
            client.wait_for("new").await;
        }
        println!("all have changed after {:?}", changed.elapsed());
        network.heal();
        control_plane.change(|all| all.clone_from(&new));
        control_plane.wait_for_ack(type_url("cds")).await;
        for client in clients {
            client.wait_for_more(30).await;
            client.finish();
        }
    }
}

/// A port from which all goes to a server, and what came back.
async fn recorded(server: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, record) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<u8>>>::default());
    let into = Arc::clone(&record);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = TcpStream::connect(server).await.unwrap().into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
            let (into, mut buffer) = (Arc::clone(&into), [0; 4096]);
            tokio::spawn(async move {
                while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
                    into.lock().extend_from_slice(&buffer[..read]);
                    if to_client.write_all(&buffer[..read]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (address, record)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s09_grpc_is_sent_wrapped_resources_which_it_announces_to_take() {
    let servers = GrpcServers::start(&["one"]).await;
    let resources = grpc_path("c", servers.address("one"));
    for (keys, wrapped) in
        [("", resources.len()), ("wrap_resources = { \"gRPC C-core linux Python\" = false }", 0)]
    {
        let weir = Weir::builder().downstream(keys).resources(&resources).start().await;
        let (address, record) = recorded(weir.address()).await;
        let client = Setup::Usual.client(&[address]);
        client.wait_for("one").await;
        let found = String::from_utf8_lossy(&record.lock()).matches(WRAPPER).count();
        assert_eq!(found, wrapped, "{keys:?}");
        client.finish();
    }
}
