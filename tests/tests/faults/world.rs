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
use super::trouble::{Link, Party, Trouble};
use super::truth::{Held, Truth};

/// How long it may take until all have what they should: a dead connection has to be noticed first.
const PATIENCE: Duration = Duration::from_secs(120);
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
    /// A Weir of files is a control plane that can be killed, and that speaks both dialects and TP2.
    control_plane: Weir,
    upstream: FaultProxy,
    weir: Weir,
    downstream: FaultProxy,
    clients: Vec<Client>,
    _store: TempDir,
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
        let control_plane = Weir::builder().log_level("info").resources(&truth.resources()).start().await;
        let upstream = FaultProxy::seeded(control_plane.address(), seed).await;
        let store = tempfile::tempdir().unwrap();
        let weir = Weir::builder()
            .log_level("info")
            .parameter_from_metadata("env")
            .downstream(&pace.keys())
            .section(&format!("[store]\npath = \"{}\"\n", store.path().join("store").display()))
            .upstream_at(upstream.address(), protocol, "native")
            .section(&format!(
                "{}connect_timeout = \"{:?}\"\nbackoff_base = \"50ms\"\nbackoff_max = \"500ms\"\n",
                pace.keys(),
                pace.patience
            ))
            .start()
            .await;
        let downstream = FaultProxy::seeded(weir.address(), seed).await;
        let clients = (0..clients).map(|number| Client::start(number, downstream.address(), pace)).collect();
        let random = fastrand::Rng::with_seed(seed);
        Self { pace, random, truth, control_plane, upstream, weir, downstream, clients, _store: store }
    }

    pub(crate) fn random(&mut self) -> &mut fastrand::Rng {
        &mut self.random
    }

    /// Changes several things at once.
    pub(crate) fn change(&mut self) {
        self.truth.change(&mut self.random);
        self.control_plane.write_resources(&self.truth.resources());
    }

    /// Has it happen, amid changes, and be over.
    pub(crate) async fn suffer(&mut self, trouble: Trouble) {
        self.change();
        match trouble {
            Trouble::Network(link, fault, duration) => {
                self.network(link).inject(fault);
                self.change();
                if fault.lasts() {
                    tokio::time::sleep(duration).await;
                    self.change();
                }
                self.network(link).heal();
            }
            Trouble::Kill(party) => self.kill(party).await,
        }
    }

    fn network(&self, link: Link) -> &FaultProxy {
        match link {
            Link::Upstream => &self.upstream,
            Link::Downstream => &self.downstream,
        }
    }

    async fn kill(&mut self, party: Party) {
        match party {
            Party::ControlPlane => {
                self.control_plane.kill().await;
                self.change();
                self.control_plane.restart().await;
            }
            Party::Weir => {
                self.expect_no_panic();
                self.weir.kill().await;
                self.change();
                self.weir.restart().await;
            }
            Party::WeirAndControlPlane => {
                self.expect_no_panic();
                self.control_plane.kill().await;
                self.weir.kill().await;
                self.change();
                self.weir.restart().await;
                self.control_plane.restart().await;
            }
            Party::Clients => {
                let server = self.downstream.address();
                for (number, client) in self.clients.iter_mut().enumerate().step_by(2) {
                    *client = Client::start(number, server, self.pace);
                }
            }
        }
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
        for (who, output) in
            [("Weir", self.weir.child().output()), ("the control plane", self.control_plane.child().output())]
        {
            assert!(!output.contains("panicked"), "{who} panicked:\n{output}");
        }
    }
}

/// The sum over all labels.
fn metric(metrics: &str, name: &str) -> f64 {
    let lines = metrics.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}
