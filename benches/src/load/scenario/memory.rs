//! What the server holds of resources, and what it gives back when the names that a client made up are gone.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::load::options::Options;
use crate::load::plan::Wanted;
use crate::load::report::Run;
use crate::load::server::Extras;
use crate::load::world::{Gate, World};

/// How long the allocator may take to give pages back, after the last name is gone.
const DECAY: Duration = Duration::from_secs(15);

pub(crate) fn run(options: &Options, count: usize) -> Result<Vec<Run>> {
    Ok(vec![held(options, count)?, made_up(options, count)?])
}

/// One client is subscribed to everything, with its encoded responses not kept.
fn held(options: &Options, count: usize) -> Result<Run> {
    let options = &Options { frame_cache: "1KiB".to_owned(), ..options.clone() };
    let size = options.size_or(300);
    let mut world = World::start(options)?;
    world.publish("cds", [0], size)?;
    world.crowd_alike(1, Gate::Synced, &[Wanted::all("cds", 1)])?;
    world.settle()?;
    let before = world.server.process.resident()? as f64;
    // In pieces, as a control plane sends them that keeps to the default limit of gRPC for messages.
    for first in (1..count).step_by(1000) {
        world.publish("cds", first..count.min(first + 1000), size)?;
    }
    world.settle()?;
    let peak = world.server.process.resident()? as f64 - before;
    world.swarm.turn_for(DECAY)?;
    let grown = world.server.process.resident()? as f64 - before;

    let mut run = Run::new("memory", format!("{count} resources"), 1);
    run.add("RSS growth, at first", peak / f64::from(1 << 20), "MiB");
    run.add("RSS growth", grown / f64::from(1 << 20), "MiB");
    run.add_bytes("  beyond the bytes of each", grown / count as f64 - size as f64);
    Ok(run)
}

/// Two clients with as many names each that do not exist, which leave.
fn made_up(options: &Options, count: usize) -> Result<Run> {
    let extras = Extras { idle_timeout: Some("1s"), ..Extras::default() };
    let mut world = World::start_with(options, &extras)?;
    world.publish("cds", [0], 300)?;
    world.crowd_alike(1, Gate::Synced, &[Wanted::named("cds", [0])])?;
    world.settle()?;
    let before = world.server.process.resident()? as f64;
    let plans = [0, 1].map(|half| {
        let first = 1 + half * count;
        // One of them exists, so that the clients know when they are served.
        let mut wanted = Wanted::named("cds", (first..first + count - 1).chain([0]));
        wanted.count = 1;
        std::sync::Arc::new(world.plan(&[wanted], &Default::default(), half))
    });
    world.crowd(2, Gate::Synced, |n| std::sync::Arc::clone(&plans[(n + 1) % 2]))?;
    world.settle()?;
    let held = world.server.process.resident()? as f64 - before;
    world.forget_clients()?;
    let gone = Instant::now();
    world.settle()?;
    let at_rest = gone.elapsed();
    world.swarm.turn_for(DECAY)?;
    let left = world.server.process.resident()? as f64 - before;

    let mut run = Run::new("memory", format!("{} made-up names", 2 * count), 1);
    run.add("RSS growth, at first", held / f64::from(1 << 20), "MiB");
    run.add("RSS growth", left / f64::from(1 << 20), "MiB");
    run.add_time("at rest after", at_rest);
    Ok(run)
}
