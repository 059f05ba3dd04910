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
use super::output::{Format, age, colour, list, number, set, show, shown, table, text};
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
        let gathered = gather(&admin);
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
        show(args.output, &status, out, |out| write_status(&status, painted, out))?;
        if !args.watch {
            return Ok(whether(is_healthy(&status)));
        }
        out.flush()?;
        pause();
    }
}

/// Whether clients can be served, nobody rejects anything, and every resource file is served.
fn is_healthy(status: &Value) -> bool {
    let problems = list(&status["upstreams"]).iter().map(|upstream| number(&upstream["problems"]));
    status["ready"] == true && number(&status["clients"]["rejecting"]) == 0 && problems.sum::<usize>() == 0
}

/// Waits until it is time to look again.
#[expect(clippy::disallowed_methods, reason = "who watches wants to see it every so often")]
fn pause() {
    thread::sleep(EACH);
}

fn gather(admin: &Admin) -> Result<Value> {
    let ready = admin.get("/ready")?;
    let mut upstreams = admin.list("/upstreams", &[])?;
    upstreams.sort_by_cached_key(|upstream| (text(&upstream["authority"]), whom(upstream)));
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
    let config = admin.find("/config")?.map(|config| {
        json!({ "last_reload": config["last_reload"], "waiting_for_restart": config["waiting_for_restart"] })
    });
    Ok(json!({
        "ready": ready["ready"], "pending": ready["pending"], "upstreams": upstreams,
        "config": config, "store": admin.find("/store")?,
        "clients": states, "types": by_type, "versions": versions,
    }))
}

const STATES: [&str; 3] = ["in-sync", "behind", "rejecting"];

fn write_status(status: &Value, painted: bool, out: &mut dyn Write) -> Result<()> {
    if status["ready"] == true {
        writeln!(out, "ready")?;
    } else {
        writeln!(out, "not ready")?;
        for pending in status["pending"].as_array().into_iter().flatten() {
            writeln!(out, "  {}", shown(pending))?;
        }
    }
    writeln!(out)?;
    write_upstreams(list(&status["upstreams"]), painted, out)?;
    for trouble in troubles(status) {
        writeln!(out, "{trouble}")?;
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

fn write_upstreams(upstreams: &[Value], painted: bool, out: &mut dyn Write) -> Result<()> {
    let mut rows = table(["AUTHORITY", "PARAMETERS", "STATE", "ENDPOINT", "SINCE", "LAST ERROR"], painted);
    for upstream in upstreams {
        let error = &upstream["last_error"];
        let at = error["at"].as_str().and_then(|at| at.get(.."2026-03-02T09:12:44".len()));
        rows.row([
            format!("{:?}", text(&upstream["authority"])),
            whom(upstream),
            text(&upstream["state"]),
            text(&upstream["endpoint"]),
            age(upstream["age_seconds"].as_f64().unwrap_or_default()),
            at.map(|at| format!("{at}Z {}", text(&error["message"]))).unwrap_or_default(),
        ]);
    }
    Ok(rows.write(out, "")?)
}

/// Whom an upstream is for.
fn whom(upstream: &Value) -> String {
    match &upstream["parameters"] {
        Value::Null => "anyone".to_owned(),
        parameters => set(parameters),
    }
}

/// What an operator has to see to, though clients are served.
fn troubles(status: &Value) -> Vec<String> {
    let mut troubles = Vec::new();
    for upstream in list(&status["upstreams"]) {
        if number(&upstream["problems"]) > 0 {
            let (files, problem) = (shown(&upstream["endpoint"]), shown(&upstream["last_error"]["message"]));
            troubles.push(format!("files in {files} are not served: {problem}"));
        }
        for withheld in list(&upstream["withheld"]) {
            let names: Vec<_> = list(&withheld["names"]).iter().map(text).collect();
            let [removals, of, type_url] = ["removals", "of", "type"].map(|key| shown(&withheld[key]));
            let (whom, names) = (whom(upstream), names.join(", "));
            troubles.push(format!("withheld for {whom}: {removals} of {of} {type_url} removals: {names}"));
        }
    }
    let config = &status["config"];
    let refused = config["last_reload"]["error"].as_str();
    troubles.extend(refused.map(|error| format!("the configuration file is not in force: {error}")));
    let waiting: Vec<_> = list(&config["waiting_for_restart"]).iter().map(text).collect();
    if !waiting.is_empty() {
        troubles.push(format!("changed, and not in force until a restart: {}", waiting.join(", ")));
    }
    let failure = status["store"]["failure"].as_str();
    troubles.extend(failure.map(|failure| format!("nothing is stored: {failure}")));
    troubles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_operator_has_to_see_to_is_stated() {
        let status = json!({
            "upstreams": [
                { "parameters": { "env": "prod" }, "withheld": [{ "type": "cds", "removals": 3, "of": 4, "names": ["a", "b"] }] },
                { "parameters": null, "withheld": [] },
                { "endpoint": "/etc/r", "problems": 2, "last_error": { "message": "a.yaml:3: no (and 1 more)" } },
            ],
            "config": { "last_reload": { "error": "weir.toml:3: no" }, "waiting_for_restart": ["store", "node"] },
            "store": { "failure": "disk full" },
        });
        assert_eq!(
            troubles(&status),
            [
                "withheld for {env=prod}: 3 of 4 cds removals: a, b",
                "files in /etc/r are not served: a.yaml:3: no (and 1 more)",
                "the configuration file is not in force: weir.toml:3: no",
                "changed, and not in force until a restart: store, node",
                "nothing is stored: disk full",
            ]
        );
        let calm = json!({
            "upstreams": [], "config": { "last_reload": null, "waiting_for_restart": [] }, "store": null,
        });
        assert_eq!(troubles(&calm), [""; 0]);
    }

    #[test]
    fn f01_an_instance_with_a_bad_resource_file_is_not_healthy() {
        let status = |ready: bool, rejecting: u64, problems: u64| json!({ "ready": ready, "clients": { "rejecting": rejecting }, "upstreams": [{ "problems": problems }] });
        assert!(is_healthy(&status(true, 0, 0)));
        for ill in [status(false, 0, 0), status(true, 1, 0), status(true, 0, 1)] {
            assert!(!is_healthy(&ill), "{ill}");
        }
    }

    #[test]
    fn streams_for_different_parameters_are_distinguished() {
        let error = json!({ "at": "2026-03-02T09:12:44.104123Z", "message": "refused" });
        let upstreams = [
            json!({ "authority": "", "parameters": { "env": "test" }, "state": "in-sync", "endpoint": "http://a/", "age_seconds": 3.0 }),
            json!({ "authority": "b", "parameters": null, "state": "disconnected", "age_seconds": 300.0, "last_error": error }),
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
