//! The checks of a test run, one after another: a failing one does not hide the others.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{conformance, deny, fuzz, tools};

/// How many inputs each fuzz target gets: less than a minute for all of them.
const INPUTS: u32 = 10_000;

struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    /// A subcommand that is not cargo's own but is needed, and the component of the toolchain that has it.
    component: Option<(&'static str, &'static str)>,
    /// Whether clippy compiles the workspace: then what it has compiled is what the tests run.
    linted: bool,
}

/// What cargo calls instead of rustc for the crates of the workspace in a linted step: it lints what it compiles.
const LINTER: &str = "clippy-driver";

const STEPS: [Step; 3] = [
    Step {
        name: "format",
        arguments: &["fmt", "--all", "--check"],
        component: Some(("fmt", "rustfmt")),
        linted: false,
    },
    Step {
        name: "clippy",
        arguments: &["build", "--workspace", "--all-targets"],
        component: Some(("clippy", "clippy")),
        linted: true,
    },
    Step {
        name: "tests",
        arguments: &["test", "--workspace", "--no-fail-fast"],
        component: None,
        linted: true,
    },
];

enum Outcome {
    Passed(Duration),
    Failed(Duration),
    /// Why.
    Skipped(String),
}

/// Runs every step, prints what came of each, and fails if one did.
pub(crate) fn run_all(root: &Path) -> Result<()> {
    let mut outcomes = vec![("promises", call("promises", || conformance::report(root, false)))];
    let mut passes_clippy = true;
    for step in &STEPS {
        let linted = step.linted && passes_clippy;
        let outcome = call(step.name, || run(step, root, linted));
        // The tests of code that clippy rejects run all the same: without it.
        passes_clippy &= !linted || matches!(outcome, Outcome::Passed(_));
        outcomes.push((step.name, outcome));
    }
    outcomes.push(("deny", call("deny", || deny::check(root))));
    let advisories = match deny::fetch_advisories(root) {
        Ok(()) => call("advisories", || deny::check_advisories(root)),
        Err(error) => Outcome::Skipped(format!("{error:#}")),
    };
    outcomes.push(("advisories", advisories));
    let fuzzed = match fuzz::obstacle() {
        Some(obstacle) => Outcome::Skipped(obstacle),
        None => call("fuzz", || fuzz::run(root, fuzz::Effort::Inputs(INPUTS))),
    };
    outcomes.push(("fuzz", fuzzed));
    if let Some(obstacle) = tools::no_browser() {
        outcomes.push(("page", Outcome::Skipped(obstacle)));
    }
    if let Some(obstacle) = tools::go::missing() {
        outcomes.push(("others", Outcome::Skipped(obstacle)));
    }
    println!();
    for (name, outcome) in &outcomes {
        match outcome {
            Outcome::Passed(took) => println!("{name:10} ok, {} s", took.as_secs()),
            Outcome::Failed(took) => println!("{name:10} FAILED, {} s", took.as_secs()),
            Outcome::Skipped(reason) => println!("{name:10} skipped: {reason}"),
        }
    }
    if outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failed(_))) {
        bail!("a check failed");
    }
    Ok(())
}

fn run(step: &Step, root: &Path, linted: bool) -> Result<()> {
    if let Some((subcommand, component)) = step.component
        && !is_installed(subcommand)
    {
        bail!(
            "the toolchain lacks its component {component}: install it by rustup component add {component}"
        );
    }
    println!("cargo {}", step.arguments.join(" "));
    let mut cargo = cargo();
    cargo.args(step.arguments).current_dir(root).env("WEIR_BIN", program(root));
    if linted {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", LINTER).env("CLIPPY_ARGS", "-Dwarnings");
    }
    let command = step.arguments[0];
    match cargo.status().with_context(|| format!("start cargo {command}"))?.success() {
        true => Ok(()),
        false => bail!("cargo {command} failed"),
    }
}

/// Runs a step, and prints why it failed.
fn call(name: &str, step: impl FnOnce() -> Result<()>) -> Outcome {
    println!("\n== {name}");
    let started = Instant::now();
    let result = step();
    let took = started.elapsed();
    match result {
        Ok(()) => Outcome::Passed(took),
        Err(error) => {
            println!("{error:#}");
            Outcome::Failed(took)
        }
    }
}

fn is_installed(subcommand: &str) -> bool {
    let status = cargo().args([subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The program as `cargo test --workspace` builds it, so that no test has to build it once more.
fn program(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    root.join(target).join("debug/weir")
}

/// The cargo that runs us, so that one toolchain is used throughout. Without what it has set for us alone: build scripts
/// that read such variables, as that of ring, would run again after each change between `cargo` and `cargo xtask`.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_component_is_named_with_what_installs_it() {
        let component = Some(("no-such-subcommand", "rustfmt"));
        let step = Step { name: "format", arguments: &["fmt"], component, linted: false };
        let error = run(&step, Path::new("."), false).unwrap_err().to_string();
        assert!(
            error.contains("lacks its component rustfmt: install it by rustup component add rustfmt"),
            "{error}"
        );
    }
}
