//! What the lanes of a cell came to, side by side: through Weir nothing fails that does not fail directly, and nothing comes
//! noticeably later.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use super::lane::{Between, LANES, Measured};
use super::scenarios::RECOVERIES;

/// How much later than directly a change may show.
const LATER: Duration = Duration::from_millis(200);

/// What fails directly, in one run or the other: by step, part of the reason. A cluster is replaced by another, and whoever
/// calls in between finds one of them missing.
const FAILS_DIRECTLY: [(&str, &str); 3] = [
    // gRPC-Go routes by the new configuration a moment before it balances by it.
    ("change", "unknown cluster selected for RPC"),
    // What the route no longer leads to is removed before the client has all of what it leads to now.
    ("change", "of type \"ClusterResource\" has been removed"),
    ("change", "CDS resource"),
];

/// By lane, in the order of [`LANES`]: what came of each step.
pub type Results = Vec<Vec<Measured>>;

/// The results as a table, for people.
pub fn draw(title: &str, results: &Results) -> String {
    let mut text = format!("{title}\n{:24}", "until it shows, ms");
    for lane in LANES {
        let _ = write!(text, "{:>20}", lane.to_string());
    }
    for (row, direct) in results[0].iter().enumerate() {
        let _ = write!(text, "\n{:24}", direct.step);
        for measured in results.iter().map(|lane| &lane[row]) {
            let failed = match measured.failures.len() {
                0 => String::new(),
                failed => format!(" ({failed} failed)"),
            };
            let _ = write!(text, "{:>20}", format!("{}{failed}", measured.took.as_millis()));
        }
    }
    for (lane, measured) in LANES.iter().zip(results) {
        for measured in measured.iter().filter(|measured| !measured.failures.is_empty()) {
            let mut kinds = BTreeMap::<_, usize>::new();
            measured.failures.iter().for_each(|failure| *kinds.entry(failure).or_default() += 1);
            let _ = write!(text, "\nfailed {lane}, {}: {kinds:?}", measured.step);
        }
    }
    text
}

/// What is worse through Weir than directly.
pub fn problems(results: &Results) -> Vec<String> {
    let mut problems = Vec::new();
    for (between, lane) in LANES.iter().zip(results).filter(|(between, _)| **between != Between::Nothing) {
        for (direct, through) in results[0].iter().zip(lane) {
            let step = direct.step;
            let recovery = RECOVERIES.iter().find(|(name, _)| *name == step);
            let may_take = recovery.map_or(direct.took, |(_, retry)| direct.took.max(*retry));
            if through.took > may_take + LATER {
                let (took, direct) = (through.took.as_millis(), direct.took.as_millis());
                problems.push(format!("{step}: {took} ms through {between}, {direct} ms directly"));
            }
            let is_listed = |failure: &&String| {
                FAILS_DIRECTLY.iter().any(|(of_step, text)| *of_step == step && failure.contains(text))
            };
            let failures: Vec<_> = through.failures.iter().filter(|failure| !is_listed(failure)).collect();
            if direct.failures.is_empty() && !failures.is_empty() {
                let (failed, kinds) = (failures.len(), BTreeSet::from_iter(failures));
                problems.push(format!("{step}: {failed} requests failed through {between}: {kinds:?}"));
            }
        }
    }
    problems
}

/// What one dump has and the other lacks.
pub fn difference(direct: &[String], through: &[String]) -> Option<String> {
    let only = |one: &[String], other: &[String]| {
        one.iter().filter(|entry| !other.contains(entry)).cloned().collect::<Vec<_>>().join("\n")
    };
    (direct != through).then(|| {
        format!("only directly:\n{}\nonly through Weir:\n{}", only(direct, through), only(through, direct))
    })
}
