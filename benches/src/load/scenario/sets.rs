//! Every client has a parameter set of its own, by its node id, and so a stream to the control plane. What a set weighs is set
//! against as many clients of one stream. Then the control plane is away, comes back with a change, and every set gets it.

use std::time::Duration;

use anyhow::Result;

use super::fan_out::change;
use crate::load::options::Options;
use crate::load::report::Run;
use crate::load::server::Extras;
use crate::load::world::{Gate, World};

pub(crate) const MEMORY: &str = "RSS per set, beyond a client's stream";
const RSS: &str = "RSS per client";
const CPU: &str = "CPU per client, connecting";
/// How long the control plane is away.
const AWAY: Duration = Duration::from_secs(5);

pub(crate) fn run(options: &Options, streams: usize, resources: usize) -> Result<Vec<Run>> {
    let alone = run_once(options, streams, resources, "one stream", "dynamic_parameters = 'native'\n")?;
    let max = streams + options.per_connection;
    let each = format!("max_parameter_sets = {max}\nnode.forward = ['id']\n");
    let mut sets = run_once(options, streams, resources, "a set each", &each)?;
    let of = |name| sets.get(name).unwrap_or(0.0) - alone.get(name).unwrap_or(0.0);
    let (memory, cpu) = (of(RSS), of(CPU));
    sets.add(MEMORY, memory, "KiB");
    sets.add("CPU per set, beyond a client's stream", cpu, "µs");
    Ok(vec![sets, alone])
}

/// Clients that share one stream, or have sets of their own, as the `upstream` is configured.
fn run_once(options: &Options, streams: usize, resources: usize, kind: &str, upstream: &str) -> Result<Run> {
    let size = options.size_or(300);
    let wanted = super::shared(options, "cds", resources);
    let extras = Extras { upstream: Some(format!("{upstream}backoff_max = '1s'\n")), ..Extras::default() };
    let mut world = World::start_with(options, &extras)?;
    world.publish(wanted.short, 0..resources, size)?;
    // What the server holds whoever is connected is not theirs.
    world.crowd_alike(options.per_connection, Gate::Synced, std::slice::from_ref(&wanted))?;
    world.settle()?;
    let before = world.server.process.resident()?;
    let watch = world.watch()?;
    world.crowd_alike(streams, Gate::Accepted, std::slice::from_ref(&wanted))?;
    world.settle()?;
    let spent = watch.stop(&world)?;
    world.swarm.turn_for(Duration::from_secs(options.seconds))?;
    let after = world.server.process.resident()?;

    let mut run = Run::new("sets", format!("{streams} clients, {resources} res., {kind}"), streams);
    run.add_bytes(RSS, (after as f64 - before as f64) / streams as f64);
    run.add(CPU, spent.each(streams), "µs");
    run.add_latencies(["in sync, p50", "in sync, p99", "in sync, last"], &mut world.swarm.shared.synced);

    let everybody = streams + options.per_connection;
    let times = options.changes_or(5);
    let numbers = (0..times).map(|n| n % resources.max(1));
    let mut changes = change(&mut world, wanted.short, size, numbers, everybody)?;
    run.add_latencies(["a change, p50", "a change, p99", "a change, last"], &mut changes.latencies);
    run.add("a change, CPU per client", changes.spent.each(everybody * times), "µs");

    world.control_plane.leave();
    world.swarm.turn_for(AWAY)?;
    world.publish(wanted.short, [0], size)?;
    world.swarm.shared.begin();
    let watch = world.watch()?;
    world.control_plane.come_back()?;
    world.wait_for("what has changed meanwhile", |tally, _| tally.deliveries.len() >= everybody)?;
    let deliveries = &mut world.swarm.shared.deliveries;
    run.add_latencies(["after an outage, p50", "after an outage, p99", "after an outage, last"], deliveries);
    world.settle()?;
    let spent = watch.stop(&world)?;
    run.add("after an outage, CPU per client", spent.each(everybody), "µs");
    spent.report(&mut run);
    Ok(run)
}
