//! The configuration file while the program runs: read again on SIGHUP and when it changes, and applied.
//!
//! A file that is not valid changes nothing. What a valid one changes is worked out by the table of settings, so that
//! what cannot change is named, and not half applied.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Gauge};
use tokio::signal::unix::Signal;
use tokio::sync::watch;
use weir_config::{Config, Counts, SETTINGS};
use weir_downstream::export::Export;
use weir_telemetry::LogLevel;
use weir_watch::Watch;

use crate::convert;

/// Where changes go.
pub(crate) struct Parts {
    pub(crate) level: LogLevel,
    pub(crate) clients: weir_downstream::Control,
    pub(crate) exports: watch::Sender<Vec<Export>>,
    reloads: Counter<u64>,
    pending: Gauge<u64>,
}

impl Parts {
    pub(crate) fn new(
        level: LogLevel,
        clients: weir_downstream::Control,
        exports: watch::Sender<Vec<Export>>,
    ) -> Self {
        let (reloads, pending) =
            (weir_metrics::CONFIG_RELOADS.counter(), weir_metrics::CONFIG_PENDING.gauge());
        Self { level, clients, exports, reloads, pending }
    }
}

/// Follows the configuration file.
pub(crate) struct Reload {
    path: PathBuf,
    /// What the file held when it was last read.
    text: String,
    /// What the program was started with.
    started: Config,
    /// What was applied last.
    applied: Config,
}

impl Reload {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read or is not valid.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let text = read(path)?;
        let config = weir_config::parse(&text, path)?;
        Ok(Self { path: path.to_owned(), text, started: config.clone(), applied: config })
    }

    /// What the program is started with.
    pub(crate) fn config(&self) -> &Config {
        &self.started
    }

    /// Applies the file to `parts` whenever it is read again: on `hangups`, and when it changes. Where the file cannot be watched, SIGHUP still does.
    pub(crate) async fn run(mut self, mut hangups: Signal, parts: Parts) -> Result<()> {
        let mut watch = Watch::new([&self.path])
            .inspect_err(|error| tracing::warn!(%error, "the configuration file is not watched; send SIGHUP"))
            .ok();
        loop {
            let asked = tokio::select! {
                _ = hangups.recv() => true,
                () = changed(&mut watch) => false,
            };
            let text = read(&self.path).map_err(|error| format!("{error:#}"));
            // A watch tells of whatever happens beside the file.
            if asked || text.as_ref().is_ok_and(|text| *text != self.text) {
                self.reload(text, &parts);
            }
        }
    }

    fn reload(&mut self, text: Result<String, String>, parts: &Parts) {
        let config = text.and_then(|text| {
            let config = weir_config::parse(&text, &self.path).map_err(|error| error.to_string());
            self.text = text;
            config
        });
        let changed = config.map(|config| self.apply(config, parts));
        let outcome = match &changed {
            Ok(changed) => {
                tracing::info!(changed = changed.join(","), "the configuration is reloaded");
                "applied"
            }
            Err(reason) => {
                tracing::error!(%reason, "the configuration is not reloaded; what was good stays");
                "failed"
            }
        };
        parts.reloads.add(1, &[KeyValue::new("outcome", outcome)]);
        let pending = differing(&self.started, &self.applied, |counts| counts == Counts::Restart);
        if changed.is_ok() && !pending.is_empty() {
            let keys = pending.join(",");
            tracing::warn!(keys, "these settings have changed and stay as they were until a restart");
        }
        parts.pending.record(pending.len() as u64, &[]);
    }

    /// Puts a valid configuration in force, as far as that can be, and tells which keys changed.
    fn apply(&mut self, config: Config, parts: &Parts) -> Vec<&'static str> {
        let changed = differing(&self.applied, &config, |counts| counts != Counts::Restart);
        parts.level.configure(convert::logs(&config.log).level);
        parts.clients.adjust(convert::downstream(&config));
        let exports = convert::exports(&config);
        parts.exports.send_if_modified(|current| {
            let differs = changed.contains(&"export");
            if differs {
                *current = exports;
            }
            differs
        });
        self.applied = config;
        changed
    }
}

/// The keys of these kinds that are not the same in both.
fn differing(one: &Config, other: &Config, kinds: impl Fn(Counts) -> bool) -> Vec<&'static str> {
    let settings = SETTINGS.iter().filter(|setting| kinds(setting.counts) && setting.differs(one, other));
    settings.map(|setting| setting.key).collect()
}

async fn changed(watch: &mut Option<Watch>) {
    match watch {
        Some(watch) => {
            watch.changed().await;
            watch.follow();
        }
        None => std::future::pending().await,
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
