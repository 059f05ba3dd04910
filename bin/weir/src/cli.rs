//! The command line.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::operate::{clients, confirm_removals, diff, drain, log_level, resources, status, trace_change};
use crate::output::{TROUBLE, complain};
use crate::{check, explain, export, get, lint, manual, serve};

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
    Lint(lint::Args),
    Status(status::Args),
    Clients(clients::Args),
    Resources(resources::Args),
    Diff(diff::Args),
    TraceChange(trace_change::Args),
    ConfirmRemovals(confirm_removals::Args),
    Drain(drain::Args),
    LogLevel(log_level::Args),
    Man(manual::Args),
    /// Print a completion script for a shell
    #[command(
        after_help = "Examples:\n  weir completions bash > /etc/bash_completion.d/weir\n  weir completions zsh > ~/.zfunc/_weir"
    )]
    Completions {
        /// The shell
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
            Command::Lint(args) => lint::run(&args, &mut io::stdout().lock()),
            Command::Status(args) => status::run(&args, &mut io::stdout().lock()),
            Command::Clients(args) => clients::run(&args, &mut io::stdout().lock()),
            Command::Resources(args) => resources::run(&args, &mut io::stdout().lock()),
            Command::Diff(args) => diff::run(&args, &mut io::stdout().lock()),
            Command::TraceChange(args) => trace_change::run(&args, &mut io::stdout().lock()),
            Command::ConfirmRemovals(args) => confirm_removals::run(&args, &mut io::stdout().lock()),
            Command::Drain(args) => drain::run(&args, &mut io::stdout().lock()),
            Command::LogLevel(args) => log_level::run(&args, &mut io::stdout().lock()),
            Command::Man(args) => manual::run(&args, Self::command()),
            Command::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Self::command(), "weir", &mut script);
                io::stdout().write_all(&script)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Shows the help or the version that was asked for, or prints one line about what is wrong with the arguments.
pub(crate) fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Where it cannot be written, nobody reads it.
            _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            _ = error.print();
            ExitCode::from(TROUBLE)
        }
        _ => {
            complain(&anyhow!(one_line(&error.to_string())));
            ExitCode::from(TROUBLE)
        }
    }
}

/// What is wrong and what may have been meant, without the usage.
fn one_line(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let words: Vec<_> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let lines: Vec<_> = paragraphs
        .filter(|paragraph| paragraph.starts_with("error: ") || paragraph.starts_with("tip: "))
        .map(|paragraph| paragraph.trim_start_matches("error: ").to_owned())
        .collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Args;

    use super::*;
    use crate::inputs::NodeArgs;
    use crate::operate::AdminArgs;

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
            (
                &["weir", "get", "clsuters", "--server", "x:1"],
                "invalid value 'clsuters' for '<TYPE>': did you mean cds? allowed are cds, eds, lds, rds, srds, vhds, \
                 sds, rtds, ecds, leds, or a type URL like type.googleapis.com/envoy.config.cluster.v3.Cluster",
            ),
        ] {
            let error = Cli::try_parse_from(arguments).unwrap_err().to_string();
            assert_eq!(one_line(&error), wanted);
        }
    }

    /// What begins with two dashes in a text.
    fn flags(text: &str) -> BTreeSet<String> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let flags = words
            .filter(|word| word.strip_prefix("--").is_some_and(|name| name.starts_with(char::is_alphabetic)));
        flags.map(str::to_owned).collect()
    }

    fn longs(command: &clap::Command) -> BTreeSet<String> {
        let longs = command.get_arguments().filter_map(|argument| argument.get_long());
        longs.filter(|long| !["help", "version"].contains(long)).map(|long| format!("--{long}")).collect()
    }

    #[test]
    fn every_command_and_flag_is_documented_and_no_other() {
        let page = include_str!("../../../docs/command-line.md");
        let (shared, _) = page.split_once("## `weir ").unwrap_or_default();
        let of_several = NodeArgs::augment_args(AdminArgs::augment_args(clap::Command::new("several")));
        let of_several = longs(&of_several);
        assert!(flags(shared).is_superset(&of_several), "{of_several:?}");
        let mut command = Cli::command();
        command.build();
        let mut documented: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("## `weir ")).collect();
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = command.get_name();
            documented.retain(|other| other.trim_end_matches('`') != name);
            let heading = format!("## `weir {name}`\n");
            let (_, section) =
                page.split_once(&heading).unwrap_or_else(|| panic!("weir {name} has no section"));
            let section = section.split("\n## ").next().unwrap_or_default();
            let own: BTreeSet<_> = longs(command).difference(&of_several).cloned().collect();
            assert_eq!(flags(section), own, "weir {name}");
            for place in command.get_positionals() {
                let value = place.get_value_names().map(|names| names[0].to_string()).unwrap_or_default();
                assert!(section.contains(&value), "weir {name}: {value}");
            }
        }
        assert!(documented.is_empty(), "there are no such commands: {documented:?}");
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
