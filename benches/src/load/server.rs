//! The server under test: the real program, in a process of its own, or HTTP/2 alone in its place.

use std::io::{BufRead, BufReader};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
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
    /// Its admin interface, if the configuration has one.
    pub(crate) admin: Option<SocketAddrV4>,
    logged: Arc<AtomicU64>,
    _directory: TempDir,
}

/// What a scenario changes of the server's configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extras {
    /// Tables at the end of the configuration file.
    pub(crate) tables: String,
    /// How long what nobody subscribes to is kept, if not for the default time.
    pub(crate) idle_timeout: Option<&'static str>,
    /// What its upstream has beside endpoints and protocol, if it is not sent dynamic parameters by locators.
    pub(crate) upstream: Option<String>,
    /// Whether the server logs at its default level, and lines are counted instead of shown.
    pub(crate) counts_log: bool,
}

impl Server {
    /// Starts what is to be measured and waits until it listens.
    pub(crate) fn start(
        options: &Options,
        control_plane: &ControlPlane,
        collector: Option<&Collector>,
        extras: &Extras,
    ) -> Result<Self> {
        let directory = tempfile::tempdir().context("make a directory for the configuration")?;
        let mut command = match options.bare {
            true => bare(control_plane)?,
            false => {
                let configuration = configuration(options, control_plane, collector, extras) + &extras.tables;
                weir(options, &configuration, directory.path())?
            }
        };
        if extras.counts_log {
            command.env_remove("WEIR_LOG");
        }
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("start {:?}", command.get_program()))?;
        let output = child.stderr.take().context("its errors are piped")?;
        let process = Measured(child);
        let logged = Arc::<AtomicU64>::default();
        let (address, admin) = addresses(output, Arc::clone(&logged), !extras.counts_log)?;
        Ok(Self { process, address, admin, logged, _directory: directory })
    }

    /// How many bytes it has logged after its startup line.
    pub(crate) fn logged(&self) -> u64 {
        self.logged.load(Ordering::Relaxed)
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
    // The line with the port, and what goes wrong.
    command.env("WEIR_LOG", "warn,weir::serve=info");
    Ok(command)
}

fn configuration(
    options: &Options,
    control_plane: &ControlPlane,
    collector: Option<&Collector>,
    extras: &Extras,
) -> String {
    let idle_timeout = extras.idle_timeout.map(|timeout| format!("idle_timeout = '{timeout}'\n"));
    let telemetry = collector.zip(options.sample_ratio).map(|(collector, ratio)| {
        format!("[telemetry]\nendpoint = '{}'\nmetrics = false\nsample_ratio = {ratio:?}\n", collector.uri())
    });
    let upstream = extras.upstream.as_deref().unwrap_or("dynamic_parameters = 'native'\n");
    format!(
        "[node]\nid = 'weir-load'\n\
         [downstream]\nlisten = ['127.0.0.1:0']\n\
         [log]\nformat = 'json'\n\
         [cache]\nmax_frames_size = '{}'\n{}\
         {}[[upstream]]\nendpoints = ['http://{}']\nprotocol = 'ads-delta'\n{upstream}",
        options.frame_cache,
        idle_timeout.unwrap_or_default(),
        telemetry.unwrap_or_default(),
        control_plane.address()
    )
}

/// Where it listens for clients and for operators, by its startup line. Later lines are counted, and shown if `shows`.
fn addresses(
    output: ChildStderr,
    logged: Arc<AtomicU64>,
    shows: bool,
) -> Result<(SocketAddrV4, Option<SocketAddrV4>)> {
    let (found, startup) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Only the startup line is worth parsing.
            let json = line.contains("\"clients\"").then(|| serde_json::from_str::<serde_json::Value>(&line));
            match json.and_then(Result::ok).filter(|json| json["clients"].is_string()) {
                // The receiver is gone once it has the addresses.
                Some(json) => drop(found.send(json)),
                None => {
                    logged.fetch_add(line.len() as u64 + 1, Ordering::Relaxed);
                    if shows {
                        eprintln!("weir: {line}");
                    }
                }
            }
        }
    });
    let startup = startup.recv_timeout(PATIENCE).context("the server logged no startup line")?;
    let clients = startup["clients"].as_str().unwrap_or_default();
    let clients = clients.parse().with_context(|| format!("{clients} is no address"))?;
    Ok((clients, startup["admin"].as_str().and_then(|admin| admin.parse().ok())))
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
    // Under `cargo run`, what is measured is the checkout.
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
