//! `weir status`: whether an instance is healthy, and who is behind.

mod overview;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use prost_types::Timestamp;
use serde_json::json;
use weir_admin::{Condition, Upstream};
use weir_telemetry::printable;

use self::overview::{Counts, Overview, Readiness, whom};
use super::AdminArgs;
use super::admin::Admin;
use super::output::{Format, age, colour, show, table};
use crate::output::{describe, note, whether};

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

Exits with 0 if the instance is ready, no client rejects what it was sent and nothing is wrong with resource files, with 1
if not, and with 2 if it cannot be asked.")]
pub(crate) struct Args {
    #[command(flatten)]
    admin: AdminArgs,
    /// Show it again every 2 seconds, until interrupted
    #[arg(long, short)]
    watch: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    let painted = colour();
    let mut asked = false;
    loop {
        let gathered = Overview::gather(&admin);
        if args.watch && painted && args.output == Format::Table {
            write!(out, "{CLEAR}")?;
        }
        let status = match gathered {
            // Who watches sees it through a restart.
            Err(error) if args.watch && asked => {
                out.flush()?;
                note(&format!("{}; asking again", describe(&error)));
                pause();
                continue;
            }
            gathered => gathered?,
        };
        asked = true;
        show(args.output, &json!(status), out, |out| write_status(&status, painted, out))?;
        if !args.watch {
            return Ok(whether(status.is_healthy()));
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

fn write_status(overview: &Overview, painted: bool, out: &mut dyn Write) -> Result<()> {
    let Readiness { ready, pending } = &overview.readiness;
    writeln!(out, "{}", if *ready { "ready" } else { "not ready" })?;
    for pending in pending.iter().flatten().filter(|_| !ready) {
        writeln!(out, "  {}", printable(pending))?;
    }
    writeln!(out)?;
    write_upstreams(&overview.upstreams, painted, out)?;
    for trouble in overview.troubles() {
        writeln!(out, "{trouble}")?;
    }
    writeln!(out)?;
    let mut clients = table(["CLIENTS", "IN SYNC", "BEHIND", "REJECTING", "VERSIONS"], painted);
    let counts = |of: &Counts| Condition::ALL.map(|condition| of.get(&condition).unwrap_or(&0).to_string());
    let [in_sync, behind, rejecting] = counts(&overview.clients);
    clients.row(["all".to_owned(), in_sync, behind, rejecting, String::new()]);
    for (name, of_type) in &overview.types {
        let [in_sync, behind, rejecting] = counts(of_type);
        let versions = overview.versions.get(name).map_or(0, BTreeMap::len);
        clients.row([name.to_string(), in_sync, behind, rejecting, versions.to_string()]);
    }
    Ok(clients.write(out, "")?)
}

fn write_upstreams(upstreams: &[Upstream], painted: bool, out: &mut dyn Write) -> Result<()> {
    let mut rows = table(["AUTHORITY", "PARAMETERS", "STATE", "ENDPOINT", "SINCE", "LAST ERROR"], painted);
    for upstream in upstreams {
        let error = upstream.last_error.as_ref();
        rows.row([
            format!("{:?}", upstream.authority),
            whom(upstream),
            upstream.state.as_str().to_owned(),
            upstream.endpoint.clone().unwrap_or_default(),
            age(upstream.age_seconds),
            error.map(|error| format!("{} {}", to_the_second(error.at), error.message)).unwrap_or_default(),
        ]);
    }
    Ok(rows.write(out, "")?)
}

/// `2026-03-02T09:12:44Z`
fn to_the_second(at: SystemTime) -> String {
    let timestamp = Timestamp { nanos: 0, ..at.into() };
    timestamp.to_string()
}

#[cfg(test)]
mod tests {
    use super::overview::tests::upstream;
    use super::*;

    #[test]
    fn streams_for_different_parameters_are_distinguished() {
        let error = json!({ "at": "2026-03-02T09:12:44.104123Z", "message": "refused" });
        let upstreams = [
            upstream(json!({ "parameters": { "env": "test" }, "endpoint": "http://a/" })),
            upstream(
                json!({ "authority": "b", "state": "disconnected", "age_seconds": 300.0, "last_error": error }),
            ),
        ];
        let mut out = Vec::new();
        write_upstreams(&upstreams, false, &mut out).unwrap();
        let wanted = "\
AUTHORITY  PARAMETERS  STATE         ENDPOINT   SINCE  LAST ERROR
\"\"         {env=test}  in-sync       http://a/  3.0 s
\"b\"        anyone      disconnected             5 m    2026-03-02T09:12:44Z refused
";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }
}
