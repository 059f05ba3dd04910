//! Logs: to standard error, as text for people and as JSON for machines.

use std::io::IsTerminal;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use weir_config::{Log, LogFormat};

use crate::level::{FilterError, LogLevel};
use crate::limiter::Limiter;
use crate::lines::{Json, Text, TextFields};
use crate::panics;
use crate::queue::Queue;

/// Overrides the configured level, for single modules too: `info,weir_upstream=debug`.
const VARIABLE: &str = "WEIR_LOG";

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

/// Sends the events of this process to standard error from now on. The level can be changed later.
///
/// # Errors
/// When the environment holds no filter, or there is a subscriber already.
pub fn install_logs(log: &Log) -> Result<LogLevel, LogError> {
    let (level, filter) = LogLevel::new(log.level, std::env::var(VARIABLE).ok())?;
    let terminal = std::io::stderr().is_terminal();
    let limiter = Limiter::default();
    let queue = Queue::install(limiter.clone()).map_err(LogError::Thread)?;
    let layer = tracing_subscriber::fmt::layer().with_writer(queue);
    let registry = tracing_subscriber::registry().with(filter).with(limiter);
    if is_json(log.format, terminal) {
        registry.with(layer.event_format(Json)).try_init()?;
    } else {
        let layer = layer.fmt_fields(TextFields).with_ansi(terminal);
        registry.with(layer.event_format(Text::new())).try_init()?;
    }
    panics::log();
    Ok(level)
}

fn is_json(format: LogFormat, terminal: bool) -> bool {
    match format {
        LogFormat::Auto => !terminal,
        LogFormat::Text => false,
        LogFormat::Json => true,
    }
}

#[cfg(test)]
mod tests {
    use weir_config::Level;

    use super::*;

    #[test]
    fn text_on_a_terminal_and_json_otherwise() {
        for (format, on_terminal, elsewhere) in
            [(LogFormat::Auto, false, true), (LogFormat::Text, false, false), (LogFormat::Json, true, true)]
        {
            assert_eq!(
                (is_json(format, true), is_json(format, false)),
                (on_terminal, elsewhere),
                "{format:?}"
            );
        }
    }

    #[test]
    fn a_variable_that_holds_no_filter_is_named() {
        let error =
            LogError::from(LogLevel::new(Level::Info, Some("weir=loud".to_owned())).unwrap_err()).to_string();
        assert!(error.starts_with("WEIR_LOG=\"weir=loud\" is no log filter: "), "{error}");
    }
}
