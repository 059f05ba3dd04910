//! Everybody was connected, is cut off, and comes back at once with word of what it has. Nothing has changed,
//! so nothing is to be sent again; a change afterwards shows that all are in sync.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use prost::Message as _;
use weir_wire::discovery::{DeltaDiscoveryResponse, Resource};

use super::fan_out::change;
use crate::load::options::Options;
use crate::load::plan::{Dialect, Known, Wanted};
use crate::load::report::Run;
use crate::load::world::{Gate, World};

pub(crate) const RESENT: &str = "resources sent again";
pub(crate) const CPU: &str = "CPU per client";

pub(crate) fn run(options: &Options, streams: usize, resources: usize) -> Result<Run> {
    let size = options.size_or(300);
    let wanted = super::shared(options, "cds", resources);
    let mut world = World::start(options)?;
    world.publish(wanted.short, 0..resources, size)?;
    let known = learn(&mut world, &wanted)?;
    world.forget_clients()?;
    world.crowd_alike(streams, Gate::Accepted, std::slice::from_ref(&wanted))?;
    world.settle()?;
    world.forget_clients()?;
    world.settle()?;

    let sets = options.locators.max(1);
    let of_set = |n: usize| Arc::new(world.plan(std::slice::from_ref(&wanted), &known[n], n));
    let plans: Vec<_> = (0..sets).map(of_set).collect();
    world.swarm.shared.begin();
    let watch = world.watch()?;
    let begun = Instant::now();
    world.crowd(streams, Gate::Accepted, |n| Arc::clone(&plans[n % sets]))?;
    let asked = begun.elapsed();
    world.settle()?;
    let spent = watch.stop(&world)?;
    let tally = &world.swarm.shared;
    let mut run = Run::new("herd", super::label(options, streams, resources), streams);
    let request = plans.first().and_then(|plan| plan.types.first()).map_or(0, |planned| planned.first.len());
    run.add("bytes of a first request", (request + options.node_size) as f64, "");
    run.add(RESENT, tally.resources as f64, "");
    run.add("removals sent", tally.removed as f64, "");
    run.add("responses sent", tally.deliveries.len() as f64, "");
    run.add_time("all have asked after", asked);
    run.add(CPU, spent.each(streams), "µs");
    spent.report(&mut run);

    let changes = change(&mut world, wanted.short, size, [0], streams)?;
    run.add("in sync afterwards", changes.latencies.len() as f64, "");
    Ok(run)
}

/// What a client has that is in sync, for each parameter set: by a client of each that looks.
fn learn(world: &mut World, wanted: &Wanted) -> Result<Vec<Known>> {
    let sets = world.options.locators.max(1);
    let mut all = Vec::new();
    for set in 0..sets {
        world.forget_clients()?;
        world.swarm.shared.habits.keep = true;
        let plan = Arc::new(world.plan(std::slice::from_ref(wanted), &Known::default(), set));
        world.crowd(1, Gate::Synced, |_| Arc::clone(&plan))?;
        world.swarm.shared.habits.keep = false;
        let mut known = Known::default();
        for message in &world.swarm.shared.kept {
            known.version_info = String::from_utf8_lossy(&message.version).into_owned();
            if world.options.dialect == Dialect::Delta {
                add_versions(&mut known, &message.whole)?;
            }
        }
        all.push(known);
    }
    Ok(all)
}

fn add_versions(known: &mut Known, response: &[u8]) -> Result<()> {
    for resource in DeltaDiscoveryResponse::decode(response)?.resources {
        let resource = Resource::decode(resource)?;
        let name = resource.resource_name.map_or(resource.name, |located| located.name);
        known.versions.insert(name, resource.version);
    }
    Ok(())
}
