//! `weir explain`: which variant of a resource a client gets, and why.

mod files;
mod instance;
mod render;
mod sets;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use weir_types::{Name, TypeUrl};

use crate::inputs::{NodeArgs, Pair, resource_name};
use crate::operate::AdminArgs;
use crate::operate::output::{Format, show};
use crate::output::whether;

/// Show which variant of a resource a client gets, and why
///
/// Of a running instance, or with --config of the files of a configuration. The client is one that is connected
/// (--client), or states its dynamic parameters itself (--param), or has a node, from which the rules of the configuration
/// make them (--node-…, --identity).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir explain backend --type cds --client web-1
  weir explain backend --type cds --param env=test --output json
  weir explain backend --type cds --config config/quickstart.toml --param env=test
  weir explain backend --type cds --config config/quickstart.toml --node-metadata env=test
  curl -s localhost:9901/config_dump | jq '.configs[0].bootstrap.node' |
    weir explain backend --type cds --config config/quickstart.toml --node-json -

Exits with 1 if no variant matches.")]
pub(crate) struct Args {
    /// The resource's name
    #[arg(value_parser = resource_name)]
    name: Name,
    /// The resource's type: cds, eds, lds, rds, srds, vhds, sds, rtds, ecds, leds, or a type URL
    #[arg(long = "type", short, value_name = "TYPE")]
    type_url: TypeUrl,
    /// A client of the running instance: the id of its node, or of one of its streams
    #[arg(long, value_name = "CLIENT", conflicts_with_all = ["parameters", "config"])]
    client: Option<String>,
    /// A dynamic parameter that the client sends; may be repeated
    #[arg(long = "param", short, value_name = "KEY=VALUE")]
    parameters: Vec<Pair>,
    /// Explain the files of this configuration, in place of a running instance
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A name in the client's certificate, a URI or a DNS name; may be repeated
    #[arg(long = "identity", value_name = "NAME", requires = "config")]
    identity: Vec<String>,
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    admin: AdminArgs,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let explanation = match &args.config {
        Some(config) => files::explain(args, config)?,
        None if args.node.is_given() => {
            bail!("a node is for --config: a running instance knows the nodes of its clients (--client)")
        }
        None => instance::explain(args)?,
    };
    show(args.output, &explanation, out, |out| render::write(&explanation, out))?;
    Ok(whether(explanation["outcome"] == "served"))
}
