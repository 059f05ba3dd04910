//! What tracing costs: the same changes without it, with the usual sampling, and with all of them sampled. Rounds
//! take turns, so that what else happens on the machine hits all alike.

use anyhow::Result;

use super::fan_out::Crowd;
use crate::load::options::Options;
use crate::load::report::Run;

pub(crate) const RATIO: &str = "CPU per delivery / without tracing";
const CPU: &str = "CPU per delivery";
/// How often each is measured.
const ROUNDS: usize = 5;
/// Shares of the changes, and what they are called.
const RATIOS: [(Option<f64>, &str); 3] = [(None, "off"), (Some(0.01), "1 %"), (Some(1.0), "100 %")];

pub(crate) fn run(options: &Options, streams: usize, resources: usize) -> Result<Vec<Run>> {
    let mut measured = [const { Vec::new() }; RATIOS.len()];
    let mut sent = [0; RATIOS.len()];
    for _ in 0..ROUNDS {
        for (n, (sample_ratio, _)) in RATIOS.into_iter().enumerate() {
            let (each, bytes) = run_once(&Options { sample_ratio, ..options.clone() }, streams, resources)?;
            measured[n].push(each);
            sent[n] += bytes;
        }
    }
    let medians = measured.map(|mut each| {
        each.sort_by(f64::total_cmp);
        each[ROUNDS / 2]
    });
    let runs = RATIOS.into_iter().zip(medians).zip(sent).map(|(((_, name), each), sent)| {
        let label = format!("{}, {name}", super::label(options, streams, resources));
        let mut run = Run::new("tracing", label, streams);
        run.add(CPU, each, "µs");
        run.add(RATIO, each / medians[0], "x");
        run.add_bytes("sent to the collector", sent as f64);
        run
    });
    Ok(runs.collect())
}

/// CPU for each delivery in µs, and how many bytes the collector was sent.
fn run_once(options: &Options, streams: usize, resources: usize) -> Result<(f64, u64)> {
    let mut crowd = Crowd::gather(options, streams, resources)?;
    crowd.warm_up()?;
    let changes = crowd.change(options.changes_or(300))?;
    Ok((changes.spent.each(changes.latencies.len()), crowd.world.exported()?))
}
