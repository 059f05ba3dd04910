//! Upstreams that change, come and go with the configuration.

use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::sync::mpsc::UnboundedSender;
use weir_config::{Config, Source};
use weir_database::Database;
use weir_store::Store;
use weir_upstream::{Change, files};

use crate::convert;
use crate::ready::Readiness;

/// Where changes of upstreams go.
pub(crate) struct Upstreams {
    pub(crate) changes: UnboundedSender<Change>,
    pub(crate) database: Database,
    pub(crate) store: Option<Store>,
    pub(crate) readiness: Arc<Readiness>,
}

impl Upstreams {
    /// What has to be done to get from one configuration to the next. To be called in a tokio runtime.
    ///
    /// # Errors
    /// When a file that is named cannot be used.
    pub(super) fn prepare(&self, running: &Config, next: &Config) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        for gone in running.upstreams.iter().filter(|upstream| !has(next, &upstream.authority)) {
            changes.push(Change::Remove(gone.authority.clone()));
        }
        for (i, upstream) in next.upstreams.iter().enumerate() {
            // In another place it has another name in logs and metrics.
            if running.upstreams.get(i).is_none_or(|before| before != upstream) {
                changes.extend(self.put(i, running, next)?);
            }
        }
        Ok(changes)
    }

    fn put(&self, i: usize, running: &Config, next: &Config) -> Result<Option<Change>> {
        let upstream = &next.upstreams[i];
        match &upstream.source {
            // Of these nothing changes but that they come.
            Source::Files(_) if has(running, &upstream.authority) => return Ok(None),
            Source::Files(source) => {
                let loaded = files::load(&source.path, &files::Loaded::default());
                loaded.with_context(|| format!("upstream[{i}].files"))?;
            }
            Source::ControlPlane(control_plane) => convert::tls::check_upstream(i, control_plane)?,
        }
        convert::source(next, i, upstream, self.store.as_ref()).map(Change::Put).map(Some)
    }

    /// Does what was prepared.
    pub(super) fn apply(&self, changes: Vec<Change>, next: &Config) {
        for change in &changes {
            if let Change::Remove(authority) = change {
                self.database.limit(authority, None, None);
                self.database.keep_idle(authority, None);
            }
        }
        for upstream in &next.upstreams {
            let (sets, demand) = convert::limits(upstream);
            self.database.limit(&upstream.authority, sets, demand);
            self.database.keep_idle(&upstream.authority, convert::idle(upstream));
        }
        self.database.limit_clients(convert::client_limits(next));
        self.readiness.follow(next);
        for change in changes {
            // Where nobody listens any more, the program is about to end.
            _ = self.changes.send(change);
        }
    }
}

fn has(config: &Config, authority: &str) -> bool {
    config.upstreams.iter().any(|upstream| upstream.authority == authority)
}
