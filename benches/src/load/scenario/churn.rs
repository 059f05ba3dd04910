//! Resources change all the time, a different one each time, and everybody wants them all. What cannot be
//! sent in time has to coalesce: staleness is how old a resource is when a client gets it.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::load::options::Options;
use crate::load::report::Run;
use crate::load::world::{Gate, World};

pub(crate) const STALENESS: &str = "staleness p99";
pub(crate) const GROWTH: &str = "RSS growth";
/// Streams that look how old their resources are.
const SAMPLES: usize = 50;

pub(crate) fn run(options: &Options, streams: usize, resources: usize) -> Result<Run> {
    let (size, rate) = (options.size_or(300), options.rate_or(1000));
    let wanted = super::shared(options, "eds", resources);
    let mut world = World::start(options)?;
    world.swarm.shared.habits.sample_every = streams.div_ceil(SAMPLES).max(1);
    world.publish(wanted.short, 0..resources, size)?;
    world.crowd_alike(streams, Gate::Accepted, std::slice::from_ref(&wanted))?;
    world.settle()?;

    // Half of the time to come to the level that is then to be held.
    let span = Duration::from_secs(options.seconds);
    pour(&mut world, &wanted, size, rate, span / 2)?;
    let resident = world.server.process.resident()?;
    world.swarm.shared.begin();
    let watch = world.watch()?;
    let published = pour(&mut world, &wanted, size, rate, span)?;
    let spent = watch.stop(&world)?;
    let grown = world.server.process.resident()? as f64 - resident as f64;
    let tally = &mut world.swarm.shared;
    let (deliveries, resources_in) = (tally.deliveries.len(), tally.resources);
    let mut ages = std::mem::take(&mut tally.ages);

    let mut run = Run::new("churn", super::label(options, streams, resources), streams);
    let wall = spent.wall.as_secs_f64();
    run.add("changes", published as f64 / wall, "/s");
    run.add("deliveries", deliveries as f64 / wall, "/s");
    run.add("resources delivered", resources_in as f64 / wall, "/s");
    run.add("changes in a delivery", resources_in as f64 / deliveries.max(1) as f64, "");
    run.add_latencies(["staleness p50", STALENESS, "staleness, last"], &mut ages);
    run.add("CPU per delivery", spent.each(deliveries), "µs");
    run.add("RSS before", resident as f64 / f64::from(1 << 20), "MiB");
    run.add(GROWTH, grown / f64::from(1 << 20), "MiB");
    spent.report(&mut run);
    // Everything that was published arrives in the end.
    let stopped = Instant::now();
    world.settle()?;
    run.add_time("at rest after", stopped.elapsed());
    Ok(run)
}

/// Publishes changes at this rate for so long, and states how many those were.
pub(crate) fn pour(
    world: &mut World,
    wanted: &crate::load::plan::Wanted,
    size: usize,
    rate: usize,
    span: Duration,
) -> Result<usize> {
    let begun = Instant::now();
    let mut published = 0;
    while begun.elapsed() < span {
        let due = (begun.elapsed().as_secs_f64() * rate as f64) as usize;
        while published < due {
            world.publish(wanted.short, [published % wanted.count.max(1)], size)?;
            published += 1;
        }
        world.swarm.turn(Duration::from_micros(500))?;
    }
    world.wait_for("nothing", |_, _| true)?;
    Ok(published)
}
