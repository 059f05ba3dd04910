//! The configuration file: TOML in, validated settings out.
//!
//! Owns the shape of the file, its defaults, and every rule that a file can break; each problem is reported
//! with file, line and key, all that were found at once. Never opens a socket and never looks at the
//! resources that the file points to.
//!
//! A file goes through three steps, a module each: [`file`] is its shape, read by serde; [`values`],
//! [`template`] and [`metadata`] are the forms that single values take; [`validate`] holds the rules between values. What comes out is
//! [`settings`].

mod document;
mod environment;
mod error;
mod file;
mod metadata;
mod places;
mod reload;
mod secret;
mod settings;
mod template;
#[cfg(test)]
mod tests;
mod validate;
mod values;
mod written;

use std::path::Path;

use serde::Deserialize;
use toml::de::DeTable;

pub use error::{Error, Problem};
pub use metadata::Metadata;
pub use reload::{Counts, SETTINGS, Setting, in_force};
pub use secret::Secret;
pub use settings::{
    AccessRule, Acknowledge, Admin, AdminTls, Admission, Cache, ColdStarts, Config, ControlPlane, Debounce,
    Demand, Downstream, DownstreamTls, Drain, Export, KeyPair, Limits, Locality, Log, Node, NodeRule,
    NodeTemplate, Parameters, Polling, Prefetch, ShrinkGuard, Source, Store, Telemetry, Upstream,
    UpstreamTls,
};
pub use template::{Segment, Template};
pub use values::{
    ClientCertificate, ColdStart, CollectorProtocol, Csds, DataError, Level, LogFormat, NackUpstream,
    Protocol, ReadyWhen, Transport,
};

use places::Places;

/// Reads and validates the file at `path`.
pub fn load(path: &Path) -> Result<Config, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::Unreadable { file: path.into(), source })?;
    parse(&text, path)
}

/// Reads a duration as the file has it: `15s`, `500ms`.
///
/// # Errors
/// What is wrong with it.
pub fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    text.parse().map(|values::DurationText(duration)| duration)
}

/// Validates `text`, which stands in the file at `path`: relative paths in it start from there.
pub fn parse(text: &str, path: &Path) -> Result<Config, Error> {
    let invalid = |problems| Error::Invalid { file: path.into(), problems };
    let syntax = |error: toml::de::Error| invalid(vec![Places::default().explain(text, &error)]);
    let mut table = DeTable::parse(text).map_err(syntax)?;
    let places = Places::of(&table);
    let found = |findings: Vec<validate::Finding>| {
        let mut problems: Vec<_> =
            findings.into_iter().map(|f| places.problem(text, f.key, f.message)).collect();
        problems.sort_by_key(|problem| problem.line);
        invalid(problems)
    };
    let unset = environment::expand(table.get_mut(), &|name| std::env::var(name).ok());
    if !unset.is_empty() {
        return Err(found(unset));
    }
    let file = file::File::deserialize(toml::Deserializer::from(table))
        .map_err(|error| invalid(vec![places.explain(text, &error)]))?;
    let directory = path.parent().unwrap_or(Path::new(""));
    validate::validate(file, directory).map_err(found)
}
