//! Control planes and clients in Go: the modules under `tests/go`, built into `target/tools/go`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{TOOLS, is_there, run};

/// Where the modules are, relative to the workspace: a folder each, with `go.mod` and `go.sum`.
const MODULES: &str = "tests/go";

/// Builds a program of each module. Go finds out by itself which of them are up to date.
pub(super) fn set_up(root: &Path) -> Result<()> {
    if let Some(obstacle) = missing() {
        if std::env::var_os("CI").is_some() {
            bail!("the tests with control planes and clients in Go: {obstacle}");
        }
        println!("tools: no programs in Go: {obstacle}");
        return Ok(());
    }
    let programs = root.join(TOOLS).join("go");
    fs::create_dir_all(&programs).with_context(|| format!("create {}", programs.display()))?;
    for module in modules(root)? {
        let name = module.file_name().context("a path of a folder")?;
        println!("tools: building {}", module.display());
        run(Command::new("go")
            .args(["build", "-o"])
            .arg(programs.join(name))
            .arg(".")
            .env("CGO_ENABLED", "0")
            .current_dir(&module))
        .with_context(|| format!("build {}", module.display()))?;
    }
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
