//! Everybody connects at once: how long until each has its first full state, and what it takes.

use anyhow::Result;

use crate::load::options::Options;
use crate::load::report::Run;
use crate::load::world::{Gate, World};

pub(crate) fn run(options: &Options, streams: usize, resources: usize) -> Result<Run> {
    let size = options.size_or(300);
    let wanted = super::four(resources);
    let mut world = World::start(options)?;
    for wanted in &wanted {
        world.publish(wanted.short, 0..wanted.count, size)?;
    }
    // The first client makes the server ask its control plane.
    let one = options.per_connection;
    world.crowd_alike(one, Gate::Synced, &wanted)?;
    world.settle()?;
    world.swarm.shared.synced.clear();
    world.swarm.shared.accepted = 0;
    world.forget_clients()?;
    world.settle()?;
    let resident = world.server.process.resident()?;

    let watch = world.watch()?;
    world.crowd_alike(streams, Gate::Accepted, &wanted)?;
    let mut spent = watch.stop(&world)?;
    let wall = spent.wall;
    world.settle()?;
    spent.wall = wall;

    let mut run = Run::new("connect", super::label(options, streams, resources), streams);
    run.add_latencies(["p50", "p99", "last"], &mut world.swarm.shared.synced.clone());
    run.add_time("all in sync after", wall);
    run.add("streams", streams as f64 / wall.as_secs_f64(), "/s");
    run.add("CPU per stream", spent.each(streams), "µs");
    let grown = world.server.process.resident()? as f64 - resident as f64;
    run.add_bytes("RSS per stream", grown / streams as f64);
    spent.report(&mut run);
    Ok(run)
}
