//! Findings for people.

use std::io::Write;

use anyhow::Result;
use serde_json::Value;

use crate::operate::output::{list, number, set, shown};
use crate::output::count;

pub(super) fn write(document: &Value, out: &mut dyn Write) -> Result<()> {
    for problem in list(&document["problems"]) {
        writeln!(out, "bad file: {}", shown(problem))?;
    }
    let findings = list(&document["findings"]);
    for finding in findings {
        let what = format!("{} {}", shown(&finding["type"]), shown(&finding["name"]));
        match finding["kind"].as_str() {
            Some("overlap") => write_overlap(&what, finding, out)?,
            Some("keys") => write_keys(&what, finding, out)?,
            Some("invalid") => {
                writeln!(out, "invalid: {what}: {}: {}", shown(&finding["at"]), shown(&finding["reason"]))?;
            }
            _ => write_uncovered(&what, finding, out)?,
        }
    }
    let looked = format!(
        "{} of {}",
        count(number(&document["variants"]), "variant"),
        count(number(&document["names"]), "name")
    );
    match findings.len() + list(&document["problems"]).len() {
        0 if number(&document["variants"]) == 0 => writeln!(out, "no resources were found")?,
        0 => writeln!(out, "nothing is wrong with {looked}")?,
        wrong => writeln!(out, "{} in {looked}", count(wrong, "finding"))?,
    }
    Ok(())
}

fn write_overlap(what: &str, finding: &Value, out: &mut dyn Write) -> Result<()> {
    match &finding["witness"] {
        Value::Null => writeln!(
            out,
            "overlap: {what}: the constraints are too large to decide whether both match somebody"
        )?,
        witness => writeln!(out, "overlap: {what}: both variants match {}", set(witness))?,
    }
    write_variants(&finding["variants"], out)
}

fn write_keys(what: &str, finding: &Value, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "keys: {what}: its variants are constrained by different keys")?;
    for of in list(&finding["sets"]) {
        let keys: Vec<_> = list(&of["keys"]).iter().map(shown).collect();
        let keys = if keys.is_empty() { "no key".to_owned() } else { keys.join(", ") };
        writeln!(out, "  {keys}:")?;
        for variant in list(&of["variants"]) {
            writeln!(out, "    {}  {}", shown(&variant["constraints"]), shown(&variant["at"]))?;
        }
    }
    Ok(())
}

fn write_uncovered(what: &str, finding: &Value, out: &mut dyn Write) -> Result<()> {
    if !finding["streams"].is_null() {
        let streams = number(&finding["streams"]);
        let asked = list(&finding["witnesses"]).iter().map(set).collect::<String>();
        return Ok(writeln!(
            out,
            "uncovered: {what}: {} asked in vain with {asked}",
            count(streams, "stream")
        )?);
    }
    match finding["witnesses"].as_array() {
        None => writeln!(
            out,
            "uncovered: {what}: the constraints are too large to find the parameters without a variant"
        )?,
        Some(sets) => {
            writeln!(out, "uncovered: {what}: there is no variant for")?;
            sets.iter().try_for_each(|witness| writeln!(out, "  {}", set(witness)))?;
        }
    }
    Ok(())
}

fn write_variants(variants: &Value, out: &mut dyn Write) -> Result<()> {
    for variant in list(variants) {
        writeln!(out, "  {}  {}", shown(&variant["constraints"]), shown(&variant["at"]))?;
    }
    Ok(())
}
