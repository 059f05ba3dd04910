//! A lane: a control plane, a client, and what is between them, through one scenario after another. Lanes that are
//! compared have nothing in common but the servers at the end.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use weir_testkit::process::{Weir, WeirBuilder, free_port};

use super::clients::{Client, ClientKind, ClientNode, RATE};
use super::control_planes::{ControlPlane, ControlPlaneKind, XdsServer};
use super::observed::Expected;
use super::scenarios::START;

/// The target whose requests must not fail.
pub const MAIN: &str = "svc";
/// The target that comes and goes.
pub const OTHER: &str = "extra";
const TARGETS: [&str; 2] = [MAIN, OTHER];

/// The longest that Weir waits before it tries to connect again.
pub const RETRY: Duration = Duration::from_secs(1);

/// What is between the control plane and the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    Nothing,
    Weir,
    WeirWithStore,
}

/// All lanes of a cell.
pub const LANES: [Between; 3] = [Between::Nothing, Between::Weir, Between::WeirWithStore];

/// What is tested.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub name: &'static str,
    pub control_plane: ControlPlaneKind,
    pub client: ClientKind,
    /// `upstream.protocol` of Weir.
    pub protocol: &'static str,
    /// What the control plane distinguishes nodes by.
    pub node: NodeKey,
}

/// By what a control plane distinguishes nodes: the same that the client states, and Weir in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKey {
    Id,
    Cluster,
    /// A key of the metadata, which is a dynamic parameter at Weir.
    Metadata,
}

/// What is published: by target, the cluster that it leads to, with its server, if it has endpoints at all.
pub type World = BTreeMap<&'static str, (&'static str, Option<SocketAddr>)>;

/// What came of a change, or of several of one kind.
#[derive(Clone, Debug)]
pub struct Measured {
    pub step: &'static str,
    /// How long the change took to show in answers; the longest.
    pub took: Duration,
    /// Failed requests to [`MAIN`] since the last change showed.
    pub failures: Vec<String>,
}

pub struct Lane {
    between: Between,
    control_plane: ControlPlane,
    weir: Option<Weir>,
    client: Client,
    /// Failures of [`MAIN`] that are accounted for.
    failures: usize,
    measured: Vec<Measured>,
    _store: TempDir,
}

impl NodeKey {
    /// The key of the node that connects to the control plane.
    pub fn of(self, between: Between) -> &'static str {
        match (self, between) {
            (Self::Id, Between::Nothing) => "client",
            (Self::Id, _) => "weir-test",
            (Self::Cluster, _) => "test",
            (Self::Metadata, _) => "prod",
        }
    }
}

impl Lane {
    /// Starts everything.
    pub async fn start(between: Between, cell: Cell) -> Self {
        let mut control_plane = ControlPlane::prepare(cell.control_plane, cell.node, between).await;
        control_plane.start().await;
        let store = TempDir::with_prefix("weir-store-").expect("a temporary directory");
        let mut weir = None;
        let mut server = control_plane.server();
        if between != Between::Nothing {
            let started = configure(between, cell, &server, &store).start().await;
            server = XdsServer { address: started.address(), tls: None };
            weir = Some(started);
        }
        let targets = TARGETS.map(|target| (target, free_port()));
        let kind = cell.control_plane;
        let node = ClientNode { id: kind.node_id(), cluster: kind.node_cluster() };
        let client = Client::start(cell.client, &server, node, &targets);
        Self { between, control_plane, weir, client, failures: 0, measured: Vec::new(), _store: store }
    }

    /// Has the control plane publish a world, and measures how long it takes to show in answers.
    pub async fn change(&mut self, step: &'static str, world: &World, target: &str, expected: Expected) {
        let published = self.control_plane.publish(world, &self.client).await;
        self.shows(step, published, target, expected).await;
    }

    /// Starts the control plane again, and measures how long it takes until what it has published shows in answers, from when
    /// it listens.
    pub async fn recover(&mut self, step: &'static str, target: &str, expected: Expected) {
        self.control_plane.start().await;
        let started = Instant::now();
        self.shows(step, started, target, expected).await;
    }

    async fn shows(&mut self, step: &'static str, since: Instant, target: &str, expected: Expected) {
        let shown = self.client.observed().wait_for(target, expected).await;
        let took = since.elapsed();
        shown.unwrap_or_else(|error| panic!("{self}: {step}: {error}"));
        // What a change breaks may break a little later.
        self.go_on(Duration::from_millis(200)).await;
        let failures = self.client.observed().tally(MAIN).failures;
        let new = failures[self.failures..].iter().filter(|_| step != START).cloned();
        match self.measured.iter_mut().find(|measured| measured.step == step) {
            None => self.measured.push(Measured { step, took, failures: new.collect() }),
            Some(measured) => {
                measured.took = measured.took.max(took);
                measured.failures.extend(new);
            }
        }
        self.failures = failures.len();
    }

    /// Publishes while the control plane is away.
    pub async fn publish(&mut self, world: &World) {
        self.control_plane.publish(world, &self.client).await;
    }

    /// Takes the control plane away.
    pub async fn stop(&mut self) {
        self.control_plane.stop().await;
    }

    /// Lets requests be made for so long.
    pub async fn go_on(&self, time: Duration) {
        let count = usize::try_from(time.as_millis()).expect("a short time") * RATE / 1000;
        let more = self.client.observed().wait_for_more(MAIN, count).await;
        more.unwrap_or_else(|error| panic!("{self}: {error}"));
    }

    /// Kills Weir, if there is one, and starts it again.
    pub async fn restart_weir(&mut self) {
        if let Some(weir) = &mut self.weir {
            weir.kill().await;
            weir.restart().await;
        }
    }

    /// What came of each change so far.
    pub fn measured(&self) -> &[Measured] {
        &self.measured
    }

    /// What the client is configured with.
    pub async fn dump(&mut self) -> Vec<String> {
        self.client.dump().await
    }
}

fn configure(between: Between, cell: Cell, server: &XdsServer, store: &TempDir) -> WeirBuilder {
    let mut builder = Weir::builder()
        .log_level("info")
        .section(&server.upstream(cell.protocol))
        .section(&format!("backoff_max = \"{RETRY:?}\""))
        .section(cell.control_plane.upstream())
        .section(&server.upstream_tls())
        .section(cell.control_plane.sections());
    if between == Between::WeirWithStore {
        builder = builder.section(&format!("[store]\npath = \"{}\"", store.path().join("store").display()));
    }
    if cell.node == NodeKey::Metadata {
        builder = builder.parameter_from_metadata("env");
    }
    builder
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.between)
    }
}

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "direct",
            Self::Weir => "Weir",
            Self::WeirWithStore => "Weir with a store",
        })
    }
}
