//! How much is logged, changeable while the process runs.
//!
//! Owns the filter in force and who chose it: an operator before the environment before the configuration. Never
//! knows where messages go.

use std::fmt::{self, Display};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::{EnvFilter, Registry, reload};
use weir_config::Level;

/// By severity.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Libraries, and the level from which on they talk about every frame, every poll or themselves.
const QUIET: [(&str, &str); 8] = [
    ("h2", "debug"),
    ("hyper", "debug"),
    ("hyper_util", "debug"),
    // A file that is removed is so for whoever watches it and for whoever watches its directory: it warns of one of them.
    ("notify::inotify", "warn"),
    ("opentelemetry", "info"),
    // It warns of each attempt that fails: see `exporter_health.rs`.
    ("opentelemetry-otlp", "warn"),
    ("tonic", "debug"),
    ("tower", "debug"),
];

/// Why a text is no log filter.
#[derive(Debug, thiserror::Error)]
#[error("{value:?} is no log filter: {source}; write it like \"debug\" or \"info,weir_upstream=debug\"")]
pub struct FilterError {
    value: String,
    source: Wrong,
}

#[derive(Debug, thiserror::Error)]
enum Wrong {
    #[error("there is no level {0:?}")]
    Level(String),
    #[error(transparent)]
    Directive(#[from] ParseError),
}

/// What is logged: a level for all of Weir, at which the libraries stay quiet, or directives for single modules.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Filter(String);

impl Filter {
    fn parse(text: &str) -> Result<Self, FilterError> {
        let text = text.trim();
        let wrong = |source| FilterError { value: text.to_owned(), source };
        // The library takes any other word for a module, and would turn off everything else.
        let words = text.split(',').map(str::trim).filter(|directive| !directive.contains(['=', '[']));
        for word in words {
            if word != "off" && !LEVELS.contains(&word) {
                return Err(wrong(Wrong::Level(word.to_owned())));
            }
        }
        EnvFilter::try_new(text).map_err(|source| wrong(source.into()))?;
        Ok(Self(text.to_owned()))
    }

    fn directives(&self) -> String {
        let rank = |level: &str| LEVELS.iter().position(|known| *known == level);
        let Some(level) = rank(&self.0) else { return self.0.clone() };
        let mut text = self.0.clone();
        for (library, noisy) in QUIET {
            let limit = level.min(rank(noisy).unwrap_or(LEVELS.len()) - 1);
            text.push_str(&format!(",{library}={}", LEVELS[limit]));
        }
        text
    }

    /// Of directives that were parsed before.
    fn build(&self) -> EnvFilter {
        EnvFilter::new(self.directives())
    }
}

impl From<Level> for Filter {
    fn from(level: Level) -> Self {
        Self(level.as_str().to_owned())
    }
}

/// Who chose what is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The configuration file.
    Configuration,
    /// The environment variable `WEIR_LOG`.
    Environment,
    /// Somebody, while the process runs.
    Operator,
}

impl Display for ChosenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Configuration => "configuration",
            Self::Environment => "environment",
            Self::Operator => "operator",
        })
    }
}

/// What is logged, to be looked at and changed while the process runs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LogLevel {
    choices: Arc<Mutex<Choices>>,
    handle: reload::Handle<EnvFilter, Registry>,
}

#[derive(Debug)]
struct Choices {
    configuration: Filter,
    environment: Option<Filter>,
    operator: Option<Filter>,
}

impl Choices {
    fn best(&self) -> (&Filter, ChosenBy) {
        match (&self.operator, &self.environment) {
            (Some(filter), _) => (filter, ChosenBy::Operator),
            (None, Some(filter)) => (filter, ChosenBy::Environment),
            (None, None) => (&self.configuration, ChosenBy::Configuration),
        }
    }
}

impl LogLevel {
    /// Of a configured level, unless the environment asks for something else; and the layer that obeys it.
    ///
    /// # Errors
    /// When `variable` holds something that is no filter.
    pub(crate) fn new(
        level: Level,
        variable: Option<String>,
    ) -> Result<(Self, reload::Layer<EnvFilter, Registry>), FilterError> {
        let environment = variable.filter(|value| !value.trim().is_empty());
        let environment = environment.map(|value| Filter::parse(&value)).transpose()?;
        let choices = Choices { configuration: level.into(), environment, operator: None };
        let (layer, handle) = reload::Layer::new(choices.best().0.build());
        Ok((Self { choices: Arc::new(Mutex::new(choices)), handle }, layer))
    }

    /// What is logged now, as it was asked for, and by whom.
    pub fn current(&self) -> (String, ChosenBy) {
        let choices = self.choices.lock();
        let (filter, by) = choices.best();
        (filter.0.clone(), by)
    }

    /// Logs what an operator asks for from now on: a level (`error`, `warn`, `info`, `debug`, `trace`, `off`) or
    /// directives (`info,weir_upstream=debug`). It stays until the next call, or [`Self::reset`].
    ///
    /// # Errors
    /// When `text` is neither. Then nothing changes.
    pub fn set(&self, text: &str) -> Result<(), FilterError> {
        let filter = Filter::parse(text)?;
        self.change(|choices| choices.operator = Some(filter));
        Ok(())
    }

    /// Takes back what an operator asked for.
    pub fn reset(&self) {
        self.change(|choices| choices.operator = None);
    }

    /// The configuration has changed. What the environment or an operator asks for stays in force.
    pub fn configure(&self, level: Level) {
        self.change(|choices| choices.configuration = level.into());
    }

    fn change(&self, change: impl FnOnce(&mut Choices)) {
        let mut choices = self.choices.lock();
        change(&mut choices);
        // Fails when the subscriber is gone, and with it all logs.
        _ = self.handle.reload(choices.best().0.build());
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn libraries_stay_quiet() {
        let shown = |level: &str| Filter::parse(level).unwrap().directives();
        assert_eq!(
            shown("debug"),
            "debug,h2=info,hyper=info,hyper_util=info,notify::inotify=error,opentelemetry=warn,opentelemetry-otlp=error,tonic=info,tower=info"
        );
        assert_eq!(
            shown("warn"),
            "warn,h2=warn,hyper=warn,hyper_util=warn,notify::inotify=error,opentelemetry=warn,opentelemetry-otlp=error,tonic=warn,tower=warn"
        );
        assert_eq!(shown("info,h2=debug"), "info,h2=debug");
        assert_eq!(shown("off"), "off");
    }

    #[test]
    fn what_is_no_filter_is_refused_and_changes_nothing() {
        let (level, _layer) = LogLevel::new(Level::Info, None).unwrap();
        for (text, error) in [
            ("loud", "\"loud\" is no log filter: there is no level \"loud\"; write it like "),
            ("", "\"\" is no log filter: there is no level \"\"; "),
            ("info,weir", "\"info,weir\" is no log filter: there is no level \"weir\"; "),
            ("weir=loud", "\"weir=loud\" is no log filter: "),
        ] {
            let refused = level.set(text).unwrap_err().to_string();
            assert!(refused.starts_with(error), "{refused}");
            assert_eq!(level.current(), ("info".to_owned(), ChosenBy::Configuration));
        }
    }

    #[test]
    fn the_level_changes_while_the_process_runs() {
        let (level, layer) = LogLevel::new(Level::Info, None).unwrap();
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            let debugs = || tracing::enabled!(target: "weir_upstream", tracing::Level::DEBUG);
            let warns = || tracing::enabled!(target: "weir_upstream", tracing::Level::WARN);
            assert!(!debugs() && warns());
            level.set("info,weir_upstream=debug").unwrap();
            assert!(debugs());
            assert!(!tracing::enabled!(target: "weir_downstream", tracing::Level::DEBUG));
            level.configure(Level::Error);
            assert!(debugs(), "the operator's word stands");
            level.reset();
            assert!(!debugs() && !warns());
            level.set("trace").unwrap();
            assert!(debugs() && !tracing::enabled!(target: "h2", tracing::Level::DEBUG));
        });
    }

    #[test]
    fn the_environment_stands_before_the_configuration_and_after_the_operator() {
        let (level, _layer) = LogLevel::new(Level::Info, Some("weir_upstream=debug".to_owned())).unwrap();
        let is = |filter: &str, by| assert_eq!(level.current(), (filter.to_owned(), by));
        is("weir_upstream=debug", ChosenBy::Environment);
        level.configure(Level::Warn);
        is("weir_upstream=debug", ChosenBy::Environment);
        level.set("error").unwrap();
        is("error", ChosenBy::Operator);
        level.reset();
        is("weir_upstream=debug", ChosenBy::Environment);
        assert_eq!(
            LogLevel::new(Level::Info, Some(String::new())).unwrap().0.current().1,
            ChosenBy::Configuration
        );
    }
}
