//! Chores of the workspace, as `cargo xtask`: what a test run needs beyond cargo, and the test run itself.
//! Never part of what is shipped.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

mod conformance;
mod deny;
mod ecosystem;
mod fuzz;
mod steps;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test          set up the tools, then look for the tests that hold each promise, check the format, run clippy,
                all tests and cargo-deny, and fuzz a little
  setup         only set up the tools: Envoy, gRPC in Python, Node.js and Go, control planes in Go and cargo-deny,
                under target/tools, and Chromium where it can be installed by apt
  deny          only check licences, bans and sources of all dependencies, by deny.toml
  fuzz [SECONDS]
                run every fuzz target for so long (60 s), from its corpus in tests/fuzz
  ecosystem [--only NAME]
                play all scenarios with control planes and clients of others, and write what came of them to
                docs/compatibility.md: about 25 minutes; or only those whose name contains NAME; and ask the admin
                interface everything, by schemathesis
  conformance   print every promise of docs/conformance.md with the tests that hold it";

fn main() -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        Some("test") => test(),
        Some("setup") => workspace_root().and_then(|root| set_up(&root)),
        Some("deny") => workspace_root().and_then(|root| deny::check(&root)),
        Some("fuzz") => effort().and_then(|effort| fuzz::run(&workspace_root()?, effort)),
        Some("ecosystem") => only().and_then(|only| ecosystem::run(&workspace_root()?, only.as_deref())),
        Some("conformance") => workspace_root().and_then(|root| conformance::report(&root, true)),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<()> {
    let root = workspace_root()?;
    tools::set_up(&root)?;
    steps::run_all(&root)
}

fn set_up(root: &Path) -> Result<()> {
    tools::set_up(root)?;
    deny::install(root).map(drop)
}

/// How long each fuzz target runs.
fn effort() -> Result<fuzz::Effort> {
    let seconds = match std::env::args().nth(2) {
        Some(text) => text.parse().with_context(|| format!("{text:?} is no number of seconds"))?,
        None => 60,
    };
    Ok(fuzz::Effort::Seconds(seconds))
}

/// The part of the names that `--only` gives.
fn only() -> Result<Option<String>> {
    let mut arguments = std::env::args().skip(2);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => Ok(None),
        (Some("--only"), Some(name)) => Ok(Some(name)),
        _ => bail!("usage: cargo xtask ecosystem [--only NAME]"),
    }
}

fn workspace_root() -> Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).map(Path::to_path_buf).context("find the root of the workspace")
}
