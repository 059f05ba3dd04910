//! `weir resources`: what a running instance holds.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;

use super::AdminArgs;
use super::admin::Admin;
use super::output::{Format, colour, show, table, text};
use crate::output::whether;

/// List the resources of a running instance, with their variants
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir resources
  weir resources --type cds --prefix back
  weir resources --type eds --output yaml

Exits with 1 if there are none.")]
pub(crate) struct Args {
    #[command(flatten)]
    admin: AdminArgs,
    /// Only of this type: cds, eds, lds, …, or a type URL
    #[arg(long = "type", short, value_name = "TYPE")]
    type_url: Option<String>,
    /// Only names that begin with this
    #[arg(long)]
    prefix: Option<String>,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    let filters = [("type", &args.type_url), ("prefix", &args.prefix)];
    let filters = filters.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
    let resources = admin.list("/resources", &filters.collect::<Vec<_>>())?;
    let none = resources.is_empty();
    let resources = Value::Array(resources);
    show(args.output, &resources, out, |out| write_resources(&resources, out))?;
    Ok(whether(!none))
}

fn write_resources(resources: &Value, out: &mut dyn Write) -> Result<()> {
    let mut rows = table(["TYPE", "NAME", "VARIANT", "VERSION", "SIZE", "SUBSCRIBERS"], colour());
    for resource in resources.as_array().into_iter().flatten() {
        let [type_url, name] = [&resource["type"], &resource["name"]].map(text);
        let variants = resource["variants"].as_array().map(Vec::as_slice).unwrap_or_default();
        if variants.is_empty() {
            let nothing = "(nothing is held)".to_owned();
            rows.row([type_url.clone(), name.clone(), nothing, String::new(), String::new(), String::new()]);
        }
        for variant in variants {
            let fields =
                [&variant["constraints"], &variant["version"], &variant["size"], &variant["subscribers"]];
            let [constraints, version, size, subscribers] = fields.map(text);
            rows.row([type_url.clone(), name.clone(), constraints, version, size, subscribers]);
        }
    }
    Ok(rows.write(out, "")?)
}
