//! Weir between control planes and clients that others made, in all combinations that `tests/tests/others` has. Each test
//! leaves a row of the table in `docs/compatibility.md`. And the admin interface, asked by a tool that others made.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{steps, tools};

/// The page with the table, relative to the workspace.
const PAGE: &str = "docs/compatibility.md";
/// Where tests leave rows, relative to the workspace.
const ROWS: &str = "target/ecosystem";
/// What the rows stand between.
const BEGIN: &str = "<!-- rows of cargo xtask ecosystem -->\n";
const END: &str = "<!-- end -->";

/// Runs the tests whose names contain `only`, and writes their rows to the page. Rows of others stay.
pub(crate) fn run(root: &Path, only: Option<&str>) -> Result<()> {
    tools::set_up(root)?;
    tools::set_up_oldest_envoy(root)?;
    tools::set_up_schemathesis(root)?;
    if let Some(obstacle) = tools::go::missing() {
        bail!("{obstacle}");
    }
    let names = names(root, only)?;
    let plays =
        |program: &str| names.iter().any(|name| name.split("::").any(|part| part.starts_with(program)));
    tools::go::set_up_programs(root, |module| plays(&module.replace('-', "_")))?;
    if plays("java") {
        tools::java::set_up(root)?;
    }
    let rows = root.join(ROWS);
    if rows.exists() {
        fs::remove_dir_all(&rows).with_context(|| format!("remove {ROWS}"))?;
    }
    fs::create_dir_all(&rows).with_context(|| format!("create {ROWS}"))?;
    let mut cargo = tests(root, only);
    let status =
        cargo.arg("--nocapture").env("WEIR_ECOSYSTEM", &rows).status().context("start cargo test")?;
    let mut new = BTreeMap::new();
    for entry in fs::read_dir(&rows).with_context(|| format!("read {ROWS}"))? {
        let text = fs::read_to_string(entry?.path()).with_context(|| format!("read a row of {ROWS}"))?;
        new.extend(by_name(&text));
    }
    let page = fs::read_to_string(root.join(PAGE)).with_context(|| format!("read {PAGE}"))?;
    let page = merge(&page, new).with_context(|| format!("{PAGE}: no {BEGIN:?} before {END:?}"))?;
    fs::write(root.join(PAGE), page).with_context(|| format!("write {PAGE}"))?;
    if !status.success() {
        bail!("not every combination passed: see {PAGE}");
    }
    Ok(())
}

/// The names of the tests that are to run.
fn names(root: &Path, only: Option<&str>) -> Result<Vec<String>> {
    let output =
        tests(root, only).arg("--list").stderr(Stdio::inherit()).output().context("start cargo test")?;
    if !output.status.success() {
        bail!("cargo test lists nothing");
    }
    let list = String::from_utf8(output.stdout).context("the list of tests")?;
    Ok(list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// The command that runs the tests, for further arguments.
fn tests(root: &Path, only: Option<&str>) -> Command {
    let mut cargo = steps::cargo();
    cargo.args([
        "test",
        "--package",
        "weir-tests",
        "--no-fail-fast",
        "--test",
        "others",
        "--test",
        "schemathesis",
    ]);
    cargo.args(only);
    cargo.args(["--", "--include-ignored"]).current_dir(root);
    cargo
}

/// The page with rows replaced and added; none if it has no place for them.
fn merge(page: &str, new: BTreeMap<String, String>) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (rows, after) = rest.split_once(END)?;
    let (head, rows) = rows.split_at(rows.match_indices('\n').nth(1)?.0 + 1);
    let mut all = by_name(rows);
    all.extend(new);
    let rows: String = all.into_values().collect();
    Some(format!("{before}{BEGIN}{head}{rows}{END}{after}"))
}

/// Rows by their first column.
fn by_name(rows: &str) -> BTreeMap<String, String> {
    let rows = rows.lines().filter(|line| line.starts_with("| "));
    rows.map(|row| (row.split(" | ").next().unwrap_or(row).to_owned(), format!("{row}\n"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_replace_those_of_their_names() {
        let page = format!("a\n{BEGIN}| x | y |\n|---|---|\n| 1 | old |\n| 3 | old |\n{END}\nb\n");
        let merged = merge(&page, by_name("| 1 | new |\n| 2 | new |\n")).unwrap();
        let rows = "| 1 | new |\n| 2 | new |\n| 3 | old |\n";
        assert_eq!(merged, format!("a\n{BEGIN}| x | y |\n|---|---|\n{rows}{END}\nb\n"));
        assert_eq!(merge("nothing", BTreeMap::new()), None);
    }
}
