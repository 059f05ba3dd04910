//! `weir confirm-removals`: accept losses that a running instance withholds.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};
use weir_admin::{Upstream, WithheldRemovals};

use super::AdminArgs;
use super::admin::{Admin, query};
use super::output::{Format, colour, show, table};
use crate::output::whether;

/// Accept removals, and assignments without endpoints, that a running instance withholds
///
/// See shrink_guard in docs/availability.md. `weir status` shows what is withheld.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir confirm-removals --dry-run
  weir confirm-removals --type cds

Exits with 1 if there is nothing to confirm.")]
pub(crate) struct Args {
    #[command(flatten)]
    admin: AdminArgs,
    /// Only of this authority; empty for names without one
    #[arg(long)]
    authority: Option<String>,
    /// Only of this type: cds, eds, lds, …, or a type URL
    #[arg(long = "type", short, value_name = "TYPE")]
    type_url: Option<String>,
    /// Only show what would be accepted
    #[arg(long)]
    dry_run: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// Losses of a type, and the upstream stream that withholds them.
#[derive(Serialize)]
struct Row {
    upstream: u64,
    authority: String,
    removals: WithheldRemovals,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    let filters: Vec<_> = args.authority.iter().map(|authority| ("authority", authority.as_str())).collect();
    let is_wanted = |withheld: &WithheldRemovals| {
        let of = |wanted: &String| withheld.short_name == *wanted || withheld.type_url == *wanted;
        args.type_url.as_ref().is_none_or(of)
    };
    let mut found = Vec::new();
    for link in admin.list::<Upstream>("/upstreams", &filters)? {
        let mut withheld = link.withheld;
        withheld.retain(is_wanted);
        if withheld.is_empty() {
            continue;
        }
        if !args.dry_run {
            let query = query(args.type_url.iter().map(|type_url| ("type", type_url.as_str())));
            admin.post::<Value>(&format!("/upstreams/{}/confirm-removals{query}", link.id))?;
        }
        let authority = link.authority;
        let row = |removals| Row { upstream: link.id, authority: authority.clone(), removals };
        found.extend(withheld.into_iter().map(row));
    }
    let document = json!({ "confirmed": !args.dry_run, "removals": found });
    show(args.output, &document, out, |out| write(!args.dry_run, &found, out))?;
    Ok(whether(!found.is_empty()))
}

fn write(confirmed: bool, found: &[Row], out: &mut dyn Write) -> Result<()> {
    if found.is_empty() {
        return Ok(writeln!(out, "no removals are withheld")?);
    }
    let verb = if confirmed { "believed" } else { "withheld" };
    writeln!(out, "{verb}:")?;
    let mut rows = table(["UPSTREAM", "AUTHORITY", "TYPE", "LOSS", "COUNT", "OF", "NAMES"], colour());
    for Row { upstream, authority, removals } in found {
        rows.row([
            upstream.to_string(),
            format!("{authority:?}"),
            removals.short_name.to_string(),
            removals.loss.to_string(),
            removals.removals.to_string(),
            removals.of.to_string(),
            removals.names.join(", "),
        ]);
    }
    Ok(rows.write(out, "")?)
}
