//! Everything that a scenario is played with: control plane, server, clients, and the watch over them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::collector::Collector;
use super::control_plane::{ControlPlane, THREADS};
use super::options::Options;
use super::plan::{Known, Plan, Wanted};
use super::process::{self, Cpu};
use super::report::Run;
use super::resources::{self, Key};
use super::server::{Extras, Server};
use super::sockets::Sockets;
use super::swarm::{Client, Habits, Swarm, Tally};

/// The server is at rest when it uses less than [`RESTING`] in this time.
const LOOK: Duration = Duration::from_millis(100);
const RESTING: Duration = Duration::from_millis(3);
/// How long it may take to come to rest.
const RESTLESS: Duration = Duration::from_secs(30);

/// When a connection makes room for the next to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// When the server has accepted it and taken its requests: everybody at once, as far as TCP allows.
    Accepted,
    /// When its streams have their first full state: one after the other.
    Synced,
}

pub(crate) struct World<'a> {
    pub(crate) options: &'a Options,
    // Before the control plane, so that it ends first and has no reason to complain.
    pub(crate) server: Server,
    pub(crate) control_plane: ControlPlane,
    collector: Option<Collector>,
    pub(crate) swarm: Swarm,
    versions: u64,
    streams: usize,
}

impl<'a> World<'a> {
    /// A server without resources or clients.
    pub(crate) fn start(options: &'a Options) -> Result<Self> {
        Self::start_with(options, &Extras::default())
    }

    /// The same with another configuration.
    pub(crate) fn start_with(options: &'a Options, extras: &Extras) -> Result<Self> {
        let habits = Habits {
            node: resources::node(options.node_size).into(),
            node_in_every_request: options.node_in_every_request,
            sample_every: 0,
            keep: false,
        };
        let control_plane = ControlPlane::start()?;
        let collector = options.sample_ratio.map(|_| Collector::start()).transpose()?;
        let server = start_server(options, &control_plane, collector.as_ref(), extras)?;
        let swarm = Sockets::new(server.address, Tally::new(habits, Instant::now()))?;
        Ok(Self { options, control_plane, collector, server, swarm, versions: 0, streams: 0 })
    }

    /// How many bytes of traces there were; waits for the first if all changes are sampled.
    pub(crate) fn exported(&mut self) -> Result<u64> {
        let Some(collector) = self.collector.take() else { return Ok(0) };
        if self.options.sample_ratio == Some(1.0) {
            self.wait_for("traces", |_, _| collector.bytes() > 0)?;
        }
        Ok(self.collector.insert(collector).bytes())
    }

    /// Cuts all clients off.
    pub(crate) fn forget_clients(&mut self) -> Result<()> {
        let tally = Tally::new(self.swarm.shared.habits.clone(), self.swarm.shared.start);
        self.swarm = Sockets::new(self.server.address, tally)?;
        self.streams = 0;
        Ok(())
    }

    /// What clients of this kind ask for; the `n`th of them has the `n`th parameter set.
    pub(crate) fn plan(&self, wanted: &[Wanted], known: &Known, n: usize) -> Plan {
        let variant = (self.options.locators > 0).then(|| resources::variant(n % self.options.locators));
        Plan::new(self.options.dialect, wanted, variant.as_deref(), known)
    }

    /// Publishes resources of a type by their numbers, in all variants, at once.
    pub(crate) fn publish(
        &mut self,
        short: &str,
        numbers: impl IntoIterator<Item = usize>,
        size: usize,
    ) -> Result<()> {
        self.versions += 1;
        let now = self.swarm.shared.start.elapsed();
        let url = resources::type_url(short);
        let variants = |n: usize| {
            let name = resources::name(short, n);
            let all = (0..self.options.locators).map(resources::variant).map(Some);
            let variants = if self.options.locators == 0 { vec![None] } else { all.collect() };
            variants.into_iter().map(move |variant| Key { name: name.clone(), variant })
        };
        let keys = numbers.into_iter().flat_map(variants);
        let resources: Vec<_> = keys
            .map(|key| {
                let resource = resources::resource(&url, &key, size, now, self.versions);
                (key, resource)
            })
            .collect();
        self.control_plane.publish(&url, &resources)
    }

    /// Connects clients with so many streams in all, and waits until all have passed the gate. `wanted` is
    /// asked for what the `n`th stream subscribes to; streams of one connection share it.
    pub(crate) fn crowd(
        &mut self,
        streams: usize,
        gate: Gate,
        plan: impl Fn(usize) -> Arc<Plan>,
    ) -> Result<()> {
        let deadline = Instant::now() + self.options.patience();
        let authority: Arc<str> = self.server.address.to_string().into();
        let end = self.streams + streams;
        loop {
            let passed = match gate {
                Gate::Accepted => self.swarm.shared.accepted,
                Gate::Synced => self.swarm.shared.synced.len().div_ceil(self.options.per_connection),
            };
            if self.streams == end && passed == self.swarm.len() {
                return Ok(());
            }
            if self.streams < end && self.swarm.len() - passed < self.options.at_a_time {
                let here = self.options.per_connection.min(end - self.streams);
                let client = Client::new(plan(self.streams), Arc::clone(&authority), self.streams, here);
                self.swarm.connect(client)?;
                self.streams += here;
                self.swarm.turn(Duration::ZERO)?;
            } else {
                self.swarm.turn(LOOK)?;
            }
            self.expect_all()?;
            ensure!(
                Instant::now() < deadline,
                "after {:?}, {passed} connections of {} are open",
                self.options.patience(),
                self.swarm.len()
            );
        }
    }

    /// The same for all: waits for their first full state.
    pub(crate) fn crowd_alike(&mut self, streams: usize, gate: Gate, wanted: &[Wanted]) -> Result<()> {
        let sets = self.options.locators.max(1);
        let plans: Vec<_> = (0..sets).map(|n| Arc::new(self.plan(wanted, &Known::default(), n))).collect();
        self.crowd(streams, gate, |n| Arc::clone(&plans[n % sets]))?;
        self.wait_for("first full states", |tally, streams| tally.synced.len() == streams)
    }

    /// Turns until `done`, which is given how many streams there are.
    pub(crate) fn wait_for(&mut self, what: &str, mut done: impl FnMut(&Tally, usize) -> bool) -> Result<()> {
        let deadline = Instant::now() + self.options.patience();
        let streams = self.streams;
        let came = self.swarm.turn_until(deadline, |tally| tally.lost > 0 || done(tally, streams))?;
        self.expect_all()?;
        let tally = &self.swarm.shared;
        ensure!(
            came,
            "waited {:?} in vain for {what}: of {streams} streams, {} are in sync; {} responses",
            self.options.patience(),
            tally.synced.len(),
            tally.deliveries.len()
        );
        Ok(())
    }

    fn expect_all(&self) -> Result<()> {
        self.control_plane.check()?;
        let Tally { lost, loss, .. } = &self.swarm.shared;
        let why = loss.as_deref().unwrap_or_default();
        ensure!(*lost == 0, "the server ended {lost} streams of {}: {why}", self.streams);
        Ok(())
    }

    /// Turns until the server has nothing to do any more.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let deadline = Instant::now() + RESTLESS;
        let mut before = self.server.process.cpu()?;
        while Instant::now() < deadline {
            self.swarm.turn_for(LOOK)?;
            let now = self.server.process.cpu()?;
            if now.since(before).total < RESTING {
                break;
            }
            before = now;
        }
        self.expect_all()
    }

    /// Starts the watch.
    pub(crate) fn watch(&self) -> Result<Watch> {
        let own = std::process::id();
        Ok(Watch {
            begun: Instant::now(),
            server: self.server.process.cpu()?,
            own: Cpu::of(own)?.total,
            control_plane: process::threads(own, THREADS)?,
        })
    }
}

fn start_server(
    options: &Options,
    control_plane: &ControlPlane,
    collector: Option<&Collector>,
    extras: &Extras,
) -> Result<Server> {
    let start = || Server::start(options, control_plane, collector, extras);
    if !options.pin {
        return start();
    }
    // A process is born with the processors of its parent's thread.
    let processors = std::thread::available_parallelism().map_or(1, usize::from).max(2);
    process::pin(&[0])?;
    let server = start();
    process::pin(&(1..processors).collect::<Vec<_>>())?;
    server
}

/// What was spent until a moment.
pub(crate) struct Watch {
    begun: Instant,
    server: Cpu,
    own: Duration,
    control_plane: Duration,
}

/// What was spent between two.
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    pub(crate) server: Cpu,
    clients: Duration,
    control_plane: Duration,
}

impl Watch {
    pub(crate) fn stop(self, world: &World) -> Result<Spent> {
        let now = world.watch()?;
        let control_plane = now.control_plane.saturating_sub(self.control_plane);
        Ok(Spent {
            wall: now.begun - self.begun,
            server: now.server.since(self.server),
            clients: now.own.saturating_sub(self.own).saturating_sub(control_plane),
            control_plane,
        })
    }
}

impl Spent {
    /// Server CPU for one of so many, in µs.
    pub(crate) fn each(&self, count: usize) -> f64 {
        self.server.total.as_secs_f64() * 1e6 / count.max(1) as f64
    }

    /// Who used the machine, in processors.
    pub(crate) fn report(&self, run: &mut Run) {
        let wall = self.wall.as_secs_f64().max(1e-9);
        let mut share = |name, span: Duration| run.add(name, span.as_secs_f64() / wall, "cores");
        share("server", self.server.total);
        share("  in user mode", self.server.user);
        share("  in the kernel", self.server.system);
        share("generator: clients", self.clients);
        share("generator: control plane", self.control_plane);
    }
}
