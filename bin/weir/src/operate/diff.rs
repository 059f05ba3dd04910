//! `weir diff`: what two clients have that is not the same, or a client and the control plane.

mod clients;
mod upstream;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};

use super::AdminArgs;
use super::admin::Admin;
use super::output::{Format, show};
use crate::output::whether;

/// Compare the configuration of two clients, or of a client and its control plane
///
/// With --upstream, asks the control plane for everything that the client is subscribed to: with the settings
/// and the node of the instance, from its configuration, and with the dynamic parameters of the client.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir diff web-1 web-2
  weir diff 17 42 --output json
  weir diff web-1 --upstream --config config/control-plane.toml

Exits with 0 if there is no difference, with 1 if there is one or, with --upstream, the client rejects what it was sent, and
with 2 if somebody cannot be asked.")]
pub(crate) struct Args {
    #[command(flatten)]
    admin: AdminArgs,
    /// A client: the id of its node, or of one of its streams
    #[arg(value_name = "CLIENT_A")]
    left: String,
    /// The other one
    #[arg(value_name = "CLIENT_B", required_unless_present = "upstream", conflicts_with = "upstream")]
    right: Option<String>,
    /// Compare with what the control plane sends now, or with what the files hold
    #[arg(long)]
    upstream: bool,
    /// The configuration of the instance, for --upstream
    #[arg(long, short, value_name = "FILE", env = "WEIR_CONFIG")]
    config: Option<PathBuf>,
    /// How long to wait for the answers of the control plane
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = weir_config::parse_duration)]
    timeout: Duration,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    if let Some(right) = &args.right {
        let compared = clients::compare(&admin, &args.left, right)?;
        show(args.output, &compared.document, out, |out| compared.write(out))?;
        return Ok(whether(compared.is_same()));
    }
    let Some(config) = &args.config else {
        bail!(
            "--upstream needs --config: how control planes are asked stands in the configuration of the instance"
        );
    };
    let compared = upstream::compare(&admin, &args.left, config, args.timeout)?;
    show(args.output, &compared.document, out, |out| compared.write(out))?;
    Ok(whether(compared.is_same()))
}
