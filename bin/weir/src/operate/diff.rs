//! `weir diff`: what two clients have that is not the same.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::AdminArgs;
use super::admin::{Admin, part};
use super::output::{Format, colour, show, table, text};
use crate::output::MISSING;

/// Show what two clients of a running instance are given that is not the same
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir diff web-1 web-2
  weir diff 17 42 --output json

Exits with 0 if there is no difference, and with 2 if there is one.")]
pub(crate) struct Args {
    #[command(flatten)]
    admin: AdminArgs,
    /// A client: the id of its node, or of one of its streams
    #[arg(value_name = "CLIENT_A")]
    left: String,
    /// The other one
    #[arg(value_name = "CLIENT_B")]
    right: String,
    /// How to show it
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    let (left, right) = (Side::find(&admin, &args.left)?, Side::find(&admin, &args.right)?);
    let parameters = differing(&left.parameters, &right.parameters);
    let resources = differing(&left.resources, &right.resources);
    let same = parameters.is_empty() && resources.is_empty();
    let document = json!({ "parameters": parameters, "resources": resources });
    show(args.output, &document, out, |out| {
        if same {
            return Ok(writeln!(out, "no difference: {} resources", left.resources.len())?);
        }
        let mut rows = table(["", &args.left, &args.right], colour());
        for (what, pair) in parameters.iter().chain(&resources) {
            rows.row([what.clone(), shown(&pair["left"]), shown(&pair["right"])]);
        }
        Ok(rows.write(out, "")?)
    })?;
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::from(MISSING) })
}

fn shown(value: &Value) -> String {
    if value.is_null() { "-".to_owned() } else { text(value) }
}

/// What a client has, by what it is called.
struct Side {
    parameters: BTreeMap<String, String>,
    resources: BTreeMap<String, String>,
}

impl Side {
    /// All streams of the node `who`, or the stream of that id.
    fn find(admin: &Admin, who: &str) -> Result<Self> {
        let named = admin.list("/clients", &[("node", who)])?;
        let mut streams: Vec<_> = named.into_iter().filter(|client| client["node"]["id"] == who).collect();
        if streams.is_empty() && who.parse::<u64>().is_ok() {
            streams.push(admin.get(&format!("/clients/{}", part(who)))?);
        }
        if streams.is_empty() {
            bail!("no client is connected whose node has the id {who:?}");
        }
        let mut side = Self { parameters: BTreeMap::new(), resources: BTreeMap::new() };
        for stream in &streams {
            for parameter in stream["parameters"].as_array().into_iter().flatten() {
                let name = format!("parameter {}", text(&parameter["key"]));
                side.parameters.insert(name, text(&parameter["value"]));
            }
            for resource in admin.list(&format!("/clients/{}/resources", text(&stream["id"])), &[])? {
                let name = format!("{} {}", text(&resource["type"]), text(&resource["name"]));
                let content = match &resource["version"] {
                    Value::Null => text(&resource["absence"]),
                    version => format!("{} ({})", text(version), text(&resource["constraints"])),
                };
                side.resources.insert(name, content);
            }
        }
        Ok(side)
    }
}

/// What is not the same on both sides.
fn differing(left: &BTreeMap<String, String>, right: &BTreeMap<String, String>) -> Map<String, Value> {
    let mut found = Map::new();
    for name in left.keys().chain(right.keys()) {
        let pair = (left.get(name), right.get(name));
        if pair.0 != pair.1 {
            found.insert(name.clone(), json!({ "left": pair.0, "right": pair.1 }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_differences_are_found() {
        let side =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let left = side(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let right = side(&[("b", "1"), ("c", "2"), ("d", "1")]);
        let found = Value::Object(differing(&left, &right));
        let wanted = json!({
            "a": { "left": "1", "right": null },
            "c": { "left": "1", "right": "2" },
            "d": { "left": null, "right": "1" },
        });
        assert_eq!(found, wanted);
        assert!(differing(&left, &left).is_empty());
    }
}
