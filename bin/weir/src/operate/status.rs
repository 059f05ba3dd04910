//! `weir status`: whether an instance is healthy, and who is behind.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::AdminArgs;
use super::admin::Admin;
use super::output::{Format, age, colour, list, show, table, text};
use crate::output::whether;

/// How often it is looked at while it is watched.
const EACH: Duration = Duration::from_secs(2);

/// Clears the terminal.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Show whether a running instance is healthy: upstreams, and how many clients are in sync, behind or rejecting
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir status
  weir status --admin http://10.0.0.1:19000 --watch
  weir status --output json | jq .ready

Exits with 0 if the instance is ready and no client rejects what it was sent, with 1 if not, and with 2 if it cannot be
asked.")]
pub(crate) struct Args {
    #[command(flatten)]
    admin: AdminArgs,
    /// Show it again every 2 seconds, until interrupted
    #[arg(long, short)]
    watch: bool,
    /// How to show it
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    let painted = colour();
    loop {
        let status = gather(&admin)?;
        if args.watch && painted && args.output == Format::Table {
            write!(out, "{CLEAR}")?;
        }
        show(args.output, &status, out, |out| write_status(&status, painted, out))?;
        if !args.watch {
            let rejecting = status["clients"]["rejecting"].as_u64().unwrap_or_default();
            return Ok(whether(status["ready"] == true && rejecting == 0));
        }
        out.flush()?;
        pause();
    }
}

/// Waits until it is time to look again.
#[expect(clippy::disallowed_methods, reason = "who watches wants to see it every so often")]
fn pause() {
    thread::sleep(EACH);
}

fn gather(admin: &Admin) -> Result<Value> {
    let ready = admin.get("/ready")?;
    let upstreams = admin.list("/upstreams", &[])?;
    let clients = admin.list("/clients", &[])?;
    let mut by_type: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let mut versions: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    let mut states: BTreeMap<String, u64> = STATES.map(|state| (state.to_owned(), 0)).into();
    for client in &clients {
        *states.entry(text(&client["state"])).or_default() += 1;
        for of_type in client["types"].as_array().into_iter().flatten() {
            let name = text(&of_type["type"]);
            *by_type.entry(name.clone()).or_default().entry(text(&of_type["state"])).or_default() += 1;
            if let Some(version) = of_type["accepted"]["version"].as_str() {
                *versions.entry(name).or_default().entry(version.to_owned()).or_default() += 1;
            }
        }
    }
    Ok(json!({
        "ready": ready["ready"], "pending": ready["pending"], "upstreams": upstreams,
        "clients": states, "types": by_type, "versions": versions,
    }))
}

const STATES: [&str; 3] = ["in-sync", "behind", "rejecting"];

/// What all upstreams have in a list of theirs.
fn upstream_lists<'a>(status: &'a Value, key: &'a str) -> impl Iterator<Item = &'a Value> {
    list(&status["upstreams"]).iter().flat_map(move |upstream| list(&upstream[key]))
}

fn write_status(status: &Value, painted: bool, out: &mut dyn Write) -> Result<()> {
    if status["ready"] == true {
        writeln!(out, "ready")?;
    } else {
        writeln!(out, "not ready")?;
        for pending in status["pending"].as_array().into_iter().flatten() {
            writeln!(out, "  {}", text(pending))?;
        }
    }
    writeln!(out)?;
    let mut upstreams = table(["AUTHORITY", "STATE", "ENDPOINT", "SINCE", "LAST ERROR"], painted);
    for upstream in status["upstreams"].as_array().into_iter().flatten() {
        upstreams.row([
            format!("{:?}", text(&upstream["authority"])),
            text(&upstream["state"]),
            text(&upstream["endpoint"]),
            age(upstream["age_seconds"].as_f64().unwrap_or_default()),
            text(&upstream["last_error"]["message"]),
        ]);
    }
    upstreams.write(out, "")?;
    for withheld in upstream_lists(status, "withheld") {
        let names: Vec<_> = list(&withheld["names"]).iter().map(text).collect();
        let [removals, of, type_url] = ["removals", "of", "type"].map(|key| text(&withheld[key]));
        writeln!(out, "withheld: {removals} of {of} {type_url} removals: {}", names.join(", "))?;
    }
    writeln!(out)?;
    let mut clients = table(["CLIENTS", "IN SYNC", "BEHIND", "REJECTING", "VERSIONS"], painted);
    let counts = |of: &Value| STATES.map(|state| of[state].as_u64().unwrap_or_default().to_string());
    let [in_sync, behind, rejecting] = counts(&status["clients"]);
    clients.row(["all".to_owned(), in_sync, behind, rejecting, String::new()]);
    for (name, of_type) in status["types"].as_object().into_iter().flatten() {
        let [in_sync, behind, rejecting] = counts(of_type);
        let versions = status["versions"][name].as_object().map_or(0, serde_json::Map::len);
        clients.row([name.clone(), in_sync, behind, rejecting, versions.to_string()]);
    }
    Ok(clients.write(out, "")?)
}
