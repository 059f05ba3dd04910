//! What is shown of an instance: tables for people, documents for scripts.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Result;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_telemetry::printable;

use super::admin::decode;
use crate::output::whether;
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
pub(crate) fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Shows a document, or `table` where people read.
pub(crate) fn show(
    format: Format,
    document: &Value,
    out: &mut dyn Write,
    table: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    match format {
        Format::Table => table(out),
        Format::Json | Format::Yaml => Ok(write_document(format, document, out)?),
    }
}

/// Shows the items that are listed at a path, as documents with what instances of other versions add to them, or by `table` where people
/// read. Whether there are any.
pub(crate) fn show_items<T: DeserializeOwned>(
    format: Format,
    (path, items): (&str, Vec<Value>),
    out: &mut dyn Write,
    table: impl FnOnce(&[T], &mut dyn Write) -> Result<()>,
) -> Result<ExitCode> {
    let found = whether(!items.is_empty());
    let items = Value::Array(items);
    match format {
        Format::Table => table(&decode::<Vec<T>>(path, items)?, out)?,
        Format::Json | Format::Yaml => write_document(format, &items, out)?,
    }
    Ok(found)
}

/// Writes a document: as JSON, or else as YAML.
pub(crate) fn write_document(format: Format, document: &Value, out: &mut dyn Write) -> io::Result<()> {
    if format == Format::Json {
        return writeln!(out, "{document:#}");
    }
    let text = serde_saphyr::to_string(document).map_err(io::Error::other)?;
    writeln!(out, "{}", text.trim_end())
}

/// A table with a heading, painted if wanted.
pub(crate) fn table<const N: usize>(heading: [&str; N], painted: bool) -> Table {
    let mut table = Table::painted(painted);
    table.row(heading);
    table
}

/// What stands in a field, for people: nothing for null.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The same, fit for a terminal: values may come from anybody.
pub(crate) fn shown(value: &Value) -> String {
    printable(&text(value))
}

/// A count; 0 where it is none.
pub(crate) fn number(value: &Value) -> usize {
    value.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
}

/// The items of a list; none where it is none.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Dynamic parameters: `{env=test}`.
pub(crate) fn set(parameters: &Value) -> String {
    let pairs = parameters.as_object().into_iter().flatten();
    let pairs: Vec<_> = pairs.map(|(key, value)| format!("{}={}", printable(key), shown(value))).collect();
    format!("{{{}}}", pairs.join(", "))
}

/// `3.2 s`, `5 m`, `2 h`, `4 d`.
pub(crate) fn age(seconds: f64) -> String {
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
