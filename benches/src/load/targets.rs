//! What the project promises, measured: each promise with its limit and what was found.

use anyhow::Result;

use super::options::{Options, Scenario};
use super::plan::Dialect;
use super::report::{Run, align, number, table};
use super::scenario::{self, churn, distinct, fan_out, growth, herd, idle, slow, variants};

/// A promise: a figure, and what it may be at most.
struct Promise {
    what: &'static str,
    limit: f64,
    unit: &'static str,
    measure: fn(&Options, &mut Vec<Run>) -> Result<f64>,
}

const PROMISES: &[Promise] = &[
    Promise {
        what: "1 KiB to 10,000 streams: CPU per delivery",
        limit: 2.2,
        unit: "x floor",
        measure: small,
    },
    Promise {
        what: "64 KiB to 10,000 streams: CPU per delivery",
        limit: 2.5,
        unit: "x floor",
        measure: large,
    },
    Promise {
        what: "one of 2,000 clusters against one of 10: CPU per delivery",
        limit: 1.2,
        unit: "x",
        measure: many,
    },
    Promise {
        what: "idle stream, four types, nodes of 61 kB: memory",
        limit: 20.0,
        unit: "KiB",
        measure: memory,
    },
    Promise {
        what: "idle stream, 10,000 resources instead of 10: more memory",
        limit: 1.0,
        unit: "KiB",
        measure: more,
    },
    Promise { what: "19,000 streams, a connection each: lost", limit: 0.0, unit: "", measure: wide },
    Promise { what: "60,000 streams, four to a connection: last", limit: 1500.0, unit: "ms", measure: wider },
    Promise {
        what: "10 receivers among 10,000 against 10 alone: CPU per change",
        limit: 2.0,
        unit: "x",
        measure: work,
    },
    Promise {
        what: "herd of 10,000 with 1,000 resources each: sent again",
        limit: 0.0,
        unit: "",
        measure: back,
    },
    Promise {
        what: "1,000 changes a second, 5,000 streams: staleness p99",
        limit: 1000.0,
        unit: "ms",
        measure: stale,
    },
    Promise { what: "stalled client, 100,000 changes: memory", limit: 64.0, unit: "KiB", measure: stalled },
    Promise {
        what: "5,000 streams with own names against 10 alone: CPU per change",
        limit: 2.0,
        unit: "x",
        measure: own,
    },
    Promise {
        what: "5,000 streams with own names: more memory than a shared view",
        limit: 8.0,
        unit: "KiB",
        measure: kept,
    },
    Promise { what: "100 variants of one content: memory", limit: 2.0, unit: "x content", measure: once },
];

/// Measures all of them, prints what became of each, and gives every run that was made for it.
#[allow(clippy::print_stdout, reason = "the figures are what the program is for")]
pub(crate) fn run(options: &Options) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    let heads = ["promise", "", "at most", "found", "kept"].map(str::to_owned).to_vec();
    let mut rows = vec![heads];
    for promise in PROMISES {
        eprintln!("--- {}", promise.what);
        let found = (promise.measure)(options, &mut runs);
        let (value, kept) = match &found {
            Ok(value) => (number(*value), if *value <= promise.limit { "yes" } else { "no" }.to_owned()),
            Err(error) => (String::new(), format!("failed: {error:#}")),
        };
        rows.push(vec![promise.what.into(), promise.unit.into(), number(promise.limit), value, kept]);
    }
    println!("{}", align(&rows));
    Ok(runs)
}

/// Runs a scenario and gives the first run's figure of this name.
fn one(options: Options, runs: &mut Vec<Run>, name: &str) -> Result<f64> {
    let found = scenario::run(&options)?;
    let value = found.iter().find_map(|run| run.get(name)).unwrap_or(f64::NAN);
    keep(runs, found);
    Ok(value)
}

fn keep(runs: &mut Vec<Run>, found: Vec<Run>) {
    eprint!("{}", table(&found));
    runs.extend(found);
}

fn scenario(options: &Options, scenario: Scenario, streams: usize, resources: usize) -> Options {
    Options {
        scenario,
        streams: vec![streams],
        resources: vec![resources],
        size: None,
        changes: None,
        rate: None,
        dialect: Dialect::Delta,
        kind: None,
        per_connection: 1,
        ..options.clone()
    }
}

fn small(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    one(scenario(options, Scenario::FanOut, 10_000, 10), runs, fan_out::RATIO)
}

fn large(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    let options = scenario(options, Scenario::FanOut, 10_000, 10);
    one(Options { size: Some(64 << 10), changes: Some(10), ..options }, runs, fan_out::RATIO)
}

fn many(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    let mut of = |resources| {
        let options = scenario(options, Scenario::FanOut, 1000, resources);
        let options = Options { size: Some(300), changes: Some(100), no_floor: true, ..options };
        one(Options { kind: Some("cds".into()), ..options }, runs, fan_out::CPU)
    };
    let few = of(10)?;
    Ok(of(2000)? / few)
}

fn idle(options: &Options, resources: usize) -> Options {
    Options { node_in_every_request: true, ..scenario(options, Scenario::Idle, 10_000, resources) }
}

fn memory(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    one(idle(options, 10), runs, idle::MEMORY)
}

fn more(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    let few = runs.iter().find(|run| run.scenario == "idle").and_then(|run| run.get(idle::MEMORY));
    let few = match few {
        Some(few) => few,
        None => memory(options, runs)?,
    };
    Ok(one(Options { timeout: 600, at_a_time: 64, ..idle(options, 10_000) }, runs, idle::MEMORY)? - few)
}

fn wide(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    one(scenario(options, Scenario::FanOut, 19_000, 10), runs, "lost")
}

fn wider(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    let options = scenario(options, Scenario::FanOut, 60_000, 10);
    one(Options { per_connection: 4, changes: Some(10), ..options }, runs, fan_out::LAST)
}

fn work(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    let found = scenario::run(&scenario(options, Scenario::Growth, 10_000, 10))?;
    let ratio = found.last().and_then(|run| run.get(growth::RATIO)).unwrap_or(f64::NAN);
    keep(runs, found);
    Ok(ratio)
}

fn back(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    one(scenario(options, Scenario::Herd, 10_000, 1000), runs, herd::RESENT)
}

fn stale(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    let options = scenario(options, Scenario::Churn, 5000, 1000);
    one(Options { rate: Some(1000), seconds: 20, ..options }, runs, churn::STALENESS)
}

fn stalled(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    // Fast enough that the clients are not taken for dead meanwhile.
    let options = scenario(options, Scenario::Slow, 1000, 10);
    // What is kept of encoded responses grows for as long as it may, and is not the clients'.
    let frame_cache = "8MiB".to_owned();
    one(Options { changes: Some(100_000), rate: Some(6000), frame_cache, ..options }, runs, slow::HELD)
}

fn own(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    one(scenario(options, Scenario::Distinct, 5000, 10_000), runs, distinct::RATIO)
}

fn kept(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    let find = |runs: &[Run]| runs.iter().find_map(|run| run.get(distinct::MEMORY));
    if find(runs).is_none() {
        own(options, runs)?;
    }
    Ok(find(runs).unwrap_or(f64::NAN))
}

fn once(options: &Options, runs: &mut Vec<Run>) -> Result<f64> {
    let found = scenario::run(&scenario(options, Scenario::Variants, 1, 400))?;
    let ratio = found.last().and_then(|run| run.get(variants::RATIO)).unwrap_or(f64::NAN);
    keep(runs, found);
    Ok(ratio)
}
