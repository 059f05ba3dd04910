//! What a change costs must depend on who gets it, not on who is there: ten streams among many want the
//! resource that changes, against ten streams alone.

use std::sync::Arc;

use anyhow::Result;

use super::fan_out::change;
use crate::load::options::Options;
use crate::load::plan::{Known, Wanted};
use crate::load::report::Run;
use crate::load::world::{Gate, World};

pub(crate) const CPU: &str = "CPU per change";
pub(crate) const RATIO: &str = "CPU per change / alone";
const RECEIVERS: usize = 10;

pub(crate) fn run(options: &Options, streams: usize, resources: usize) -> Result<Vec<Run>> {
    let mut alone = run_once(options, RECEIVERS, resources)?;
    let mut among = run_once(options, streams, resources)?;
    let ratio = among.get(CPU).unwrap_or(0.0) / alone.get(CPU).unwrap_or(0.0).max(1e-9);
    alone.add(RATIO, 1.0, "x");
    among.add(RATIO, ratio, "x");
    Ok(vec![alone, among])
}

fn run_once(options: &Options, streams: usize, resources: usize) -> Result<Run> {
    let size = options.size_or(1024);
    let mut world = World::start(options)?;
    // The last one is what changes.
    world.publish("eds", 0..=resources, size)?;
    let known = Known::default();
    let few = Arc::new(world.plan(&[Wanted::named("eds", [resources])], &known, 0));
    let many = Arc::new(world.plan(&[Wanted::named("eds", 0..resources)], &known, 0));
    let plan = |n: usize| Arc::clone(if n < RECEIVERS { &few } else { &many });
    world.crowd(streams, Gate::Accepted, plan)?;
    world.wait_for("first full states", |tally, streams| tally.synced.len() == streams)?;
    world.settle()?;

    change(&mut world, "eds", size, [resources], RECEIVERS)?;
    let count = options.changes_or(500);
    let mut changes = change(&mut world, "eds", size, std::iter::repeat_n(resources, count), RECEIVERS)?;
    let mut run = Run::new("growth", super::label(options, streams, resources), streams);
    run.add(CPU, changes.spent.each(count), "µs");
    run.add_latencies(["p50", "p99", "last"], &mut changes.latencies);
    changes.spent.report(&mut run);
    Ok(run)
}
