//! Everybody who takes part.

use std::net::SocketAddr;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;
use weir_testkit::FaultProxy;
use weir_testkit::process::Weir;
use weir_testkit::wait::until;

use super::client;
use super::trouble::{Link, Party, Trouble, Which};
use super::truth::{Held, Truth};

/// How long it may take until all have what they should: a dead connection has to be noticed first.
const PATIENCE: Duration = Duration::from_secs(120);
/// Weir takes everything from one of them at a time, the first where it can.
pub(crate) const CONTROL_PLANES: usize = 2;
/// How much memory Weir may have in the end, in bytes: many times what this takes.
const MEMORY: f64 = 256e6;

/// How soon the dead are noticed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// After how much silence the other side is pinged.
    pub(crate) keepalive: Duration,
    /// How long it may take to answer, and to accept a connection, on a machine that is busy with all the others.
    pub(crate) patience: Duration,
}

impl Pace {
    /// How long what lasts may last.
    pub(crate) fn longest(self) -> Duration {
        self.keepalive + self.patience
    }

    /// As a configuration has it.
    fn keys(self) -> String {
        let Self { keepalive, patience } = self;
        format!("keepalive_interval = \"{keepalive:?}\"\nkeepalive_timeout = \"{patience:?}\"\n")
    }
}

pub(crate) struct World {
    pace: Pace,
    random: fastrand::Rng,
    truth: Truth,
    control_planes: Vec<ControlPlane>,
    weir: Weir,
    downstream: FaultProxy,
    clients: Vec<Client>,
    _store: TempDir,
}

/// A Weir of files is one that can be killed, and that speaks both dialects and TP2.
struct ControlPlane {
    process: Weir,
    /// Between it and Weir.
    network: FaultProxy,
}

impl ControlPlane {
    async fn start(truth: &Truth, seed: u64) -> Self {
        let process = Weir::builder().log_level("info").resources(&truth.resources()).start().await;
        let network = FaultProxy::seeded(process.address(), seed).await;
        Self { process, network }
    }
}

struct Client {
    held: watch::Receiver<Held>,
    /// Ends with it.
    _running: JoinSet<()>,
}

impl Client {
    fn start(number: usize, server: SocketAddr, pace: Pace) -> Self {
        let (shown, held) = watch::channel(Held::new());
        let mut running = JoinSet::new();
        running.spawn(client::run(number, server, pace, shown));
        Self { held, _running: running }
    }
}

impl World {
    pub(crate) async fn start(protocol: &str, clients: usize, seed: u64, pace: Pace) -> Self {
        let truth = Truth::new();
        let mut control_planes = Vec::new();
        for _ in 0..CONTROL_PLANES {
            control_planes.push(ControlPlane::start(&truth, seed).await);
        }
        let endpoints: Vec<_> = control_planes.iter().map(|place| place.network.uri()).collect();
        let store = tempfile::tempdir().unwrap();
        let weir = Weir::builder()
            .log_level("info")
            .parameter_from_metadata("env")
            .downstream(&pace.keys())
            .section(&format!("[store]\npath = \"{}\"\n", store.path().join("store").display()))
            .section(&format!(
                "[[upstream]]\nauthority = \"\"\nendpoints = {endpoints:?}\nprotocol = \"{protocol}\"\n\
                 dynamic_parameters = \"native\"\nconnect_timeout = \"{0:?}\"\nanswer_timeout = \"{0:?}\"\n\
                 stable_after = \"{1:?}\"\nbackoff_base = \"50ms\"\nbackoff_max = \"500ms\"\n{2}",
                pace.patience,
                pace.keepalive,
                pace.keys()
            ))
            .start()
            .await;
        let downstream = FaultProxy::seeded(weir.address(), seed).await;
        let clients = (0..clients).map(|number| Client::start(number, downstream.address(), pace)).collect();
        let random = fastrand::Rng::with_seed(seed);
        Self { pace, random, truth, control_planes, weir, downstream, clients, _store: store }
    }

    pub(crate) fn random(&mut self) -> &mut fastrand::Rng {
        &mut self.random
    }

    /// Changes several things at once.
    pub(crate) fn change(&mut self) {
        self.truth.change(&mut self.random);
        let resources = self.truth.resources();
        self.control_planes.iter().for_each(|place| place.process.write_resources(&resources));
    }

    /// Has it happen, amid changes, and be over.
    pub(crate) async fn suffer(&mut self, trouble: Trouble) {
        self.change();
        match trouble {
            Trouble::Network(link, fault, duration) => {
                self.networks(link).into_iter().for_each(|network| network.inject(fault));
                self.change();
                if fault.lasts() {
                    tokio::time::sleep(duration).await;
                    self.change();
                }
                self.networks(link).into_iter().for_each(FaultProxy::heal);
            }
            Trouble::Kill(party) => self.kill(party).await,
        }
    }

    fn networks(&self, link: Link) -> Vec<&FaultProxy> {
        match link {
            Link::Upstream(which) => {
                self.control_planes[which.numbers()].iter().map(|place| &place.network).collect()
            }
            Link::Downstream => vec![&self.downstream],
        }
    }

    async fn kill(&mut self, party: Party) {
        match party {
            Party::ControlPlanes(which) => {
                self.kill_control_planes(which).await;
                self.change();
                self.restart_control_planes(which).await;
            }
            Party::Weir => {
                self.kill_weir().await;
                self.change();
                self.weir.restart().await;
            }
            Party::WeirAndControlPlanes => {
                self.kill_control_planes(Which::All).await;
                self.kill_weir().await;
                self.change();
                self.weir.restart().await;
                self.restart_control_planes(Which::All).await;
            }
            Party::Clients => {
                let server = self.downstream.address();
                for (number, client) in self.clients.iter_mut().enumerate().step_by(2) {
                    *client = Client::start(number, server, self.pace);
                }
            }
        }
    }

    async fn kill_control_planes(&mut self, which: Which) {
        for place in &mut self.control_planes[which.numbers()] {
            place.process.kill().await;
        }
    }

    async fn restart_control_planes(&mut self, which: Which) {
        for place in &mut self.control_planes[which.numbers()] {
            place.process.restart().await;
        }
    }

    async fn kill_weir(&mut self) {
        self.expect_no_panic();
        self.weir.kill().await;
    }

    /// Waits until every client holds what it should.
    pub(crate) async fn converge(&mut self, after: &str) {
        for (number, client) in self.clients.iter_mut().enumerate() {
            let wanted = self.truth.of_client(number);
            let converged = client.held.wait_for(|held| *held == wanted);
            if tokio::time::timeout(PATIENCE, converged).await.is_err() {
                let held = client.held.borrow().clone();
                let wrong: Vec<_> = wanted
                    .iter()
                    .filter(|(key, text)| held.get(*key) != Some(*text))
                    .chain(held.iter().filter(|(key, _)| !wanted.contains_key(*key)))
                    .collect();
                let seen = self.weir.admin(&format!("/clients?node=client-{number}")).await.body;
                panic!(
                    "after {after}, client {number} does not converge; of these it has other or more: {wrong:#?}; \
                     Weir has of it: {seen}"
                );
            }
        }
    }

    /// The sum over all labels of one of Weir's metrics.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        metric(&self.weir.admin("/metrics").await.body, name)
    }

    /// Everybody goes, and nothing is left of them.
    pub(crate) async fn end(mut self) {
        self.clients.clear();
        until("no stream of a client to be left", || async {
            (self.metric("weir_downstream_streams").await == 0.0).then_some(())
        })
        .await;
        let memory = self.metric("process_memory_usage").await;
        println!("no stream is left; {:.1} MB are resident", memory / 1e6);
        assert!(memory < MEMORY, "{memory} bytes are resident");
        self.expect_no_panic();
        assert!(self.weir.terminate().await.success());
    }

    fn expect_no_panic(&self) {
        let control_planes = self.control_planes.iter().map(|place| &place.process);
        for process in control_planes.chain([&self.weir]) {
            let output = process.child().output();
            assert!(!output.contains("panicked"), "somebody panicked:\n{output}");
        }
    }
}

/// The sum over all labels.
fn metric(metrics: &str, name: &str) -> f64 {
    let lines = metrics.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}
