//! Every client has an endpoint set of its own, twenty names out of many: as many views as clients. A change
//! of one name is for few of them, and is set against few streams alone; the memory of such streams is set
//! against streams that all want the same.

use std::sync::Arc;

use anyhow::Result;

use super::fan_out::change;
use crate::load::options::Options;
use crate::load::plan::{Known, Wanted};
use crate::load::report::Run;
use crate::load::world::{Gate, World};

pub(crate) const CPU: &str = "CPU per change";
pub(crate) const RATIO: &str = "CPU per change / alone";
pub(crate) const MEMORY: &str = "RSS per stream, beyond a shared view";
const RSS: &str = "RSS per stream";
/// Names that each client wants.
const NAMES: usize = 20;

pub(crate) fn run(options: &Options, streams: usize, resources: usize) -> Result<Vec<Run>> {
    let receivers = (streams * NAMES / resources).max(1);
    let own = |n: usize| (0..NAMES).map(move |k| (n * NAMES + k) % resources).collect();
    let mut distinct = run_once(options, "own names", streams, resources, receivers, own)?;
    let alone = run_once(options, "alone", receivers, resources, receivers, |_| (0..NAMES).collect())?;
    let mut shared = run_once(options, "shared view", streams, resources, streams, |_| (0..NAMES).collect())?;
    let ratio = |a: &Run, b: &Run| a.get(CPU).unwrap_or(0.0) / b.get(CPU).unwrap_or(0.0).max(1e-9);
    let beyond = distinct.get(RSS).unwrap_or(0.0) - shared.get(RSS).unwrap_or(0.0);
    let per_change = ratio(&distinct, &alone);
    distinct.add(RATIO, per_change, "x");
    distinct.add(MEMORY, beyond, "KiB");
    shared.figures.retain(|figure| figure.name != CPU);
    Ok(vec![distinct, alone, shared])
}

/// Clients whose `n`th wants these names, and changes that `receivers` of them get.
fn run_once(
    options: &Options,
    label: &str,
    streams: usize,
    resources: usize,
    receivers: usize,
    names: impl Fn(usize) -> Vec<usize>,
) -> Result<Run> {
    let size = options.size_or(300);
    let mut world = World::start(options)?;
    world.publish("eds", 0..resources, size)?;
    // A client that wants everything, so that the streams' own memory is what comes on top.
    let all = Arc::new(world.plan(&[Wanted::named("eds", 0..resources)], &Known::default(), 0));
    world.crowd(options.per_connection, Gate::Synced, |_| Arc::clone(&all))?;
    world.settle()?;
    let before = world.server.process.resident()?;
    let plans: Vec<_> = (0..streams)
        .map(|n| Arc::new(world.plan(&[Wanted::named("eds", names(n))], &Known::default(), n)))
        .collect();
    world.crowd(streams, Gate::Accepted, |n| Arc::clone(&plans[n.saturating_sub(options.per_connection)]))?;
    world.wait_for("first full states", |tally, streams| tally.synced.len() == streams)?;
    world.settle()?;
    let after = world.server.process.resident()?;

    let mut run = Run::new("distinct", format!("{streams} streams, {label}"), streams);
    // The one that wants everything gets each change too.
    let receivers = receivers + options.per_connection;
    change(&mut world, "eds", size, [0], receivers)?;
    let count = if receivers > streams { options.changes_or(500).min(20) } else { options.changes_or(500) };
    let mut changes = change(&mut world, "eds", size, (0..count).map(|n| n % NAMES), receivers)?;
    run.add(CPU, changes.spent.each(count), "µs");
    run.add_latencies(["p50", "p99", "last"], &mut changes.latencies);
    run.add_bytes(RSS, (after as f64 - before as f64) / streams as f64);
    changes.spent.report(&mut run);
    Ok(run)
}
