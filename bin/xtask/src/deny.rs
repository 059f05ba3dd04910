//! What Weir may be built from, by the rules of `deny.toml`: cargo-deny, in one version for all, which is built once and
//! kept under `target/tools`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::steps::cargo;

/// The version whose format `deny.toml` has. Packages of other registries are too old to read it.
const VERSION: &str = "0.20.2";

/// Where it is installed, relative to the workspace.
fn folder(root: &Path) -> PathBuf {
    root.join("target/tools").join(format!("cargo-deny-{VERSION}"))
}

/// Checks licences, bans and sources.
pub(crate) fn check(root: &Path) -> Result<()> {
    run(root, &["check", "licenses", "bans", "sources"])
}

/// Fetches the database of known vulnerabilities.
///
/// # Errors
/// Where it cannot be reached, too.
pub(crate) fn fetch_advisories(root: &Path) -> Result<()> {
    run(root, &["fetch", "db"]).context("the database of advisories cannot be reached")
}

/// Checks for known vulnerabilities, in the database that was fetched.
pub(crate) fn check_advisories(root: &Path) -> Result<()> {
    run(root, &["check", "--disable-fetch", "advisories"])
}

fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    let program = install(root)?;
    println!("cargo deny {}", arguments.join(" "));
    let status = Command::new(program).arg("deny").args(arguments).current_dir(root).status();
    match status.context("start cargo-deny")?.success() {
        true => Ok(()),
        false => bail!("cargo deny {} failed", arguments.join(" ")),
    }
}

/// Builds the program, unless it is there. Unoptimised, since building it takes longer than it ever runs.
pub(crate) fn install(root: &Path) -> Result<PathBuf> {
    let folder = folder(root);
    let program = folder.join("bin/cargo-deny");
    if program.is_file() {
        return Ok(program);
    }
    println!("tools: building cargo-deny {VERSION}");
    let build = folder.join("build");
    let status = cargo()
        .args(["install", "cargo-deny", "--quiet", "--locked", "--debug", "--version", VERSION, "--root"])
        .arg(&folder)
        .arg("--target-dir")
        .arg(&build)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .status()
        .context("start cargo install")?;
    if !status.success() {
        bail!("cargo-deny {VERSION} does not build");
    }
    std::fs::remove_dir_all(&build).with_context(|| format!("remove {}", build.display()))?;
    Ok(program)
}
