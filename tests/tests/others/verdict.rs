//! What the lanes of a cell came to, side by side: through Weir nothing fails that does not fail directly, and nothing comes
//! noticeably later.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use super::lane::{Between, LANES, Measured};
use super::scenarios::RECOVERIES;

/// How much later than directly a change may show.
const LATER: Duration = Duration::from_millis(200);

/// What fails directly, in one run or the other: by step, part of the reason.
const FAILS_DIRECTLY: [(&str, &str); 1] = [
    // gRPC-Go routes by the new configuration a moment before it balances by it.
    ("change", "unknown cluster selected for RPC"),
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

/// What showed later through Weir than directly.
pub fn late(results: &Results) -> Vec<String> {
    let late = compared(results).filter_map(|(between, direct, through)| {
        let recovery = RECOVERIES.iter().find(|(name, _)| *name == direct.step);
        let may_take = recovery.map_or(direct.took, |(_, retry)| direct.took.max(*retry)) + LATER;
        let (took, directly) = (through.took.as_millis(), direct.took.as_millis());
        (through.took > may_take)
            .then(|| format!("{}: {took} ms through {between}, {directly} ms directly", direct.step))
    });
    late.collect()
}

/// What failed through Weir and not directly.
pub fn failed(results: &Results) -> Vec<String> {
    let failed = compared(results).filter_map(|(between, direct, through)| {
        let step = direct.step;
        let is_listed = |failure: &&String| {
            FAILS_DIRECTLY.iter().any(|(of_step, text)| *of_step == step && failure.contains(text))
        };
        let failures: Vec<_> = through.failures.iter().filter(|failure| !is_listed(failure)).collect();
        let (count, kinds) = (failures.len(), BTreeSet::from_iter(failures));
        (direct.failures.is_empty() && count > 0)
            .then(|| format!("{step}: {count} requests failed through {between}: {kinds:?}"))
    });
    failed.collect()
}

/// Each step of each lane through Weir, beside the same step of the direct lane.
fn compared(results: &Results) -> impl Iterator<Item = (Between, &Measured, &Measured)> {
    let through = LANES.into_iter().zip(results).filter(|(between, _)| *between != Between::Nothing);
    through.flat_map(|(between, lane)| {
        results[0].iter().zip(lane).map(move |(direct, step)| (between, direct, step))
    })
}

/// What one dump has and the other lacks.
pub fn difference(first: &[String], second: &[String]) -> Option<String> {
    let only = |one: &[String], other: &[String]| {
        one.iter().filter(|entry| !other.contains(entry)).cloned().collect::<Vec<_>>().join("\n")
    };
    (first != second).then(|| {
        format!("only the first:\n{}\nonly the second:\n{}", only(first, second), only(second, first))
    })
}
