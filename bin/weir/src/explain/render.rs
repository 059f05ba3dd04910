//! An explanation for people, whoever gave it.

use std::io::Write;

use anyhow::Result;
use serde_json::Value;

use crate::operate::output::{list, number, set, shown};
use crate::output::count;
use crate::table::Table;

pub(super) fn write(explanation: &Value, out: &mut dyn Write) -> Result<()> {
    write_client(&explanation["client"], out)?;
    write_parameters(list(&explanation["parameters"]), out)?;
    let mismatches = list(&explanation["mismatches"]);
    match explanation["outcome"].as_str() {
        Some("served") => write_variants("served", std::slice::from_ref(&explanation["chosen"]), out)?,
        Some("not-held") => writeln!(out, "\nnot found: there is no resource of this name")?,
        Some("unanswered") => {
            writeln!(
                out,
                "\nnothing is served yet: the control plane has not answered{}",
                asked(explanation)
            )?;
        }
        Some("timed-out") => {
            writeln!(
                out,
                "\nnothing is served: the control plane did not answer in time{}",
                asked(explanation)
            )?;
        }
        Some("denied") => {
            writeln!(out, "\nnothing is served: the access rules do not give it to this client")?
        }
        Some("over-limit") => writeln!(out, "\nnothing is served: the client asks for more than it may")?,
        _ => writeln!(out, "\nnothing is served: no variant matches")?,
    }
    write_variants("also matching, but less preferred", list(&explanation["rivals"]), out)?;
    if !mismatches.is_empty() {
        writeln!(out, "\nnot matching")?;
        let mut table = Table::default();
        for mismatch in mismatches {
            let variant = &mismatch["variant"];
            table.row([shown(&variant["constraints"]), place(variant), reason(mismatch)]);
        }
        table.write(out, "  ")?;
    }
    write_variants("expired", list(&explanation["expired"]), out)?;
    write_overlaps(list(&explanation["overlaps"]), out)?;
    if !explanation["next"].is_null() {
        writeln!(
            out,
            "\nthere is more: GET /resources/TYPE/NAME/explain of the admin server has all of it, in pages"
        )?;
    }
    for problem in list(&explanation["problems"]) {
        writeln!(out, "\nwarning: {}", shown(problem))?;
    }
    Ok(())
}

/// The number of streams that wait, and the last error of the control plane.
fn asked(explanation: &Value) -> String {
    let asked = &explanation["asked"];
    let streams = count(number(&asked["streams"]), "stream");
    match asked["error"].as_str() {
        Some(_) => format!(" ({streams} subscribed); its last error: {}", shown(&asked["error"])),
        None => format!(" ({streams} subscribed)"),
    }
}

/// Who it is about, and how it stands.
fn write_client(client: &Value, out: &mut dyn Write) -> Result<()> {
    if client.is_null() {
        return Ok(());
    }
    writeln!(out, "client {}, stream {}: {}", shown(&client["node"]), client["id"], shown(&client["state"]))?;
    if client["state"] == "rejecting" {
        writeln!(out, "  rejects what it was sent: {}", shown(&client["last_nack"]["message"]))?;
    }
    if client["subscribed"] == false {
        writeln!(out, "  is not subscribed to it; this is what it would get")?;
    }
    Ok(writeln!(out)?)
}

fn write_parameters(parameters: &[Value], out: &mut dyn Write) -> Result<()> {
    let given = parameters.iter().filter(|parameter| !parameter["value"].is_null());
    let mut given: Vec<_> = given
        .map(|parameter| format!("{}={}", shown(&parameter["key"]), shown(&parameter["value"])))
        .collect();
    given.sort_unstable();
    writeln!(out, "parameters {{{}}}", given.join(", "))?;
    let mut table = Table::default();
    for parameter in parameters {
        let (key, origin) = (shown(&parameter["key"]), &parameter["origin"]);
        let what = match &parameter["value"] {
            Value::Null => format!("no {key}"),
            value => format!("{key}={}", shown(value)),
        };
        table.row([what, self::origin(origin, !parameter["value"].is_null())]);
    }
    Ok(table.write(out, "  ")?)
}

/// What a rule gave, and from what.
fn origin(origin: &Value, given: bool) -> String {
    match origin["source"].as_str() {
        Some("rule") => {}
        Some("node") => return "stands for what is forwarded of it".to_owned(),
        _ => return "sent by the client".to_owned(),
    }
    let (from, defaulted) = (shown(&origin["from"]), origin["defaulted"] == true);
    let whose = origin["node"].as_str().filter(|node| !node.is_empty());
    let whose = whose.map(|node| format!(" for {node}")).unwrap_or_default();
    let origin_text = match (origin["value"].as_str(), origin["pattern"].as_str()) {
        (None, _) => format!("{from} is not set{whose}"),
        (Some(value), None) => format!("{from} is {value:?}{whose}"),
        (Some(value), Some(pattern)) => {
            let verdict = if given && !defaulted { "matches" } else { "does not match" };
            format!("{from} is {value:?}{whose}, which {verdict} {pattern}")
        }
    };
    let default = if given && defaulted { "the default: " } else { "" };
    format!("{default}{origin_text} (dynamic_parameters[{}])", origin["rule"])
}

fn write_variants(title: &str, variants: &[Value], out: &mut dyn Write) -> Result<()> {
    if variants.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    let mut table = Table::default();
    for variant in variants {
        table.row([shown(&variant["constraints"]), place(variant)]);
    }
    Ok(table.write(out, "  ")?)
}

/// Where a variant stands: in a file, or in an instance.
fn place(variant: &Value) -> String {
    if let Some(at) = variant["at"].as_str() {
        return at.to_owned();
    }
    let came = match variant["reach"].as_str() {
        Some("named") => "came by its name",
        Some("wildcard") => "came by a wildcard",
        _ => "from files",
    };
    let subscribers = variant["subscribers"].as_u64().unwrap_or_default();
    let subscribers = format!("{subscribers} subscriber{}", if subscribers == 1 { "" } else { "s" });
    format!("version {}, {came}, {subscribers}", shown(&variant["version"]))
}

/// `needs env=test, the client has env=prod`
fn reason(mismatch: &Value) -> String {
    let given = mismatch["given"].as_object().into_iter().flatten().map(|(key, value)| match value {
        Value::Null => format!("no {key}"),
        value => format!("{key}={}", shown(value)),
    });
    let given: Vec<_> = given.collect();
    let has = if given.is_empty() { String::new() } else { format!(", the client has {}", given.join(", ")) };
    let differs: Vec<_> = list(&mismatch["differs"]).iter().map(shown).collect();
    let differs = if differs.is_empty() { String::new() } else { format!("; {}", differs.join(", ")) };
    format!("needs {}{has}{differs}", shown(&mismatch["requirement"]))
}

fn write_overlaps(overlaps: &[Value], out: &mut dyn Write) -> Result<()> {
    if !overlaps.is_empty() {
        writeln!(out, "\noverlapping")?;
    }
    for overlap in overlaps {
        let [left, right] = [&overlap["pair"][0], &overlap["pair"][1]].map(shown);
        match &overlap["witness"] {
            Value::Null => {
                writeln!(
                    out,
                    "  {left} and {right}: constraints too large to decide whether both can match"
                )?;
            }
            witness => writeln!(out, "  {left} and {right}: both match {}", set(witness))?,
        }
    }
    Ok(())
}
