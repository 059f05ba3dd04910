//! Clients of others report to a control plane with the messages of go-control-plane.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use weir_testkit::Dialect;
use weir_testkit::process::{Backend, Caller, Envoy, EnvoyOptions, GrpcServers, Load, Weir, WeirBuilder};
use weir_testkit::process::{free_port, no_go};
use weir_testkit::resources::{envoy_path, grpc_path};
use weir_testkit::wait::until;

use crate::support::go_control_plane::GoControlPlane;

/// Time between two requests.
const PACE: Duration = Duration::from_millis(20);

/// The most requests that one report has: those of an interval of 1 s, and of half of one that a busy machine is late.
const REPORT: u64 = 75;

/// Which client reports.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Envoy,
    GrpcPython,
    GrpcGo,
}

/// A client, and the requests that it makes.
enum Client {
    Envoy { load: Load, _envoy: Box<Envoy> },
    Grpc(Box<Caller>),
}

/// Everything of a test.
struct World {
    kind: Kind,
    control_plane: GoControlPlane,
    /// Where an Envoy listens.
    port: u16,
    _backend: Option<Backend>,
    _servers: Option<GrpcServers>,
}

impl Client {
    /// Waits until so many requests were made, none of which failed.
    async fn made(&self, count: usize) {
        let more = |succeeded: usize| count.saturating_sub(succeeded);
        let answers = match self {
            Self::Envoy { load, .. } => {
                load.wait_for_more(more(load.answers().succeeded())).await;
                load.answers()
            }
            Self::Grpc(caller) => {
                caller.wait_for_more(more(caller.answers().succeeded())).await;
                caller.answers()
            }
        };
        answers.expect_no_failure();
    }
}

impl World {
    async fn start(kind: Kind) -> Self {
        let (control_plane, port) = (GoControlPlane::start().await, free_port());
        let (mut backend, mut servers) = (None, None);
        let mut resources = match kind {
            Kind::Envoy => envoy_path(port, "c", backend.insert(Backend::start("b").await).address()),
            Kind::GrpcPython | Kind::GrpcGo => {
                grpc_path("c", servers.insert(GrpcServers::start(&["b"]).await).address("b"))
            }
        };
        let cluster = resources.iter_mut().find(|resource| resource["type"] == "EDS").expect("a cluster");
        cluster["lrs_server"] = json!({ "self": {} });
        control_plane.publish("weir-test", &resources).await;
        Self { kind, control_plane, port, _backend: backend, _servers: servers }
    }

    fn weir(&self) -> WeirBuilder {
        Weir::builder()
            .upstream_at(self.control_plane.address, "ads-delta", "streams")
            .section("load_reports = \"relay\"\nbackoff_base = \"10ms\"\nbackoff_max = \"100ms\"\n")
            .section("[drain]\nover = \"0s\"\ngrace = \"100ms\"\n")
            .log_level("info")
    }

    /// Starts a client of this node id, which makes so many requests.
    async fn client(&self, server: SocketAddr, id: &str, count: usize) -> Client {
        match self.kind {
            Kind::GrpcPython => Client::Grpc(Box::new(Caller::grpc_python_counted(server, id, count, PACE))),
            Kind::GrpcGo => Client::Grpc(Box::new(Caller::grpc_go_counted(server, id, count, PACE))),
            Kind::Envoy => {
                let options = EnvoyOptions::new(Dialect::Delta, id);
                let mut envoy = Box::new(Envoy::with_bootstrap(id, |_| reporting(options.bootstrap(server))));
                envoy.live().await;
                // An Envoy counts from when it is asked for a cluster.
                self.until_reported(id, "the cluster", |load| load["issued"]["c"].is_u64()).await;
                let address = SocketAddr::from(([127, 0, 0, 1], self.port));
                Client::Envoy { load: Load::counted(address, PACE, count), _envoy: envoy }
            }
        }
    }

    async fn until_reported(&self, id: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let wanted = &wanted;
        until(format!("a report of {id}: {what}"), async || {
            let load = self.control_plane.load(id).await;
            wanted(&load).then_some(load)
        })
        .await
    }

    /// The requests that were reported, once a report has none: each has some while they are made.
    async fn settled(&self, id: &str) -> u64 {
        let load = self.until_reported(id, "without requests", |load| load["last"] == 0).await;
        load["issued"]["c"].as_u64().expect("the cluster was reported")
    }

    /// Waits until a client has opened a stream since it had opened so many.
    async fn returns(&self, id: &str, streams: u64) {
        self.until_reported(id, "on a new stream", |load| load["streams"].as_u64() > Some(streams)).await;
    }

    async fn streams(&self, id: &str) -> u64 {
        self.control_plane.load(id).await["streams"].as_u64().expect("it has reported")
    }
}

/// Has an Envoy report load.
fn reporting(mut bootstrap: Value) -> Value {
    bootstrap["cluster_manager"] = json!({ "load_stats_config": {
        "api_type": "GRPC",
        "transport_api_version": "V3",
        "grpc_services": [{ "envoy_grpc": { "cluster_name": "xds" } }],
    }});
    bootstrap
}

/// Requests that are issued equal those that were made; after breaks, there are never more.
async fn run(kind: Kind) {
    if let Some(reason) = no_go() {
        println!("skipped: {reason}");
        return;
    }
    let world = World::start(kind).await;
    let mut weir = world.weir().start().await;
    let client = world.client(weir.address(), "steady", 100).await;
    client.made(100).await;
    assert_eq!(world.settled("steady").await, 100, "{kind:?}");
    assert_eq!(world.streams("steady").await, 1, "{kind:?}");
    drop(client);

    const MADE: u64 = 1500;
    let client = world.client(weir.address(), "broken", MADE as usize).await;
    let moving = async |streams| {
        world.returns("broken", streams).await;
        let issued = |load: &Value| load["issued"]["c"].as_u64().unwrap_or_default();
        let before = issued(&world.control_plane.load("broken").await);
        world.until_reported("broken", "more requests", |load| issued(load) > before).await;
        world.streams("broken").await
    };
    let mut streams = moving(0).await;
    world.control_plane.interrupt().await;
    streams = moving(streams).await;
    weir.kill().await;
    weir.restart().await;
    streams = moving(streams).await;
    let second = world.weir().beside(&weir).start().await;
    weir.signal("TERM").await;
    assert!(weir.ended().await.success());
    moving(streams).await;
    client.made(MADE as usize).await;
    let issued = world.settled("broken").await;
    println!("{kind:?}: {issued} of {MADE} requests were reported after three breaks");
    assert!(issued <= MADE, "{kind:?}: {issued} of {MADE}");
    assert!(issued + 3 * REPORT >= MADE, "{kind:?}: {issued} of {MADE}");
    drop(second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_envoy_reports_what_it_does() {
    run(Kind::Envoy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_grpc_python_reports_what_it_does() {
    run(Kind::GrpcPython).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q01_grpc_go_reports_what_it_does() {
    run(Kind::GrpcGo).await;
}
