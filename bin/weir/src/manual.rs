//! `weir man`: the manual pages, made of the command line itself.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

/// Write the manual pages: weir(1), and one for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir man /usr/local/share/man/man1
  weir man . && man ./weir-get.1")]
pub(crate) struct Args {
    /// The directory to write them to; created if missing
    directory: PathBuf,
}

pub(crate) fn run(args: &Args, command: clap::Command) -> Result<ExitCode> {
    let write = || {
        fs::create_dir_all(&args.directory)?;
        clap_mangen::generate_to(command, &args.directory)
    };
    write().with_context(|| format!("write manual pages to {}", args.directory.display()))?;
    Ok(ExitCode::SUCCESS)
}
