//! Logs: to standard error, as text for people and as JSON for machines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// Overrides the configured level, for single modules too: `info,weir_upstream=debug`.
const VARIABLE: &str = "WEIR_LOG";

/// Libraries, and the level from which on they talk about every frame, every poll or themselves.
const QUIET: [(&str, &str); 6] = [
    ("h2", "debug"),
    ("hyper", "debug"),
    ("hyper_util", "debug"),
    ("opentelemetry", "info"),
    ("tonic", "debug"),
    ("tower", "debug"),
];

/// By severity.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// How log messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text if standard error is a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Lines for people.
    Text,
    /// An object a line.
    Json,
}

/// What is logged, and how.
#[derive(Clone, Debug)]
pub struct Logs {
    /// The least severe messages: `error`, `warn`, `info`, `debug` or `trace`.
    pub level: &'static str,
    /// How they are written.
    pub format: Format,
}

/// Why there are no logs.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The environment variable holds no filter.
    #[error("{VARIABLE}={value:?} is no log filter: {source}; write it like \"info,weir_upstream=debug\"")]
    Filter {
        /// What it holds.
        value: String,
        /// What is wrong with that.
        source: ParseError,
    },
    /// There is a subscriber already.
    #[error("logging is set up twice")]
    Twice(#[from] TryInitError),
}

impl Logs {
    /// Sends the events of this process to standard error from now on.
    pub fn install(&self) -> Result<(), LogError> {
        let filter = self.filter(std::env::var(VARIABLE).ok())?;
        let terminal = std::io::stderr().is_terminal();
        let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        if self.is_json(terminal) {
            builder.json().flatten_event(true).with_current_span(false).finish().try_init()?;
        } else {
            builder.with_ansi(terminal).with_target(false).finish().try_init()?;
        }
        Ok(())
    }

    fn is_json(&self, terminal: bool) -> bool {
        match self.format {
            Format::Auto => !terminal,
            Format::Text => false,
            Format::Json => true,
        }
    }

    fn filter(&self, variable: Option<String>) -> Result<EnvFilter, LogError> {
        match variable.filter(|value| !value.is_empty()) {
            Some(value) => EnvFilter::try_new(&value).map_err(|source| LogError::Filter { value, source }),
            None => Ok(EnvFilter::new(self.directives())),
        }
    }

    fn directives(&self) -> String {
        let rank = |level| LEVELS.iter().position(|known| *known == level).unwrap_or(LEVELS.len());
        let mut text = self.level.to_owned();
        for (library, noisy) in QUIET {
            let limit = rank(self.level).min(rank(noisy) - 1);
            text.push_str(&format!(",{library}={}", LEVELS[limit]));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(level: &'static str, format: Format) -> Logs {
        Logs { level, format }
    }

    #[test]
    fn text_on_a_terminal_and_json_otherwise() {
        for (format, on_terminal, elsewhere) in
            [(Format::Auto, false, true), (Format::Text, false, false), (Format::Json, true, true)]
        {
            let logs = logs("info", format);
            assert_eq!((logs.is_json(true), logs.is_json(false)), (on_terminal, elsewhere), "{format:?}");
        }
    }

    #[test]
    fn libraries_stay_quiet() {
        let shown = |level| logs(level, Format::Auto).directives();
        assert_eq!(
            shown("debug"),
            "debug,h2=info,hyper=info,hyper_util=info,opentelemetry=warn,tonic=info,tower=info"
        );
        assert_eq!(
            shown("warn"),
            "warn,h2=warn,hyper=warn,hyper_util=warn,opentelemetry=warn,tonic=warn,tower=warn"
        );
    }

    #[test]
    fn the_environment_overrides_the_level() {
        let logs = logs("info", Format::Auto);
        let filter = |variable: &str| logs.filter(Some(variable.to_owned()));
        assert_eq!(filter("weir_upstream=debug").unwrap().to_string(), "weir_upstream=debug");
        assert!(filter("").unwrap().to_string().contains("info"));
        let error = filter("weir=loud").unwrap_err().to_string();
        assert!(error.starts_with("WEIR_LOG=\"weir=loud\" is no log filter: "), "{error}");
    }
}
