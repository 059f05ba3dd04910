//! What the admin server tells, gathered from the parts that know it.

mod clients;
mod upstreams;

use weir_admin::{Client, Nack, Upstream};
use weir_downstream::NodeRules;
use weir_downstream::clients::Registry;
use weir_telemetry::Metrics;

use crate::ready::Readiness;

/// This Weir, to be looked at.
pub(crate) struct Instance {
    pub(crate) readiness: Readiness,
    pub(crate) metrics: Metrics,
    pub(crate) upstream: weir_upstream::Status,
    pub(crate) clients: Registry,
    pub(crate) rules: NodeRules,
}

impl weir_admin::Instance for Instance {
    fn pending(&self) -> Vec<String> {
        self.readiness.pending()
    }

    fn metrics(&self) -> Result<String, String> {
        self.metrics.render().map_err(|error| error.to_string())
    }

    fn upstreams(&self) -> Vec<Upstream> {
        self.upstream.links().into_iter().map(upstreams::shown).collect()
    }

    fn client_ids(&self) -> Vec<u64> {
        self.clients.ids()
    }

    fn client(&self, id: u64) -> Option<Client> {
        self.clients.get(id).map(|snapshot| clients::shown(&snapshot, &self.rules))
    }

    fn nacks(&self) -> Vec<Nack> {
        self.clients.nacks().into_iter().map(clients::rejection).collect()
    }
}
