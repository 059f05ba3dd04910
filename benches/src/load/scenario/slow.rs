//! A tenth of the clients stop reading while changes go on: what the server holds for them, and whether the
//! others feel it. In the end they read again and have to come to the newest state.

use std::time::Duration;

use anyhow::Result;

use super::churn::pour;
use crate::load::options::Options;
use crate::load::report::Run;
use crate::load::world::{Gate, World};

pub(crate) const HELD: &str = "RSS per stalled client";

pub(crate) fn run(options: &Options, streams: usize, resources: usize) -> Result<Run> {
    let (size, rate) = (options.size_or(1024), options.rate_or(2000));
    let span = Duration::from_secs_f64(options.changes_or(20_000) as f64 / rate as f64);
    let wanted = super::shared(options, "eds", resources);
    let mut world = World::start(options)?;
    world.swarm.shared.habits.sample_every = 1;
    world.publish(wanted.short, 0..resources, size)?;
    world.crowd_alike(streams, Gate::Accepted, std::slice::from_ref(&wanted))?;
    world.settle()?;
    let mut run = Run::new("slow", super::label(options, streams, resources), streams);

    // The same with everybody reading, so that what is seen afterwards is the stalled clients' alone.
    pour(&mut world, &wanted, size, rate, span)?;
    world.settle()?;
    let before = world.server.process.resident()?;
    run.add_latencies(
        ["all read: age p50", "all read: age p99", "all read: age, last"],
        &mut world.swarm.shared.ages.clone(),
    );

    let stalled = (world.swarm.len() / 10).max(1);
    (0..stalled).try_for_each(|number| world.swarm.set_reading(number, false))?;
    world.swarm.shared.begin();
    let watch = world.watch()?;
    let published = pour(&mut world, &wanted, size, rate, span)?;
    world.settle()?;
    let spent = watch.stop(&world)?;
    let after = world.server.process.resident()?;
    run.add_latencies(
        ["a tenth stalls: age p50", "a tenth stalls: age p99", "a tenth stalls: age, last"],
        &mut world.swarm.shared.ages.clone(),
    );
    run.add("stalled connections", stalled as f64, "");
    run.add("changes meanwhile", published as f64, "");
    run.add_bytes(HELD, (after as f64 - before as f64) / stalled as f64);

    world.swarm.shared.begin();
    (0..stalled).try_for_each(|number| world.swarm.set_reading(number, true))?;
    world.settle()?;
    let tally = &world.swarm.shared;
    let caught_up = stalled * options.per_connection;
    run.add("responses to catch up, each", tally.deliveries.len() as f64 / caught_up as f64, "");
    run.add_bytes("bytes to catch up, each", tally.bytes_in as f64 / caught_up as f64);
    super::fan_out::change(&mut world, wanted.short, size, [0], streams)?;
    run.add("in sync afterwards", world.swarm.shared.deliveries.len() as f64, "");
    spent.report(&mut run);
    Ok(run)
}
