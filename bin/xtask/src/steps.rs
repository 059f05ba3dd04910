//! The checks of a test run, one after another: a failing one does not hide the others.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{conformance, fuzz, tools};

/// How many inputs each fuzz target gets: less than a minute for all of them.
const INPUTS: u32 = 10_000;

struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    /// What installs the subcommand without which the step is skipped.
    install: Option<&'static str>,
}

const STEPS: [Step; 4] = [
    Step {
        name: "format",
        arguments: &["fmt", "--all", "--check"],
        install: Some("rustup component add rustfmt"),
    },
    Step {
        name: "clippy",
        arguments: &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        install: Some("rustup component add clippy"),
    },
    Step {
        name: "deny",
        arguments: &["deny", "check", "licenses", "bans", "sources"],
        install: Some("cargo install cargo-deny --locked"),
    },
    Step { name: "tests", arguments: &["test", "--workspace", "--no-fail-fast"], install: None },
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
    for step in &STEPS {
        outcomes.push((step.name, run(step, root)?));
    }
    outcomes.push(("advisories", advisories(root)?));
    let fuzzed = match fuzz::obstacle() {
        Some(obstacle) => Outcome::Skipped(obstacle),
        None => call("fuzz", || fuzz::run(root, fuzz::Effort::Inputs(INPUTS))),
    };
    outcomes.push(("fuzz", fuzzed));
    if let Some(obstacle) = tools::no_browser() {
        outcomes.push(("page", Outcome::Skipped(obstacle)));
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

fn run(step: &Step, root: &Path) -> Result<Outcome> {
    if let Some(install) = step.install
        && !is_installed(step.arguments[0])
    {
        return Ok(Outcome::Skipped(format!("not installed ({install})")));
    }
    println!("\n== {}: cargo {}", step.name, step.arguments.join(" "));
    let started = Instant::now();
    let status = Command::new(cargo())
        .args(step.arguments)
        .current_dir(root)
        .env("WEIR_BIN", program(root))
        .status()
        .with_context(|| format!("start cargo {}", step.arguments[0]))?;
    let took = started.elapsed();
    Ok(if status.success() { Outcome::Passed(took) } else { Outcome::Failed(took) })
}

/// What is known to be wrong with what Weir is built from, where that can be asked.
fn advisories(root: &Path) -> Result<Outcome> {
    const STEP: Step = Step {
        name: "advisories",
        arguments: &["deny", "check", "advisories"],
        install: Some("cargo install cargo-deny --locked"),
    };
    if !is_installed("deny") {
        return run(&STEP, root);
    }
    println!("\n== advisories: cargo deny fetch db");
    let fetched = Command::new(cargo()).args(["deny", "fetch", "db"]).current_dir(root).status();
    match fetched.context("start cargo deny")?.success() {
        true => run(&STEP, root),
        false => Ok(Outcome::Skipped("the database of advisories cannot be reached".to_owned())),
    }
}

/// A step of our own.
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
    let status = Command::new(cargo())
        .args([subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// The program as `cargo test --workspace` builds it, so that no test has to build it once more.
fn program(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    root.join(target).join("debug/weir")
}

/// The cargo that runs us, so that one toolchain is used throughout.
fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
