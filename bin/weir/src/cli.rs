//! The command line.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::operate::{clients, diff, log_level, resources, status};
use crate::output::complain;
use crate::{check, explain, export, get, serve};

/// A caching xDS proxy
///
/// Stands between control planes and their clients: Envoys, gRPC programs, other Weirs. Serves each client the
/// variants of resources that match its dynamic parameters, from files or from a control plane.
#[derive(Debug, Parser)]
#[command(name = "weir", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  weir serve --config config/quickstart.toml
  weir get cds --server 127.0.0.1:18000 --param env=test
  weir check --config config/quickstart.toml

Logs go to standard error; WEIR_LOG=debug shows more of them.";

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
    Check(check::Args),
    Get(get::Args),
    Export(export::Args),
    Explain(explain::Args),
    Status(status::Args),
    Clients(clients::Args),
    Resources(resources::Args),
    Diff(diff::Args),
    LogLevel(log_level::Args),
    /// Print a completion script for a shell
    #[command(
        after_help = "Examples:\n  weir completions bash > /etc/bash_completion.d/weir\n  weir completions zsh > ~/.zfunc/_weir"
    )]
    Completions {
        /// For which shell
        shell: Shell,
    },
}

impl Cli {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.command {
            Command::Serve(args) => serve::run(&args),
            Command::Check(args) => check::run(&args, &mut io::stdout().lock()),
            Command::Get(args) => get::run(&args),
            Command::Export(args) => export::run(&args),
            Command::Explain(args) => explain::run(&args, &mut io::stdout().lock()),
            Command::Status(args) => status::run(&args, &mut io::stdout().lock()),
            Command::Clients(args) => clients::run(&args, &mut io::stdout().lock()),
            Command::Resources(args) => resources::run(&args, &mut io::stdout().lock()),
            Command::Diff(args) => diff::run(&args, &mut io::stdout().lock()),
            Command::LogLevel(args) => log_level::run(&args, &mut io::stdout().lock()),
            Command::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Self::command(), "weir", &mut script);
                io::stdout().write_all(&script)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Shows the help or the version that was asked for, or says in one line what is wrong with the arguments.
pub(crate) fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Where it cannot be written, nobody reads it.
            _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            _ = error.print();
            ExitCode::FAILURE
        }
        _ => {
            complain(&anyhow!(one_line(&error.to_string())));
            ExitCode::FAILURE
        }
    }
}

/// What is wrong and what may have been meant, without the usage.
fn one_line(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let words: Vec<_> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let told: Vec<_> = paragraphs
        .filter(|paragraph| paragraph.starts_with("error: ") || paragraph.starts_with("tip: "))
        .map(|paragraph| paragraph.trim_start_matches("error: ").to_owned())
        .collect();
    told.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arguments_are_one_line() {
        for (arguments, wanted) in [
            (&["weir", "check"][..], "the following required arguments were not provided: --config <FILE>"),
            (
                &["weir", "check", "--confi", "x"],
                "unexpected argument '--confi' found; tip: a similar argument exists: '--config'",
            ),
            (
                &["weir", "explain", "x", "--param", "x"],
                "invalid value 'x' for '--param <KEY=VALUE>': write it like key=value",
            ),
        ] {
            let error = Cli::try_parse_from(arguments).unwrap_err().to_string();
            assert_eq!(one_line(&error), wanted);
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
