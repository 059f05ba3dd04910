//! What is shown of an instance: tables for people, documents for scripts.

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use serde_json::Value;

use crate::table::Table;

/// How to show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Columns, with colour on a terminal
    #[default]
    Table,
    /// A document
    Json,
    /// A document
    Yaml,
}

/// Whether to use colour: on a terminal, unless `NO_COLOR` is set.
pub(super) fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Shows a document, or `table` where people read.
pub(super) fn show(
    format: Format,
    document: &Value,
    out: &mut dyn Write,
    table: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    match format {
        Format::Table => table(out)?,
        Format::Json => writeln!(out, "{document:#}")?,
        Format::Yaml => {
            let text = serde_saphyr::to_string(document).map_err(io::Error::other)?;
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

/// A table with a heading, painted if wanted.
pub(super) fn table<const N: usize>(heading: [&str; N], painted: bool) -> Table {
    let mut table = Table::painted(painted);
    table.row(heading);
    table
}

/// What stands in a field, for people: nothing for null.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `3.2 s`, `5 m`, `2 h`, `4 d`.
pub(super) fn age(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{:.0} m", s / 60.0),
        s if s < 86_400.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let ages = [0.04, 59.0, 61.0, 7_200.0, 200_000.0].map(age);
        assert_eq!(ages, ["0.0 s", "59.0 s", "1 m", "2 h", "2 d"]);
    }
}
