//! `weir resources`: what a running instance holds.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;
use weir_admin::Resource;

use super::AdminArgs;
use super::admin::{Admin, decode};
use super::output::{Format, colour, show, table};
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
    // Documents have also what instances of other versions add.
    let resources: Vec<Value> = admin.list("/resources", &filters.collect::<Vec<_>>())?;
    let is_empty = resources.is_empty();
    let resources = Value::Array(resources);
    show(args.output, &resources, out, |out| {
        write_resources(&decode::<Vec<_>>("/resources", resources.clone())?, out)
    })?;
    Ok(whether(!is_empty))
}

fn write_resources(resources: &[Resource], out: &mut dyn Write) -> Result<()> {
    let mut rows = table(["TYPE", "NAME", "VARIANT", "VERSION", "SIZE", "SUBSCRIBERS"], colour());
    for Resource { short_name, name, variants, .. } in resources {
        let (short_name, name) = (short_name.to_string(), name.clone());
        if variants.is_empty() {
            let (nothing, none) = ("(nothing is held)".to_owned(), String::new);
            rows.row([short_name.clone(), name.clone(), nothing, none(), none(), none()]);
        }
        for variant in variants {
            rows.row([
                short_name.clone(),
                name.clone(),
                variant.constraints.clone(),
                variant.version.clone(),
                variant.size.to_string(),
                variant.subscribers.to_string(),
            ]);
        }
    }
    Ok(rows.write(out, "")?)
}
