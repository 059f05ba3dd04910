//! Memory of streams that have everything and wait: four types subscribed, nothing under way.

use std::time::Duration;

use anyhow::Result;

use crate::load::options::Options;
use crate::load::report::Run;
use crate::load::world::{Gate, World};

pub(crate) const MEMORY: &str = "RSS per stream";

pub(crate) fn run(options: &Options, streams: usize, resources: usize) -> Result<Run> {
    let size = options.size_or(100);
    let wanted = super::four(resources);
    let mut world = World::start(options)?;
    for wanted in &wanted {
        world.publish(wanted.short, 0..wanted.count, size)?;
    }
    // What the server holds whoever is connected is not the streams'.
    world.crowd_alike(options.per_connection, Gate::Synced, &wanted)?;
    world.settle()?;
    let before = world.server.process.resident()?;

    let watch = world.watch()?;
    world.crowd_alike(streams, Gate::Synced, &wanted)?;
    world.settle()?;
    let spent = watch.stop(&world)?;
    let idle = world.watch()?;
    world.swarm.turn_for(Duration::from_secs(options.seconds))?;
    let idle = idle.stop(&world)?;
    // Only now: an allocator may take its time to give back what connecting took.
    let after = world.server.process.resident()?;

    let mut run = Run::new("idle", super::label(options, streams, resources), streams);
    run.add_bytes(MEMORY, (after as f64 - before as f64) / streams as f64);
    run.add("RSS before", before as f64 / f64::from(1 << 20), "MiB");
    run.add("RSS after", after as f64 / f64::from(1 << 20), "MiB");
    run.add("CPU per stream, connecting", spent.each(streams), "µs");
    idle.report(&mut run);
    Ok(run)
}
