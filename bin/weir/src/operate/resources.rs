//! `weir resources`: what a running instance holds.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use weir_admin::Resource;

use super::AdminArgs;
use super::admin::Admin;
use super::output::{Format, colour, show_items, table};

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
    show_items(args.output, ("/resources", resources), out, write_resources)
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
