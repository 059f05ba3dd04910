//! What a run has found, for people and for programs.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

/// A number, with what it is a number of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
}

/// The figures of one run, in the order in which they are shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) scenario: &'static str,
    /// Distinguishes the run from others of a series.
    pub(crate) label: String,
    pub(crate) streams: usize,
    pub(crate) figures: Vec<Figure>,
}

impl Run {
    pub(crate) fn new(scenario: &'static str, label: impl Into<String>, streams: usize) -> Self {
        Self { scenario, label: label.into(), streams, figures: Vec::new() }
    }

    pub(crate) fn add(&mut self, name: &'static str, value: f64, unit: &'static str) {
        self.figures.push(Figure { name, value, unit });
    }

    /// In milliseconds.
    pub(crate) fn add_time(&mut self, name: &'static str, value: Duration) {
        self.add(name, value.as_secs_f64() * 1e3, "ms");
    }

    /// In KiB.
    pub(crate) fn add_bytes(&mut self, name: &'static str, value: f64) {
        self.add(name, value / 1024.0, "KiB");
    }

    /// Median, 99th percentile and last of times in µs.
    pub(crate) fn add_latencies(&mut self, names: [&'static str; 3], micros: &mut [u32]) {
        micros.sort_unstable();
        for (name, share) in names.into_iter().zip([0.5, 0.99, 1.0]) {
            self.add(name, f64::from(quantile(micros, share)) / 1e3, "ms");
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}

/// Of sorted values, the one that `share` of them do not exceed; 0 if there are none.
fn quantile(sorted: &[u32], share: f64) -> u32 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

/// Runs side by side, a figure a line.
pub(crate) fn table(runs: &[Run]) -> String {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for figure in runs.iter().flat_map(|run| &run.figures) {
        if !names.iter().any(|(name, _)| *name == figure.name) {
            names.push((figure.name, figure.unit));
        }
    }
    let mut rows = vec![vec![runs.first().map_or("", |run| run.scenario).to_owned(), String::new()]];
    rows[0].extend(runs.iter().map(|run| run.label.clone()));
    for (name, unit) in names {
        let mut row = vec![name.to_owned(), unit.to_owned()];
        row.extend(runs.iter().map(|run| run.get(name).map_or_else(String::new, number)));
        rows.push(row);
    }
    align(&rows)
}

/// Texts on the left of their columns, numbers on the right.
pub(crate) fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if c < 2 { write!(line, "{cell:<width$}  ") } else { write!(line, "{cell:>width$}  ") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Three digits that count, without an exponent.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == v.trunc() => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// All of it, with the machine that it was found on.
pub(crate) fn json(runs: &[Run]) -> Value {
    let run = |run: &Run| {
        let figure = |f: &Figure| json!({ "name": f.name, "value": f.value, "unit": f.unit });
        json!({
            "scenario": run.scenario,
            "label": run.label,
            "streams": run.streams,
            "figures": run.figures.iter().map(figure).collect::<Vec<_>>(),
        })
    };
    let command: Vec<_> = std::env::args().skip(1).collect();
    json!({ "command": command, "machine": machine(), "runs": runs.iter().map(run).collect::<Vec<_>>() })
}

/// What the figures were found on, in words.
pub(crate) fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{processors} x {}, Linux {}", model.map_or("?", |(_, model)| model), kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_seen() {
        let values: Vec<u32> = (1..=200).collect();
        assert_eq!([0.5, 0.99, 1.0].map(|share| quantile(&values, share)), [100, 198, 200]);
        assert_eq!(quantile(&[7], 0.5), 7);
        assert_eq!(quantile(&[], 0.99), 0);
    }

    #[test]
    fn runs_stand_side_by_side() {
        let mut few = Run::new("fan-out", "10 streams", 10);
        few.add("CPU per delivery", 12.34, "µs");
        let mut many = Run::new("fan-out", "1000 streams", 1000);
        many.add("CPU per delivery", 9.876, "µs");
        many.add("lost", 0.0, "");
        let wanted = "\
fan-out               10 streams  1000 streams
CPU per delivery  µs        12.3          9.88
lost                                         0
";
        assert_eq!(table(&[few, many]), wanted);
    }

    #[test]
    fn the_json_has_every_figure_and_the_machine() {
        let mut run = Run::new("idle", "10", 10);
        run.add_bytes("RSS per stream", 2048.0);
        let json = json(&[run]);
        assert_eq!(
            json["runs"][0]["figures"][0],
            json!({ "name": "RSS per stream", "value": 2.0, "unit": "KiB" })
        );
        assert!(json["machine"].as_str().unwrap().contains("Linux"));
    }
}
