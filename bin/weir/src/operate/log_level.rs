//! `weir log-level`: how much a running instance logs.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use weir_admin::LogLevel;

use super::AdminArgs;
use super::admin::Admin;
use super::output::{Format, show};

/// Show or change the log level of a running instance
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir log-level
  weir log-level debug
  weir log-level info,weir_upstream=debug
  weir log-level --reset

A change lasts until the next one, or until the instance ends.")]
pub(crate) struct Args {
    #[command(flatten)]
    admin: AdminArgs,
    /// error, warn, info, debug, trace, off, or directives
    level: Option<String>,
    /// Return to the configured level
    #[arg(long, conflicts_with = "level")]
    reset: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    let level: LogLevel = match (&args.level, args.reset) {
        (None, false) => admin.get("/log-level")?,
        (level, _) => admin.put("/log-level", &json!({ "level": level }))?,
    };
    show(args.output, &json!(level), out, |out| {
        Ok(writeln!(out, "{} (chosen by: {})", level.level, level.chosen_by)?)
    })?;
    Ok(ExitCode::SUCCESS)
}
