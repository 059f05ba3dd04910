//! `weir confirm-removals`: believe removals that a running instance withholds.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::AdminArgs;
use super::admin::{Admin, query};
use super::output::{Format, colour, list, show, table, text};
use crate::output::whether;

/// Accept removals that a running instance withholds
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

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    let filters: Vec<_> = args.authority.iter().map(|authority| ("authority", authority.as_str())).collect();
    let is_wanted = |withheld: &&Value| {
        let of = |wanted: &String| withheld["type"] == **wanted || withheld["type_url"] == **wanted;
        args.type_url.as_ref().is_none_or(of)
    };
    let mut found = Vec::new();
    for link in admin.list("/upstreams", &filters)? {
        let withheld: Vec<_> = list(&link["withheld"]).iter().filter(is_wanted).cloned().collect();
        if withheld.is_empty() {
            continue;
        }
        if !args.dry_run {
            let query = query(args.type_url.iter().map(|type_url| ("type", type_url.as_str())));
            admin.post(&format!("/upstreams/{}/confirm-removals{query}", text(&link["id"])))?;
        }
        let row = |withheld: Value| json!({ "upstream": link["id"], "authority": link["authority"], "removals": withheld });
        found.extend(withheld.into_iter().map(row));
    }
    let good = !found.is_empty();
    let document = json!({ "confirmed": !args.dry_run, "removals": found });
    show(args.output, &document, out, |out| write(&document, out))?;
    Ok(whether(good))
}

fn write(document: &Value, out: &mut dyn Write) -> Result<()> {
    let removals = list(&document["removals"]);
    if removals.is_empty() {
        return Ok(writeln!(out, "no removals are withheld")?);
    }
    let verb = if document["confirmed"] == true { "believed" } else { "withheld" };
    writeln!(out, "{verb}:")?;
    let mut rows = table(["UPSTREAM", "AUTHORITY", "TYPE", "REMOVALS", "OF", "NAMES"], colour());
    for row in removals {
        let withheld = &row["removals"];
        let names: Vec<_> = list(&withheld["names"]).iter().map(text).collect();
        let fields =
            [&row["upstream"], &row["authority"], &withheld["type"], &withheld["removals"], &withheld["of"]];
        let [upstream, authority, type_url, removals, of] = fields.map(text);
        rows.row([upstream, format!("{authority:?}"), type_url, removals, of, names.join(", ")]);
    }
    Ok(rows.write(out, "")?)
}
