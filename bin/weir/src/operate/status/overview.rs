//! What there is to see of an instance, and what of it an operator has to see to.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::json;
use weir_admin::{Accepted, Client, Condition, Reload, Store, Upstream, WithheldRemovals};
use weir_telemetry::printable;

use crate::operate::admin::Admin;
use crate::operate::output::set;

/// What there is to see of an instance.
#[derive(Serialize)]
pub(super) struct Overview {
    #[serde(flatten)]
    pub(super) readiness: Readiness,
    pub(super) upstreams: Vec<Upstream>,
    config: Option<ConfigStatus>,
    store: Option<Store>,
    /// How many streams stand how, each by the worst of its types.
    pub(super) clients: Counts,
    /// The same of each type.
    pub(super) types: BTreeMap<Cow<'static, str>, Counts>,
    /// How many streams have accepted which versions of each type.
    pub(super) versions: BTreeMap<Cow<'static, str>, BTreeMap<String, u64>>,
}

/// How many stand how.
pub(super) type Counts = BTreeMap<Condition, u64>;

/// Whether clients can be served, and what is missing.
#[derive(Deserialize, Serialize)]
pub(super) struct Readiness {
    pub(super) ready: bool,
    pub(super) pending: Option<Vec<String>>,
}

/// What became of the configuration file.
#[derive(Deserialize, Serialize)]
pub(super) struct ConfigStatus {
    last_reload: Option<Reload>,
    waiting_for_restart: Vec<String>,
}

impl Overview {
    /// Whether clients can be served, nobody rejects anything, and every resource file is served.
    pub(super) fn is_healthy(&self) -> bool {
        let rejecting = self.clients.get(&Condition::Rejecting).copied().unwrap_or_default();
        self.readiness.ready && rejecting == 0 && self.upstreams.iter().all(|upstream| upstream.problems == 0)
    }

    /// Asks an instance.
    pub(super) fn gather(admin: &Admin) -> Result<Self> {
        let readiness = admin.get("/ready")?;
        let mut upstreams: Vec<Upstream> = admin.list("/upstreams", &[])?;
        upstreams.sort_by_cached_key(|upstream| (upstream.authority.clone(), whom(upstream)));
        let mut overview = Self {
            readiness,
            upstreams,
            config: None,
            store: None,
            clients: Condition::ALL.map(|condition| (condition, 0)).into(),
            types: BTreeMap::new(),
            versions: BTreeMap::new(),
        };
        for client in admin.list::<Client>("/clients", &[])? {
            *overview.clients.entry(client.state).or_default() += 1;
            for of_type in client.types {
                let name = of_type.short_name;
                *overview.types.entry(name.clone()).or_default().entry(of_type.state).or_default() += 1;
                if let Some(Accepted { version }) = of_type.accepted {
                    *overview.versions.entry(name).or_default().entry(version).or_default() += 1;
                }
            }
        }
        overview.config = admin.find("/config")?;
        overview.store = admin.find("/store")?;
        Ok(overview)
    }

    /// What an operator has to see to, though clients are served.
    pub(super) fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        for upstream in &self.upstreams {
            if upstream.problems > 0 {
                let files = printable(upstream.endpoint.as_deref().unwrap_or_default());
                let problem = upstream.last_error.as_ref().map(|error| printable(&error.message));
                let problem = problem.unwrap_or_default();
                troubles.push(format!("files in {files} are not served: {problem}"));
            }
            for WithheldRemovals { short_name, loss, removals, of, names, .. } in &upstream.withheld {
                let (whom, of_type, names) = (whom(upstream), printable(short_name), names.join(", "));
                let loss = if loss == "endpoints" { "assignments without endpoints" } else { "removals" };
                troubles.push(format!("withheld for {whom}: {removals} of {of} {of_type} {loss}: {names}"));
            }
        }
        if let Some(ConfigStatus { last_reload, waiting_for_restart }) = &self.config {
            let refused = last_reload.as_ref().and_then(|reload| reload.error.as_ref());
            troubles.extend(refused.map(|error| format!("the configuration file is not in force: {error}")));
            if !waiting_for_restart.is_empty() {
                let waiting = waiting_for_restart.join(", ");
                troubles.push(format!("changed, and not in force until a restart: {waiting}"));
            }
        }
        let failure = self.store.as_ref().and_then(|store| store.failure.as_ref());
        troubles.extend(failure.map(|failure| format!("nothing is stored: {failure}")));
        troubles
    }
}

/// Whom an upstream is for.
pub(super) fn whom(upstream: &Upstream) -> String {
    upstream.parameters.as_ref().map_or_else(|| "anyone".to_owned(), |parameters| set(&json!(parameters)))
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, from_value};

    use super::*;

    /// A stream to a control plane, with `changes` to how it is usually shown.
    pub(in crate::operate::status) fn upstream(changes: Value) -> Upstream {
        let mut shown = json!({
            "id": 1, "authority": "", "state": "in-sync", "parameters": null, "carries": "", "endpoint": null,
            "since": "2026-03-02T09:12:44Z", "age_seconds": 3.0, "last_error": null, "problems": 0,
            "unconfirmed": [], "withheld": [], "forwarded": null,
        });
        changes.as_object().unwrap().iter().for_each(|(key, value)| shown[key] = value.clone());
        from_value(shown).unwrap()
    }

    fn overview(ready: bool, rejecting: u64, upstreams: Vec<Upstream>) -> Overview {
        Overview {
            readiness: Readiness { ready, pending: None },
            upstreams,
            config: None,
            store: None,
            clients: [(Condition::Rejecting, rejecting)].into(),
            types: BTreeMap::new(),
            versions: BTreeMap::new(),
        }
    }

    #[test]
    fn what_an_operator_has_to_see_to_is_stated() {
        let at = "2026-03-02T09:12:44.104123Z";
        let withheld = json!({
            "type": "cds", "type_url": "x", "loss": "removals", "removals": 3, "of": 4, "names": ["a", "b"], "since": at,
        });
        let error = json!({ "at": at, "message": "a.yaml:3: no (and 1 more)" });
        let mut overview = overview(
            true,
            0,
            vec![
                upstream(json!({ "parameters": { "env": "prod" }, "withheld": [withheld] })),
                upstream(json!({})),
                upstream(json!({ "endpoint": "/etc/r", "problems": 2, "last_error": error })),
            ],
        );
        assert_eq!(overview.troubles().len(), 2);
        let reload = json!({ "at": at, "applied": false, "changed": [], "error": "weir.toml:3: no" });
        overview.config = from_value(json!({
            "last_reload": reload, "waiting_for_restart": ["store", "node"],
        }))
        .unwrap();
        overview.store = from_value(json!({
            "path": "", "failure": "disk full", "size": 0, "max_size": 0, "pending": 0, "written": null,
            "refused": 0, "unreadable": 0, "secrets": false, "set_aside": [], "unconfirmed": 0,
        }))
        .unwrap();
        assert_eq!(
            overview.troubles(),
            [
                "withheld for {env=prod}: 3 of 4 cds removals: a, b",
                "files in /etc/r are not served: a.yaml:3: no (and 1 more)",
                "the configuration file is not in force: weir.toml:3: no",
                "changed, and not in force until a restart: store, node",
                "nothing is stored: disk full",
            ]
        );
    }

    #[test]
    fn f01_an_instance_with_a_bad_resource_file_is_not_healthy() {
        let overview = |ready: bool, rejecting: u64, problems: u64| {
            overview(ready, rejecting, vec![upstream(json!({ "problems": problems }))])
        };
        assert!(overview(true, 0, 0).is_healthy());
        for ill in [overview(false, 0, 0), overview(true, 1, 0), overview(true, 0, 1)] {
            assert!(!ill.is_healthy(), "{}", json!(ill));
        }
    }
}
