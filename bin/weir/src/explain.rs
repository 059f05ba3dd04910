//! `weir explain`: which variant of a resource a client gets, and why.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use prost::Message;
use weir_config::{Config, NodeRule, Source};
use weir_downstream::{AccessRules, Client, Derived};
use weir_tls::Identity;
use weir_types::{DynamicParameters, TypeUrl, authority};
use weir_upstream::files::explain::{Explanation, Mismatch, explain};
use weir_upstream::files::{self, Loaded, Resource};
use weir_wire::discovery::Node;

use crate::convert;
use crate::inputs::{NodeArgs, Pair, parameters};
use crate::output::MISSING;
use crate::table::Table;

/// Show which variant of a resource a client gets, and why
///
/// For upstreams with files. The client either says its dynamic parameters itself (--param), or gets them from
/// its node by the rules of the configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir explain backend --type cds --config config/quickstart.toml --param env=test
  weir explain backend --type cds --config config/quickstart.toml --node-metadata env=test
  curl -s localhost:9901/config_dump | jq '.configs[0].bootstrap.node' |
    weir explain backend --type cds --config config/quickstart.toml --node-json -

Exits with 2 if no variant matches.")]
pub(crate) struct Args {
    /// The resource's name
    name: String,
    /// The resource's type: cds, eds, lds, rds, srds, vhds, sds, rtds, ecds, leds, or a type URL
    #[arg(long = "type", short, value_name = "TYPE")]
    type_url: TypeUrl,
    /// The configuration file
    #[arg(long, short, value_name = "FILE", env = "WEIR_CONFIG")]
    config: PathBuf,
    /// A dynamic parameter that the client sends; may be repeated
    #[arg(long = "param", short, value_name = "KEY=VALUE")]
    parameters: Vec<Pair>,
    /// A name in the client's certificate, a URI or a DNS name; may be repeated
    #[arg(long = "identity", value_name = "NAME")]
    identity: Vec<String>,
    #[command(flatten)]
    node: NodeArgs,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let config = weir_config::load(&args.config)?;
    let loaded = files::load(files_of(&config, authority(&args.name))?, &Loaded::default())?;
    let parameters = write_parameters(args, &config, out)?;
    let explanation = explain(&loaded, &args.type_url, &args.name, &parameters);
    write_explanation(&explanation, out)?;
    for problem in loaded.problems() {
        writeln!(out, "\nwarning: {problem}")?;
    }
    Ok(if explanation.chosen.is_some() { ExitCode::SUCCESS } else { ExitCode::from(MISSING) })
}

/// Where the resources of an authority are.
fn files_of<'a>(config: &'a Config, authority: &str) -> Result<&'a Path> {
    match config
        .upstreams
        .iter()
        .find(|upstream| upstream.authority == authority)
        .map(|upstream| &upstream.source)
    {
        Some(Source::Files(path)) => Ok(path),
        Some(Source::ControlPlane(_)) => {
            bail!(
                "resources of authority {authority:?} come from a control plane; only files can be explained"
            )
        }
        None => bail!("no upstream has authority {authority:?}"),
    }
}

/// Says where each parameter of the client comes from, and gives them.
fn write_parameters(args: &Args, config: &Config, out: &mut dyn Write) -> Result<DynamicParameters> {
    let node = args.node.node()?;
    let rules = convert::node_rules(config);
    let (uris, dns) = args.identity.iter().cloned().partition(|name| name.contains('/'));
    let identity = Some(Identity::new(uris, dns)).filter(|_| !args.identity.is_empty());
    let identity = identity.as_ref();
    let client = Client::met(Some(&node.encode_to_vec()), identity, &rules, &AccessRules::default())?;
    let sent = parameters(&args.parameters);
    let located = !args.parameters.is_empty();
    let given = if located { sent.with_defaults(&client.locator_defaults) } else { client.parameters };
    writeln!(out, "parameters {given}")?;
    let mut table = Table::default();
    for (key, value) in sent.iter() {
        table.row([format!("{key}={value}"), "sent by the client".to_owned()]);
    }
    let derived = rules.explain(&node, identity);
    for (rule, derived) in config.node_rules.iter().zip(derived) {
        if located && (!(rule.fill_locators || rule.enforce) || sent.get(&rule.key).is_some()) {
            continue;
        }
        table.row(origin(rule, &derived, &node));
    }
    table.write(out, "  ")?;
    Ok(given)
}

/// What a rule gave, and from what.
fn origin(rule: &NodeRule, derived: &Derived, node: &Node) -> [String; 2] {
    let from = &rule.from;
    let said = match (&derived.field, &rule.pattern) {
        (None, _) => format!("{from} is not set{}", whose(node)),
        (Some(field), None) => format!("{from} is {field:?}{}", whose(node)),
        (Some(field), Some(pattern)) => {
            let verdict = if derived.defaulted { "does not match" } else { "matches" };
            format!("{from} is {field:?}{}, which {verdict} {pattern}", whose(node))
        }
    };
    match &derived.value {
        Some(value) if derived.defaulted => [format!("{}={value}", rule.key), format!("the default: {said}")],
        Some(value) => [format!("{}={value}", rule.key), said],
        None => [format!("no {}", rule.key), said],
    }
}

fn whose(node: &Node) -> String {
    if node.id.is_empty() { String::new() } else { format!(" for {}", node.id) }
}

fn write_explanation(explanation: &Explanation<'_>, out: &mut dyn Write) -> Result<()> {
    match explanation.chosen {
        Some(resource) => write_resources("served", [resource], out)?,
        None if explanation.mismatches.is_empty() => {
            writeln!(out, "\nnot found: no file has a resource of this name")?
        }
        None => writeln!(out, "\nnothing is served: no variant matches")?,
    }
    if !explanation.rivals.is_empty() {
        write_resources("also matching, but less preferred", explanation.rivals.iter().copied(), out)?;
    }
    if !explanation.mismatches.is_empty() {
        writeln!(out, "\nnot matching")?;
        let mut table = Table::default();
        for mismatch in &explanation.mismatches {
            table.row([
                constraints(mismatch.resource),
                mismatch.resource.origin.to_string(),
                reason(mismatch),
            ]);
        }
        table.write(out, "  ")?;
    }
    if !explanation.overlaps.is_empty() {
        writeln!(out, "\noverlapping")?;
        for overlap in &explanation.overlaps {
            let [left, right] = overlap.pair.map(|resource| &resource.origin);
            match &overlap.witness {
                Some(witness) => writeln!(out, "  {left} and {right}: both match {witness}")?,
                None => writeln!(
                    out,
                    "  {left} and {right}: constraints too large to tell whether both can match"
                )?,
            }
        }
    }
    Ok(())
}

fn write_resources<'a>(
    title: &str,
    resources: impl IntoIterator<Item = &'a Resource>,
    out: &mut dyn Write,
) -> Result<()> {
    writeln!(out, "\n{title}")?;
    let mut table = Table::default();
    for resource in resources {
        table.row([constraints(resource), resource.origin.to_string()]);
    }
    Ok(table.write(out, "  ")?)
}

/// For whom a variant is.
fn constraints(resource: &Resource) -> String {
    resource.variant.key().constraints.to_string()
}

/// `needs env=test, the client has env=prod`
fn reason(mismatch: &Mismatch<'_>) -> String {
    let given = mismatch.given.iter().map(|(key, value)| match value {
        Some(value) => format!("{key}={value}"),
        None => format!("no {key}"),
    });
    let given: Vec<_> = given.collect();
    let has = if given.is_empty() { String::new() } else { format!(", the client has {}", given.join(", ")) };
    format!("needs {}{has}", mismatch.requirement)
}
