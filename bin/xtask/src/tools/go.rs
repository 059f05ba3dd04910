//! Control planes and clients in Go: the modules under `tests/go`, built into `target/tools/go`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{TOOLS, is_there, run};

/// Where the modules are, relative to the workspace: a folder each, with `go.mod` and `go.sum`.
const MODULES: &str = "tests/go";

/// Control planes that are programs of others, with the package to build, a tool of the module: they take minutes, so that
/// only `cargo xtask ecosystem` builds them.
const PROGRAMS: [(&str, &str); 2] = [
    ("envoy-gateway", "github.com/envoyproxy/gateway/cmd/envoy-gateway"),
    ("istiod", "istio.io/istio/pilot/cmd/pilot-discovery"),
];

/// Builds a program of each module, but those of [`PROGRAMS`]. Go finds out by itself which of them are up to date.
pub(super) fn set_up(root: &Path) -> Result<()> {
    if let Some(obstacle) = missing() {
        if std::env::var_os("CI").is_some() {
            bail!("the tests with control planes and clients in Go: {obstacle}");
        }
        println!("tools: no programs in Go: {obstacle}");
        return Ok(());
    }
    for module in modules(root)? {
        let name = module.file_name().and_then(|name| name.to_str()).context("a path of a folder")?;
        if PROGRAMS.iter().all(|(program, _)| *program != name) {
            build(root, name, ".")?;
        }
    }
    Ok(())
}

/// Builds those of [`PROGRAMS`] that `is_needed` names.
pub(crate) fn set_up_programs(root: &Path, is_needed: impl Fn(&str) -> bool) -> Result<()> {
    let mut needed = PROGRAMS.iter().filter(|(module, _)| is_needed(module));
    needed.try_for_each(|(module, package)| build(root, module, package))
}

fn build(root: &Path, module: &str, package: &str) -> Result<()> {
    let programs = root.join(TOOLS).join("go");
    fs::create_dir_all(&programs).with_context(|| format!("create {}", programs.display()))?;
    println!("tools: building {MODULES}/{module}");
    run(Command::new("go")
        .args(["build", "-o"])
        .arg(programs.join(module))
        .arg(package)
        .env("CGO_ENABLED", "0")
        .current_dir(root.join(MODULES).join(module)))
    .with_context(|| format!("build {MODULES}/{module}"))?;
    Ok(())
}

/// Why there are no programs in Go here, if so.
pub(crate) fn missing() -> Option<String> {
    (!is_there("go")).then(|| "Go is not installed (https://go.dev/dl)".to_owned())
}

fn modules(root: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(root.join(MODULES)).with_context(|| format!("read {MODULES}"))?;
    let mut modules = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    modules.retain(|path| path.join("go.mod").is_file());
    modules.sort();
    Ok(modules)
}
