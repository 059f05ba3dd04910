//! Logs: to standard error, as text for people and as JSON for machines.

use std::io::IsTerminal;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::level::{FilterError, LogLevel};
use crate::limiter::Limiter;
use crate::lines::{Json, Text, TextFields};
use crate::panics;
use crate::queue::Queue;

/// Overrides the configured level, for single modules too: `info,weir_upstream=debug`.
const VARIABLE: &str = "WEIR_LOG";

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
    #[error("{VARIABLE}={0}")]
    Variable(#[from] FilterError),
    /// There can be no thread that writes.
    #[error("start the thread that writes the log: {0}")]
    Thread(std::io::Error),
    /// There is a subscriber already.
    #[error("logging is set up twice")]
    Twice(#[from] TryInitError),
}

impl Logs {
    /// Sends the events of this process to standard error from now on. The level can be changed later.
    ///
    /// # Errors
    /// When the environment holds no filter, or there is a subscriber already.
    pub fn install(&self) -> Result<LogLevel, LogError> {
        let (level, filter) = LogLevel::new(self.level, std::env::var(VARIABLE).ok())?;
        let terminal = std::io::stderr().is_terminal();
        let limiter = Limiter::default();
        let queue = Queue::install(limiter.clone()).map_err(LogError::Thread)?;
        let layer = tracing_subscriber::fmt::layer().with_writer(queue);
        let registry = tracing_subscriber::registry().with(filter).with(limiter);
        if self.is_json(terminal) {
            registry.with(layer.event_format(Json)).try_init()?;
        } else {
            let layer = layer.fmt_fields(TextFields).with_ansi(terminal);
            registry.with(layer.event_format(Text::new())).try_init()?;
        }
        panics::log();
        Ok(level)
    }

    fn is_json(&self, terminal: bool) -> bool {
        match self.format {
            Format::Auto => !terminal,
            Format::Text => false,
            Format::Json => true,
        }
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
    fn a_variable_that_holds_no_filter_is_named() {
        let error =
            LogError::from(LogLevel::new("info", Some("weir=loud".to_owned())).unwrap_err()).to_string();
        assert!(error.starts_with("WEIR_LOG=\"weir=loud\" is no log filter: "), "{error}");
    }
}
