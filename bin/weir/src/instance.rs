//! What the admin server shows, gathered from the parts that have it.

mod clients;
mod config;
mod delivery;
mod store;
mod upstreams;

use std::sync::Arc;

use weir_admin::{
    Changed, Client, Condition, Configuration, Delivery, Draining, Nack, Propagated, Refused, Sketch,
    Upstream,
};
use weir_database::Database;
use weir_downstream::clients::Registry;
use weir_store::Store;
use weir_telemetry::{LogLevel, Metrics};
use weir_types::{Fingerprint, Name, TypeUrl};

use crate::lifetime::Drain;
use crate::loaded::Loaded;
use crate::ready::Readiness;

/// This Weir, to be looked at.
pub(crate) struct Instance {
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) metrics: Metrics,
    pub(crate) upstream: weir_upstream::Status,
    pub(crate) clients: Registry,
    pub(crate) database: Database,
    pub(crate) log_level: LogLevel,
    pub(crate) drain: Drain,
    pub(crate) loaded: Loaded,
    pub(crate) store: Option<Store>,
}

impl weir_admin::Instance for Instance {
    fn pending(&self) -> Vec<String> {
        self.readiness.pending()
    }

    fn metrics(&self) -> Result<String, String> {
        self.metrics.render().map_err(|error| error.to_string())
    }

    fn upstreams(&self) -> Vec<Upstream> {
        self.upstream.streams().into_iter().map(upstreams::shown).collect()
    }

    fn confirm_removals(&self, upstream: u64, type_url: &TypeUrl) -> bool {
        self.upstream.confirm_removals(upstream, type_url)
    }

    fn draining(&self) -> Draining {
        Draining {
            draining: self.drain.draining.is_cancelled(),
            streams: self.clients.ids().len(),
            limit_seconds: self.drain.limit().as_secs_f64(),
        }
    }

    fn drain(&self) {
        self.drain.draining.cancel();
    }

    fn client_ids(&self) -> Vec<u64> {
        self.clients.ids()
    }

    fn clients_seen(&self) -> u64 {
        self.clients.seen()
    }

    fn client(&self, id: u64, whole: bool) -> Option<Client> {
        let snapshot = self.clients.get(id)?;
        let mut client = clients::shown(&snapshot);
        if whole {
            clients::add_locators(&mut client, &snapshot, &self.database);
        }
        Some(client)
    }

    fn client_sketch(&self, id: u64) -> Option<Sketch> {
        let (client, dialect) = self.clients.client(id)?;
        Some(clients::sketch(&client, dialect))
    }

    fn client_may_have(&self, id: u64, type_url: &TypeUrl, name: &Name) -> Option<bool> {
        let (client, _) = self.clients.client(id)?;
        Some(client.profile.rights.may_have(type_url, name))
    }

    fn client_views(&self, id: u64) -> Option<Vec<(TypeUrl, Fingerprint)>> {
        let snapshot = self.clients.get(id)?;
        Some(snapshot.types.into_iter().map(|status| (status.type_url, status.subscription)).collect())
    }

    fn client_standing(&self, id: u64) -> Option<Vec<(u64, Condition)>> {
        let standing = self.clients.standing(id)?.into_iter();
        Some(standing.map(|(view, standing)| (view, clients::condition(standing))).collect())
    }

    fn propagated(&self) -> Vec<Propagated> {
        self.upstream.propagated().into_iter().map(upstreams::propagated).collect()
    }

    fn deliveries(&self, type_url: &TypeUrl, changed: &Changed) -> Vec<Delivery> {
        delivery::of(&self.clients, type_url, changed)
    }

    fn nacks(&self) -> Vec<Nack> {
        self.clients.nacks().into_iter().map(clients::rejection).collect()
    }

    fn database(&self) -> Database {
        self.database.clone()
    }

    fn store(&self) -> Option<weir_admin::Store> {
        let unconfirmed =
            || self.upstream.streams().iter().flat_map(|stream| stream.unconfirmed.values()).sum();
        self.store.as_ref().map(|store| store::shown(store, unconfirmed()))
    }

    fn refused(&self) -> Vec<Refused> {
        let refused = self.database.refused().into_iter();
        let shown = |((authority, limit), subscriptions)| Refused { authority, limit, subscriptions };
        refused.map(shown).collect()
    }

    fn configuration(&self) -> Result<Configuration, String> {
        config::shown(self.loaded.look()).map_err(|error| format!("{error:#}"))
    }

    fn configuration_file(&self) -> Result<String, String> {
        let document = self.loaded.look().config.document();
        document.map(|document| document.to_string()).map_err(|error| error.to_string())
    }

    fn log_level(&self) -> weir_admin::LogLevel {
        let (level, chosen_by) = self.log_level.current();
        weir_admin::LogLevel { level, chosen_by: chosen_by.to_string() }
    }

    fn set_log_level(&self, level: Option<&str>) -> Result<(), String> {
        let Some(level) = level else {
            self.log_level.reset();
            return Ok(());
        };
        self.log_level.set(level).map_err(|error| error.to_string())?;
        tracing::info!(level, "log level changed");
        Ok(())
    }
}
