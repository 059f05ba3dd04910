//! The configuration file: TOML in, validated settings out.
//!
//! Owns the shape of the file, its defaults, and every rule that a file can break; each problem is reported
//! with file, line and key, all that were found at once. Never opens a socket and never looks at the
//! resources that the file points to.
//!
//! [`sections`] reads a file one section at a time, so that every mistake is reported. A section has the shape in [`file`],
//! and its values the forms in [`values`], [`template`] and [`metadata`]; [`validate`] holds the rules between values. What
//! comes out is [`settings`].

mod config;
mod document;
mod environment;
mod error;
mod file;
mod findings;
mod metadata;
mod places;
mod reload;
mod secret;
mod sections;
mod settings;
mod template;
#[cfg(test)]
mod tests;
mod validate;
mod values;

use std::path::Path;

pub use config::Config;
pub use error::{Error, Problem};
pub use metadata::Metadata;
pub use reload::{Counts, SETTINGS, Setting, in_force};
pub use secret::Secret;
pub use settings::{
    AccessRule, Acknowledge, Admin, AdminTls, Admission, Cache, ColdStarts, ControlPlane, Debounce, Demand,
    Downstream, DownstreamTls, Drain, Export, KeyPair, Limits, Locality, Log, Node, NodeRule, NodeTemplate,
    Parameters, Polling, Prefetch, ShrinkGuard, Source, Store, Telemetry, Upstream, UpstreamTls,
};
pub use template::{Segment, Template};
pub use values::{
    ByteSize, ClientCertificate, ColdStart, CollectorEndpoint, CollectorProtocol, Count, Csds, DataError,
    ExportFile, Level, LogFormat, NackUpstream, NonEmptyString, Percent, PositiveDuration, Protocol, Ratio,
    ReadyWhen, Regex, Transport,
};

use sections::Sections;
use values::text::Form;

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
    Form::parse(text)
}

/// Validates `text`, which stands in the file at `path`: relative paths in it start from there.
pub fn parse(text: &str, path: &Path) -> Result<Config, Error> {
    let invalid = |problems| Error::Invalid { file: path.into(), problems };
    let mut sections = Sections::parse(text).map_err(|problem| invalid(vec![problem]))?;
    sections.expand(&|name| std::env::var(name).ok());
    if !sections.is_good() {
        return Err(invalid(sections.into_problems()));
    }
    let config = Config::read(&mut sections, path.parent().unwrap_or(Path::new("")));
    let problems = sections.finish();
    match config {
        Ok(config) if problems.is_empty() => Ok(config),
        _ => Err(invalid(problems)),
    }
}
