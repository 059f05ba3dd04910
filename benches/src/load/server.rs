//! The server under test: the real program, in a process of its own, or HTTP/2 alone in its place.

use std::io::{BufRead, BufReader};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::collector::Collector;
use super::control_plane::ControlPlane;
use super::options::Options;
use super::process::{self, Cpu};

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that is measured; killed on drop.
pub(crate) struct Measured(pub(crate) Child);

impl Measured {
    pub(crate) fn cpu(&self) -> Result<Cpu> {
        Cpu::of(self.0.id())
    }

    /// Resident memory, in bytes.
    pub(crate) fn resident(&self) -> Result<u64> {
        process::resident(self.0.id())
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        // It is gone already, or it will be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server of xDS in front of a control plane.
pub(crate) struct Server {
    pub(crate) process: Measured,
    pub(crate) address: SocketAddrV4,
    _directory: TempDir,
}

impl Server {
    /// Starts what is to be measured and waits until it listens.
    pub(crate) fn start(
        options: &Options,
        control_plane: &ControlPlane,
        collector: Option<&Collector>,
    ) -> Result<Self> {
        let directory = tempfile::tempdir().context("make a directory for the configuration")?;
        let mut command = match options.bare {
            true => bare(control_plane)?,
            false => weir(options, &configuration(options, control_plane, collector), directory.path())?,
        };
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("start {:?}", command.get_program()))?;
        let output = child.stderr.take().context("its errors are piped")?;
        let process = Measured(child);
        let address = address(output)?;
        Ok(Self { process, address, _directory: directory })
    }
}

/// HTTP/2 alone: this program again.
fn bare(control_plane: &ControlPlane) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("find this program")?);
    command.args(["bare-server", "--upstream", &control_plane.address().to_string()]);
    Ok(command)
}

/// `weir serve` with a configuration of its own.
fn weir(options: &Options, configuration: &str, directory: &Path) -> Result<Command> {
    let config = directory.join("weir.toml");
    std::fs::write(&config, configuration).context("write the configuration")?;
    let mut command = Command::new(binary(options.weir.as_deref())?);
    command.arg("serve").arg("--config").arg(config);
    // So that what they cost falls within the time that is measured.
    command.env("OTEL_BSP_SCHEDULE_DELAY", "500");
    // The line that tells the port, and what goes wrong.
    command.env("WEIR_LOG", "warn,weir::serve=info");
    Ok(command)
}

fn configuration(options: &Options, control_plane: &ControlPlane, collector: Option<&Collector>) -> String {
    let telemetry = collector.zip(options.sample_ratio).map(|(collector, ratio)| {
        format!("[telemetry]\nendpoint = '{}'\nmetrics = false\nsample_ratio = {ratio:?}\n", collector.uri())
    });
    format!(
        "[node]\nid = 'weir-load'\n\
         [downstream]\nlisten = ['127.0.0.1:0']\n\
         [log]\nformat = 'json'\n\
         [cache]\nmax_frames_size = '{}'\n\
         {}[[upstream]]\nendpoints = ['http://{}']\nprotocol = 'ads-delta'\ndynamic_parameters = 'native'\n",
        options.frame_cache,
        telemetry.unwrap_or_default(),
        control_plane.address()
    )
}

/// Where it listens, by its startup line. What it says later is passed on.
fn address(output: ChildStderr) -> Result<SocketAddrV4> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let json: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            match json["clients"].as_str() {
                // Nobody waits any more once it has been told.
                Some(address) => drop(tell.send(address.to_owned())),
                None => eprintln!("weir: {line}"),
            }
        }
    });
    let address = told.recv_timeout(PATIENCE).context("the server did not say where it listens")?;
    address.parse().with_context(|| format!("{address} is no address"))
}

/// The program to be measured: what the user names, or what cargo has built beside this one.
fn binary(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = named {
        ensure!(path.is_file(), "there is no {}", path.display());
        return Ok(path.to_owned());
    }
    let own = std::env::current_exe().context("find this program")?;
    let profile = own.parent().context("a program is in a directory")?;
    let binary = profile.join("weir");
    // Under `cargo run`, what is measured is what the checkout says.
    if let Some(cargo) = std::env::var_os("CARGO") {
        build(Path::new(&cargo), profile)?;
    }
    if !binary.is_file() {
        bail!(
            "there is no {}; build it (cargo build --release -p weir), or name another with --weir",
            binary.display()
        );
    }
    Ok(binary)
}

fn build(cargo: &Path, profile: &Path) -> Result<()> {
    let target = profile.parent().context("a profile is in the target directory")?;
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "weir", "--target-dir"]).arg(target);
    if profile.ends_with("release") {
        command.arg("--release");
    }
    let status = command.status().context("run cargo")?;
    ensure!(status.success(), "cargo could not build the server");
    Ok(())
}
