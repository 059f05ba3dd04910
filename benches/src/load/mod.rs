//! The load harness: a control plane, the real server in a process of its own, and a swarm of clients that do
//! as little as they can.
//!
//! The clients and the scenario run on one thread, which turns an epoll loop while it waits; the control plane
//! has another. Nothing of the server runs in this process, so that what the operating system reports about the
//! server's process is the server's alone.

mod bare;
mod collector;
mod control_plane;
mod floor;
mod http2;
mod options;
mod plan;
mod plot;
mod process;
mod report;
mod resources;
mod scenario;
mod scrape;
mod server;
mod sockets;
mod swarm;
mod targets;
mod world;

use anyhow::{Context, Result};

pub(crate) use options::Options;
use options::Scenario;

/// Runs what was asked for, prints the figures and writes them where they are wanted.
#[allow(clippy::print_stdout, reason = "the figures are what the program is for")]
pub(crate) fn run(options: &Options) -> Result<()> {
    match options.scenario {
        Scenario::FloorServer => return floor::serve(options),
        Scenario::BareServer => return bare::serve(options),
        Scenario::Attacker => return scenario::attacks::serve_attacker(options),
        Scenario::Busy => return scenario::attacks::serve_busy(options),
        _ => {}
    }
    let files = process::raise_file_limit();
    eprintln!("{}; {files} files may be open", report::machine());
    let runs = match options.scenario {
        Scenario::Targets => targets::run(options)?,
        _ => {
            let runs = scenario::run(options)?;
            println!("{}", report::table(&runs));
            runs
        }
    };
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&report::json(&runs))?;
        std::fs::write(path, text).with_context(|| format!("write {}", path.display()))?;
    }
    if let Some(path) = &options.plot {
        std::fs::write(path, plot::svg(&runs)).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}
