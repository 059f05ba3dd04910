//! The configuration file: TOML in, validated settings out.
//!
//! Owns the structure of the file, its defaults, and all rules. Reports all problems at once, each with file, line
//! and key. Never opens a socket and never looks at the
//! resources that the file points to.
//!
//! [`sections`] reads a file one section at a time, so that every mistake is reported; [`parts`] does so for an upstream,
//! whose keys depend on its kind. [`settings`] has one struct for each section, with its defaults and the rules between its
//! values, whose types are in [`values`], [`template`] and [`metadata`]; [`config`] has the rules between sections.
//!
//! A new key is a field of its section, with its default beside it, and a row in [`SETTINGS`]; tests ask for it in
//! `config/reference.toml` and in the documentation.

mod config;
mod document;
mod environment;
mod error;
mod findings;
mod metadata;
mod parts;
mod places;
mod reload;
mod secret;
mod sections;
mod settings;
mod template;
#[cfg(test)]
mod tests;
mod values;

use std::path::Path;

pub use config::Config;
pub use error::{Error, Problem};
pub use metadata::Metadata;
pub use reload::{Counts, SETTINGS, Setting, in_force};
pub use secret::Secret;
pub use settings::{
    AccessRule, Acknowledge, Admin, AdminTls, Admission, AfterSubscribers, Cache, ColdStarts, ControlPlane,
    Debounce, Downstream, DownstreamTls, Drain, DynamicParameters, Exchange, Export, Files, General,
    GuardedEndpoints, Limits, Locality, Log, Modes, Node, NodeRule, NodeTemplate, ParameterStreams, Polling,
    Prefetch, ShrinkGuard, Source, Store, Streaming, Telemetry, Upstream, UpstreamTls,
};
pub use template::{Segment, Template};
pub use values::{
    ByteSize, ClientCertificate, ColdStart, CollectorEndpoint, CollectorProtocol, Count, Csds, DataError,
    ExportFile, Level, LoadReports, LogFormat, NackUpstream, NonEmptyString, Percent, PositiveDuration,
    Protocol, Ratio, ReadyWhen, Regex, Transport, VirtualHosts,
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
