//! A cell as a row of `docs/compatibility.md`: written to the directory that `WEIR_ECOSYSTEM` names, for
//! `cargo xtask ecosystem`.

use std::path::PathBuf;
use std::time::Duration;

use super::lane::{Cell, Measured};
use super::scenarios::{AWAY, KILLED, RECOVERIES};
use super::verdict::Results;

/// A row for a cell that has begun: what stays if it never ends.
pub fn begin(cell: Cell) {
    write(cell, &["did not finish", "", "", "", ""].map(str::to_owned));
}

/// The row of a cell that has ended.
pub fn end(cell: Cell, results: &Results, problems: &[String]) {
    let verdict =
        if problems.is_empty() { "passed".to_owned() } else { problems.join("; ").replace('|', "/") };
    let each = |what: &dyn Fn(&[Measured]) -> String| {
        results.iter().map(|lane| what(lane)).collect::<Vec<_>>().join(" / ")
    };
    let slowest = |lane: &[Measured]| {
        let changes = lane.iter().filter(|step| RECOVERIES.iter().all(|(name, _)| *name != step.step));
        milliseconds(changes.map(|step| step.took).max())
    };
    let took = |name: &'static str| {
        move |lane: &[Measured]| {
            milliseconds(lane.iter().find(|step| step.step == name).map(|step| step.took))
        }
    };
    let failed = |lane: &[Measured]| lane.iter().map(|step| step.failures.len()).sum::<usize>().to_string();
    write(cell, &[verdict, each(&failed), each(&slowest), each(&took(AWAY)), each(&took(KILLED))]);
}

fn milliseconds(took: Option<Duration>) -> String {
    took.unwrap_or_default().as_millis().to_string()
}

fn write(cell: Cell, columns: &[String; 5]) {
    let Some(directory) = std::env::var_os("WEIR_ECOSYSTEM").map(PathBuf::from) else { return };
    let Cell { name, control_plane, client, protocol, node } = cell;
    let columns = columns.join(" | ");
    let row = format!("| `{name}` | {control_plane} | {node:?} | {client:?} | `{protocol}` | {columns} |\n");
    std::fs::write(directory.join(name), row).expect("write a row");
}
