//! The configuration file while the program runs: read again on SIGHUP and when it changes, and applied.
//!
//! A file that is not valid changes nothing. What a valid one changes is worked out by the table of settings, so that
//! what cannot change is named, and not half applied. What can go wrong goes wrong before anything is changed.

mod upstreams;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use opentelemetry::KeyValue;
use tokio::signal::unix::Signal;
use tokio::sync::watch;
use weir_admin::Auth;
use weir_config::{Config, Counts, Export, SETTINGS};
use weir_telemetry::LogLevel;
use weir_tls::Acceptor;
use weir_watch::Watch;

use crate::convert;
use crate::loaded::Loaded;
use crate::service_manager::ServiceManager;

pub(crate) use upstreams::Upstreams;

/// Where changes go.
pub(crate) struct Parts {
    pub(crate) level: LogLevel,
    pub(crate) clients: weir_downstream::Control,
    pub(crate) exports: watch::Sender<Vec<Export>>,
    pub(crate) upstreams: Upstreams,
    pub(crate) loaded: Loaded,
    /// TLS of the client listener, if it has any.
    pub(crate) tls: Option<Acceptor>,
    /// Who operates, where there is an admin server.
    pub(crate) operators: Option<Operators>,
    /// Notified when a reload begins and ends.
    pub(crate) manager: ServiceManager,
}

/// Whom the admin server lets do what.
pub(crate) struct Operators {
    /// TLS of the listener, if it has any.
    pub(crate) tls: Option<Acceptor>,
    pub(crate) auth: watch::Sender<Auth>,
}

impl Operators {
    fn follow(&self, tls: Option<Acceptor>, auth: Auth) {
        if let (Some(running), Some(next)) = (&self.tls, &tls) {
            running.follow(next);
        }
        self.auth.send_replace(auth);
    }
}

/// Follows the configuration file.
pub(crate) struct Reload {
    path: PathBuf,
    /// What the file held when it was last read.
    text: String,
    /// What is in force.
    running: Config,
}

impl Reload {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read or is not valid.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let text = read(path)?;
        let running = weir_config::parse(&text, path)?;
        Ok(Self { path: path.to_owned(), text, running })
    }

    /// What is in force.
    pub(crate) fn config(&self) -> &Config {
        &self.running
    }

    /// Applies the file to `parts` whenever it is read again: on `hangups`, and when it changes. Where the file cannot be watched, SIGHUP still does.
    pub(crate) async fn run(mut self, mut hangups: Signal, parts: Parts) -> Result<()> {
        let mut watch = Watch::new([&self.path])
            .inspect_err(
                |error| tracing::warn!(%error, "configuration file cannot be watched; send SIGHUP to reload"),
            )
            .ok();
        // What has changed since it was read, nobody has watched.
        let mut asked = false;
        loop {
            let text = read(&self.path).map_err(|error| format!("{error:#}"));
            // What is written may be what was there.
            if asked || text.as_ref().is_ok_and(|text| *text != self.text) {
                parts.manager.reloading();
                // Files that are named are read first.
                tokio::task::block_in_place(|| self.reload(text, &parts));
                parts.manager.ready();
            }
            asked = tokio::select! {
                _ = hangups.recv() => true,
                () = changed(&mut watch) => false,
            };
        }
    }

    fn reload(&mut self, text: Result<String, String>, parts: &Parts) {
        let config = text.and_then(|text| {
            let config = weir_config::parse(&text, &self.path).map_err(|error| error.to_string());
            self.text = text;
            config
        });
        let applied = config.and_then(|config| {
            let applied = self.apply(&config, parts).map_err(|error| format!("{error:#}"));
            applied.map(|changed| (changed, differing(&self.running, &config, |_| true)))
        });
        let outcome = match applied {
            Ok((changed, pending)) => {
                tracing::info!(changed = changed.join(","), "configuration reloaded");
                if !pending.is_empty() {
                    let keys = pending.join(",");
                    tracing::warn!(keys, "changed settings have no effect until a restart");
                }
                weir_metrics::CONFIG_PENDING.gauge().record(pending.len() as u64, &[]);
                parts.loaded.applied(&self.running, changed, pending);
                "applied"
            }
            Err(reason) => {
                tracing::error!(%reason, "configuration rejected; the previous one stays in force");
                parts.loaded.refused(reason);
                "failed"
            }
        };
        weir_metrics::CONFIG_RELOADS.counter().add(1, &[KeyValue::new("outcome", outcome)]);
    }

    /// Puts a valid configuration in force, as far as that is possible, and logs which keys changed.
    ///
    /// # Errors
    /// When something that it names cannot be used; then nothing is changed.
    fn apply(&mut self, file: &Config, parts: &Parts) -> Result<Vec<&'static str>> {
        let next = weir_config::in_force(&self.running, file);
        let upstreams = parts.upstreams.prepare(&self.running, &next)?;
        // What cannot change may come along with an upstream that is new.
        let changed = differing(&self.running, &next, |counts| counts != Counts::Restart);
        let tls = match changed.contains(&"downstream.tls") {
            true => convert::tls::valid_downstream(&next.downstream)?,
            false => None,
        };
        let operators = match &next.admin {
            Some(admin) if changed.iter().any(|key| key.starts_with("admin.")) => {
                Some(convert::tls::valid_admin(admin)?)
            }
            _ => None,
        };
        if let (Some(running), Some(next)) = (&parts.tls, &tls) {
            running.follow(next);
        }
        if let (Some(running), Some((tls, auth))) = (&parts.operators, operators) {
            running.follow(tls, auth);
        }
        parts.level.configure(next.log.level);
        parts.clients.apply_settings((&next).into());
        parts.upstreams.apply(upstreams, &next);
        parts.exports.send_if_modified(|current| {
            let differs = changed.contains(&"export");
            if differs {
                current.clone_from(&next.exports);
            }
            differs
        });
        self.running = next;
        Ok(changed)
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
