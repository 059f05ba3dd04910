//! Everybody who takes part.

use std::time::Duration;

use tempfile::TempDir;
use weir_testkit::FaultProxy;
use weir_testkit::process::Weir;
use weir_testkit::wait::until;
use weir_tests::client::Pace;

use super::fleet::Fleet;
use super::trouble::{Link, Party, Trouble, Which};
use super::truth::Truth;

/// How long it may take until all have what they should: a dead connection has to be noticed first.
const PATIENCE: Duration = Duration::from_secs(120);
/// Weir takes everything from one of them at a time, the first where it can.
pub(crate) const CONTROL_PLANES: usize = 2;
/// The longest that it waits for an answer before it asks the other one too.
const ANSWER: Duration = Duration::from_secs(10);
/// How much memory Weir may have in the end, in bytes: many times what this takes.
const MEMORY: f64 = 256e6;

/// As a configuration has it.
fn keys(Pace { keepalive, patience }: Pace) -> String {
    format!("keepalive_interval = \"{keepalive:?}\"\nkeepalive_timeout = \"{patience:?}\"\n")
}

pub(crate) struct World {
    random: fastrand::Rng,
    truth: Truth,
    control_planes: Vec<ControlPlane>,
    weir: Weir,
    downstream: FaultProxy,
    clients: Fleet,
    _store: TempDir,
}

/// A Weir of files is one that can be killed, and that uses both dialects and TP2.
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
            .downstream(&keys(pace))
            .section(&format!("[store]\npath = \"{}\"\n", store.path().join("store").display()))
            .section(&format!(
                "[[upstream]]\nauthority = \"\"\nendpoints = {endpoints:?}\nprotocol = \"{protocol}\"\n\
                 dynamic_parameters = \"native\"\nconnect_timeout = \"{0:?}\"\nanswer_timeout = \"{3:?}\"\n\
                 stable_after = \"{1:?}\"\nbackoff_base = \"50ms\"\nbackoff_max = \"500ms\"\n{2}",
                pace.patience,
                pace.keepalive,
                keys(pace),
                pace.patience.min(ANSWER)
            ))
            .start()
            .await;
        let downstream = FaultProxy::seeded(weir.address(), seed).await;
        let clients = Fleet::start(clients, downstream.address(), pace);
        let random = fastrand::Rng::with_seed(seed);
        Self { random, truth, control_planes, weir, downstream, clients, _store: store }
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
            Party::Clients(number) => self.clients.kill(number).await,
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
        for (number, mut held) in self.clients.held().enumerate() {
            let wanted = self.truth.of_client(number);
            let converged = held.wait_for(|held| *held == wanted);
            if tokio::time::timeout(PATIENCE, converged).await.is_err() {
                let held = held.borrow().clone();
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
        self.clients.end().await;
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
