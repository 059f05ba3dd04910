//! The program `weir`: wiring, signals, the command line.

mod answers;
mod check;
mod cli;
mod convert;
mod explain;
mod export;
mod get;
mod inputs;
mod instance;
mod lifetime;
mod lint;
mod listeners;
mod load_reports;
mod loaded;
mod manual;
mod operate;
mod output;
mod progress;
mod ready;
mod reload;
mod serve;
mod service_manager;
mod subscribe;
mod table;
mod trust;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

/// Gives back what is not needed any more, page by page: see `benches/README.md`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How long the last lines of the log may take to be written: where standard error is not read, they are lost.
const LAST_LINES: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return cli::refuse(&error),
    };
    let outcome = cli.run();
    let read = weir_telemetry::flush(LAST_LINES);
    match outcome {
        Ok(code) => code,
        Err(error) if output::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            if read {
                output::complain(&error);
            }
            ExitCode::from(output::TROUBLE)
        }
    }
}
