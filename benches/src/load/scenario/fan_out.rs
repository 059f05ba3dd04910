//! One resource changes, time and again, and everybody gets it and accepts it. A change is published when the
//! last one has arrived everywhere, so that nothing coalesces.

use std::time::Instant;

use anyhow::Result;

use crate::load::floor;
use crate::load::options::Options;
use crate::load::plan::Wanted;
use crate::load::report::Run;
use crate::load::world::{Gate, Spent, World};

pub(crate) const CPU: &str = "CPU per delivery";
pub(crate) const RATIO: &str = "CPU per delivery / floor";
pub(crate) const LAST: &str = "last";

/// What several changes, one after the other, took.
pub(crate) struct Changes {
    pub(crate) spent: Spent,
    /// Of each delivery, in µs.
    pub(crate) latencies: Vec<u32>,
    /// Of the last delivery of each change, in µs.
    pub(crate) lasts: Vec<u32>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
}

/// Changes the resources with these numbers, one after the other, each of which `receivers` streams get.
pub(crate) fn change(
    world: &mut World,
    short: &str,
    size: usize,
    numbers: impl IntoIterator<Item = usize>,
    receivers: usize,
) -> Result<Changes> {
    let (mut latencies, mut lasts) = (Vec::new(), Vec::new());
    let (mut bytes_in, mut bytes_out) = (0, 0);
    let watch = world.watch()?;
    let begun = Instant::now();
    for number in numbers {
        world.swarm.shared.begin();
        world.publish(short, [number], size)?;
        world.wait_for("a change", |tally, _| tally.deliveries.len() >= receivers)?;
        let tally = &world.swarm.shared;
        latencies.extend_from_slice(&tally.deliveries);
        lasts.extend(tally.deliveries.iter().max());
        bytes_in += tally.bytes_in;
        bytes_out += tally.bytes_out;
    }
    let wall = begun.elapsed();
    // The last acknowledgements are still to be read.
    world.settle()?;
    let mut spent = watch.stop(world)?;
    spent.wall = wall;
    Ok(Changes { spent, latencies, lasts, bytes_in, bytes_out })
}

/// Streams that all hold the same resources.
pub(crate) struct Crowd<'a> {
    pub(crate) world: World<'a>,
    wanted: Wanted,
    size: usize,
    streams: usize,
}

impl<'a> Crowd<'a> {
    pub(crate) fn gather(options: &'a Options, streams: usize, resources: usize) -> Result<Self> {
        let (wanted, size) = (super::shared(options, "eds", resources), options.size_or(1024));
        let mut world = World::start(options)?;
        world.publish(wanted.short, 0..resources, size)?;
        world.crowd_alike(streams, Gate::Accepted, std::slice::from_ref(&wanted))?;
        world.settle()?;
        Ok(Self { world, wanted, size, streams })
    }

    /// The first change makes what later ones use again.
    pub(crate) fn warm_up(&mut self) -> Result<()> {
        self.change(1).map(drop)
    }

    /// Changes one resource after the other, so often in all.
    pub(crate) fn change(&mut self, times: usize) -> Result<Changes> {
        let count = self.wanted.count.max(1);
        let numbers = (0..times).map(|n| n % count);
        change(&mut self.world, self.wanted.short, self.size, numbers, self.streams)
    }
}

pub(crate) fn run(options: &Options, streams: usize, resources: usize) -> Result<Run> {
    let mut crowd = Crowd::gather(options, streams, resources)?;
    let resident = crowd.world.server.process.resident()?;
    crowd.warm_up()?;
    let changes = crowd.change(options.changes_or(20))?;
    let grown = crowd.world.server.process.resident()? as f64 - resident as f64;
    let lost = crowd.world.swarm.shared.lost;
    // The floor needs the files that these connections have open.
    drop(crowd);

    let mut run = Run::new("fan-out", super::label(options, streams, resources), streams);
    let deliveries = changes.latencies.len();
    let each = changes.spent.each(deliveries);
    run.add(CPU, each, "µs");
    let load = floor::Load {
        connections: streams.div_ceil(options.per_connection).min(floor::MAX_CONNECTIONS),
        bytes: changes.bytes_in as usize / deliveries.max(1),
        acknowledgement: changes.bytes_out as usize / deliveries.max(1),
        rounds: options.changes_or(20),
    };
    run.add("bytes per delivery", load.bytes as f64, "");
    run.add("bytes per acknowledgement", load.acknowledgement as f64, "");
    super::add_floor(options, &mut run, each, load)?;
    figures(&mut run, changes);
    run.add("RSS before", resident as f64 / f64::from(1 << 20), "MiB");
    run.add_bytes("RSS growth per stream", grown / streams as f64);
    run.add("lost", lost as f64, "");
    Ok(run)
}

fn figures(run: &mut Run, mut changes: Changes) {
    run.add_latencies(["p50", "p99", LAST], &mut changes.latencies);
    changes.lasts.sort_unstable();
    let median = changes.lasts.get(changes.lasts.len() / 2).copied().unwrap_or(0);
    run.add("last, median of changes", f64::from(median) / 1e3, "ms");
    let wall = changes.spent.wall.as_secs_f64().max(1e-9);
    run.add("deliveries", changes.latencies.len() as f64 / wall, "/s");
    changes.spent.report(run);
}
