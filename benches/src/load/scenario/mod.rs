//! What may happen to a server, each with the figures that it is about.

pub(crate) mod attacks;
pub(crate) mod churn;
pub(crate) mod connect;
pub(crate) mod distinct;
pub(crate) mod fan_out;
pub(crate) mod growth;
pub(crate) mod herd;
pub(crate) mod idle;
pub(crate) mod memory;
pub(crate) mod sets;
pub(crate) mod slow;
pub(crate) mod tracing;
pub(crate) mod variants;

use anyhow::Result;

use super::floor;
use super::options::{Options, Scenario};
use super::plan::Wanted;
use super::report::Run;

/// Runs the scenario with each combination of numbers that was asked for.
pub(crate) fn run(options: &Options) -> Result<Vec<Run>> {
    let (streams, resources) = match options.scenario {
        Scenario::Herd => (1000, 1000),
        Scenario::Churn => (1000, 1000),
        Scenario::Distinct => (5000, 10_000),
        Scenario::Slow => (100, 10),
        Scenario::Sets => (1000, 10),
        Scenario::Variants => (1, 400),
        Scenario::Growth => (10_000, 10),
        Scenario::Attacks => (1, attacks::SIZE),
        Scenario::Memory => (1, 100_000),
        _ => (1000, 10),
    };
    let mut runs = Vec::new();
    for (streams, resources) in options.runs(streams, resources) {
        eprintln!("{:?} with {streams} streams and {resources} resources", options.scenario);
        runs.extend(run_once(options, streams, resources)?);
    }
    Ok(runs)
}

fn run_once(options: &Options, streams: usize, resources: usize) -> Result<Vec<Run>> {
    Ok(match options.scenario {
        Scenario::Connect => vec![connect::run(options, streams, resources)?],
        Scenario::Idle => vec![idle::run(options, streams, resources)?],
        Scenario::FanOut => vec![fan_out::run(options, streams, resources)?],
        Scenario::Growth => growth::run(options, streams, resources)?,
        Scenario::Churn => vec![churn::run(options, streams, resources)?],
        Scenario::Herd => vec![herd::run(options, streams, resources)?],
        Scenario::Slow => vec![slow::run(options, streams, resources)?],
        Scenario::Distinct => distinct::run(options, streams, resources)?,
        Scenario::Sets => sets::run(options, streams, resources)?,
        Scenario::Variants => variants::run(options, resources)?,
        Scenario::Tracing => tracing::run(options, streams, resources)?,
        Scenario::Attacks => attacks::run(options, resources)?,
        Scenario::Memory => memory::run(options, resources)?,
        Scenario::Floor => vec![floor_alone(options, streams)?],
        Scenario::Targets | Scenario::FloorServer | Scenario::BareServer => vec![],
        Scenario::Attacker | Scenario::Busy => vec![],
    })
}

/// What everybody wants of the type that changes: all clusters and listeners, endpoints and routes by name.
fn shared(options: &Options, default: &'static str, resources: usize) -> Wanted {
    match options.kind.as_deref().unwrap_or(default) {
        "cds" => Wanted::all("cds", resources),
        "lds" => Wanted::all("lds", resources),
        "rds" => Wanted::named("rds", 0..resources),
        _ => Wanted::named("eds", 0..resources),
    }
}

/// The four types of an Envoy, of each as many as there are resources.
fn four(resources: usize) -> [Wanted; 4] {
    [
        Wanted::all("cds", resources),
        Wanted::named("eds", 0..resources),
        Wanted::all("lds", resources.min(10)),
        Wanted::named("rds", 0..resources.min(10)),
    ]
}

fn label(options: &Options, streams: usize, resources: usize) -> String {
    let locators = if options.locators > 0 { ", TP2" } else { "" };
    let dialect = format!("{:?}", options.dialect).to_lowercase();
    format!("{streams} streams, {resources} res., {dialect}{locators}")
}

fn floor_alone(options: &Options, connections: usize) -> Result<Run> {
    let load = floor::Load {
        connections: connections.min(floor::MAX_CONNECTIONS),
        bytes: options.size_or(1024),
        acknowledgement: options.acknowledgement,
        rounds: options.changes_or(20),
    };
    let mut floor = floor::measure(options, load)?;
    let mut run = Run::new("floor", format!("{} connections", load.connections), load.connections);
    run.add("CPU per delivery", floor.per_delivery(), "µs");
    run.add_latencies(["p50", "p99", "last"], &mut floor.latencies);
    Ok(run)
}

/// The floor of what was just measured, as figures of the same run: the same bytes, sent and acknowledged.
fn add_floor(options: &Options, run: &mut Run, each: f64, load: floor::Load) -> Result<()> {
    if options.no_floor {
        return Ok(());
    }
    let floor = floor::measure(options, load)?;
    run.add("CPU per delivery, floor", floor.per_delivery(), "µs");
    run.add("CPU per delivery / floor", each / floor.per_delivery().max(1e-9), "x");
    Ok(())
}
