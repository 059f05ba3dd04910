//! What is written about metrics against the metrics that there are: the reference page, the dashboard, the alerts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value;
use weir_metrics::{ALL, Instrument};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is above").to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The row of the reference page for an instrument.
fn row(instrument: &Instrument) -> String {
    let labels: Vec<_> = instrument.labels.iter().map(|label| format!("`{label}`")).collect();
    format!(
        "| `{}` | `{}` | {} | `{}` | {} | {} |",
        instrument.name,
        instrument.prometheus()[0],
        instrument.kind.as_str(),
        instrument.unit,
        labels.join(", "),
        instrument.about
    )
}

#[test]
fn every_instrument_is_in_the_reference_and_nothing_else() {
    let page = read("docs/metrics.md");
    let (labels, instruments) = page.split_once("## Instruments").expect("the page has its two tables");
    let written: BTreeSet<&str> = instruments.lines().filter(|line| line.starts_with("| `")).collect();
    let wanted: Vec<String> = ALL.iter().map(|instrument| row(instrument)).collect();
    let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
    let (missing, wrong) = (wanted.difference(&written), written.difference(&wanted));
    let (missing, wrong): (Vec<_>, Vec<_>) = (missing.collect(), wrong.collect());
    assert!(
        missing.is_empty() && wrong.is_empty(),
        "docs/metrics.md: missing {missing:#?}\nwrong {wrong:#?}"
    );

    let label = Regex::new(r"(?m)^\| `([a-z_.]+)` \|").expect("a pattern");
    let explained: BTreeSet<&str> =
        label.captures_iter(labels).map(|found| found.extract::<1>().1[0]).collect();
    let used: BTreeSet<&str> = ALL.iter().flat_map(|instrument| instrument.labels).copied().collect();
    assert_eq!(explained, used, "docs/metrics.md explains each label");
}

#[test]
fn every_instrument_counts_something() {
    let mut sources = Vec::new();
    for directory in ["crates", "bin"] {
        collect(&root().join(directory), &mut sources);
    }
    let texts = sources.iter().map(|path| std::fs::read_to_string(path).expect("sources are text"));
    let texts: String = texts.collect();
    let table = read("crates/metrics/src/table.rs");
    let entry = Regex::new(r"(?m)^    ([A-Z_]+) =").expect("a pattern");
    let entries: Vec<&str> = entry.captures_iter(&table).map(|found| found.extract::<1>().1[0]).collect();
    assert_eq!(entries.len(), ALL.len());
    let unused: Vec<_> =
        entries.iter().filter(|name| !texts.contains(&format!("weir_metrics::{name}"))).collect();
    assert!(unused.is_empty(), "nobody counts {unused:?}");
}

/// All of them come from the table, so that no other list can be forgotten.
#[test]
fn no_instrument_is_made_elsewhere() {
    let mut sources = Vec::new();
    for directory in ["crates", "bin"] {
        collect(&root().join(directory), &mut sources);
    }
    assert!(sources.len() > 100, "{}", sources.len());
    let own = root().join("crates/metrics");
    let makes = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("sources are text");
        // What a crate's tests count is theirs.
        let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
        shipped.contains("global::meter") || shipped.contains(".meter(\"")
    };
    let others: Vec<_> = sources.iter().filter(|path| !path.starts_with(&own) && makes(path)).collect();
    assert!(others.is_empty(), "add these instruments to crates/metrics/src/table.rs: {others:#?}");
}

fn collect(directory: &Path, sources: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
}

/// The labels that Prometheus adds.
const ADDED: [&str; 3] = ["instance", "job", "le"];

/// Names of series, and for each the labels that it may be asked for.
fn series() -> BTreeMap<String, BTreeSet<String>> {
    let mut series = BTreeMap::new();
    for instrument in ALL {
        let labels = instrument.labels.iter().copied().chain(ADDED).map(|label| label.replace('.', "_"));
        let labels: BTreeSet<String> = labels.collect();
        series.extend(instrument.prometheus().into_iter().map(|name| (name, labels.clone())));
    }
    series
}

/// What is wrong with a query: names and labels that do not exist.
fn faults(query: &str) -> Vec<String> {
    let series = series();
    let mut faults = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let name = Regex::new(r"\b((?:weir|process)_[a-z0-9_]+)\s*(?:\{([^}]*)\})?").expect("a pattern");
    let matcher = Regex::new(r"([a-z_]+)\s*(?:=~|!~|!=|=)").expect("a pattern");
    for found in name.captures_iter(query) {
        let Some(labels) = series.get(&found[1]) else {
            faults.push(format!("there is no {}", &found[1]));
            continue;
        };
        known.extend(labels.iter().map(String::as_str));
        let asked = found.get(2).map_or("", |asked| asked.as_str());
        let foreign = matcher.captures_iter(asked).map(|asked| asked[1].to_owned());
        let foreign = foreign.filter(|label| !labels.contains(label));
        faults.extend(foreign.map(|label| format!("{} has no {label}", &found[1])));
    }
    if known.is_empty() {
        faults.push("it asks for nothing".to_owned());
    }
    let grouped = Regex::new(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)").expect("a pattern");
    let groups = grouped
        .captures_iter(query)
        .flat_map(|found| found[1].split(',').map(|label| label.trim().to_owned()).collect::<Vec<_>>());
    faults
        .extend(groups.filter(|label| !known.contains(&**label)).map(|label| format!("grouped by {label}")));
    faults
}

#[test]
fn a_query_with_a_wrong_name_or_label_is_found() {
    assert_eq!(faults("sum by (type) (rate(weir_downstream_nacks_total{dialect=\"sotw\"}[5m]))"), [""; 0]);
    assert_eq!(faults("rate(weir_downstream_nacks[5m])")[0], "there is no weir_downstream_nacks");
    assert_eq!(
        faults("weir_downstream_nacks_total{node=~\"x\"}"),
        ["weir_downstream_nacks_total has no node"]
    );
    assert_eq!(faults("sum by (authority) (weir_downstream_streams)"), ["grouped by authority"]);
    assert_eq!(faults("up == 0"), ["it asks for nothing"]);
}

/// Every string under one of these keys.
fn strings<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| strings(value, key, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str().filter(|_| name == key) {
                    Some(text) => found.push(text),
                    None => strings(value, key, found),
                }
            }
        }
        _ => {}
    }
}

fn assert_sound(path: &str, document: &Value, keys: &[&str], at_least: usize) {
    let mut queries = Vec::new();
    keys.iter().for_each(|key| strings(document, key, &mut queries));
    assert!(queries.len() >= at_least, "{path}: {queries:#?}");
    for query in queries {
        let faults = faults(query);
        assert!(faults.is_empty(), "{path}: {query}: {faults:?}");
    }
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let dashboard: Value = serde_json::from_str(&read("deploy/grafana/weir.json")).expect("JSON");
    assert_sound("deploy/grafana/weir.json", &dashboard, &["expr", "definition"], 20);
}

#[test]
fn the_alerts_ask_for_what_there_is() {
    let rules: Value = serde_saphyr::from_str(&read("deploy/prometheus/weir.rules.yml")).expect("YAML");
    assert_sound("deploy/prometheus/weir.rules.yml", &rules, &["expr"], 8);
    let mut names = Vec::new();
    strings(&rules, "alert", &mut names);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "each alert once");
}
