//! One logical stream of the incremental dialect.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use prost::Message as _;
use weir_wire::discovery::{ControlPlane, DeltaDiscoveryResponse, Resource, ResourceError, ResourceName};

use super::manners::{self, Missing};
use super::service::Topic;
use super::state::{Request, State};
use super::wanted::{Match, Wanted, Whom, has_legacy_wildcard, select};
use crate::constraints::variant;
use crate::resource::Published;

/// A variant that a client holds: its name, its encoded constraints, and whether it was sent by locator.
type Key = (String, Vec<u8>, bool);

#[derive(Default)]
pub(super) struct DeltaTopic {
    type_url: String,
    wanted: BTreeSet<Wanted>,
    met: bool,
    /// What the client was sent and not asked to forget: its version, and how it is named in a removal.
    held: BTreeMap<Key, (String, ResourceName)>,
    /// What the client stated that it has from an earlier stream; none once that has been compared.
    initial: HashMap<String, String>,
    /// Newly subscribed: to be sent whether or not the client has it.
    owed: BTreeSet<Wanted>,
    /// Subscribed, not there, and the client knows.
    known_missing: BTreeSet<Wanted>,
    /// What the client holds and has a time to live.
    mortal: Vec<Match>,
    /// A wildcard's first answer is sent even if it is empty.
    due: bool,
}

impl Topic for DeltaTopic {
    type Response = DeltaDiscoveryResponse;

    fn handle(&mut self, request: &Request, whom: &Whom) {
        for gone in whom.wanted(&request.unsubscribed, &request.unsubscribed_locators) {
            self.wanted.remove(&gone);
            self.owed.remove(&gone);
            self.known_missing.remove(&gone);
        }
        let mut added = whom.wanted(&request.names, &request.locators);
        if !self.met {
            self.met = true;
            self.type_url = request.type_url.clone();
            self.initial = request.initial_versions.clone();
            if added.is_empty() && has_legacy_wildcard(&request.type_url) {
                added.insert(Wanted::plain("*"));
            }
        }
        self.due |= added.iter().any(Wanted::is_wildcard);
        for wanted in added {
            self.known_missing.remove(&wanted);
            self.owed.insert(wanted.clone());
            self.wanted.insert(wanted);
        }
    }

    fn poll(&mut self, state: &State, whom: &Whom, nonce: &str) -> Option<DeltaDiscoveryResponse> {
        let published = &state.published;
        let matches = select(published, &self.type_url, &self.wanted, whom);
        let owed = select(published, &self.type_url, &std::mem::take(&mut self.owed), whom);
        let (mut resources, mut removed, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let initial = std::mem::take(&mut self.initial);
        let mut now = BTreeMap::new();
        for matched in &matches {
            let wrapped = matched.resource.wrapped(matched.located);
            let key = key_of(&wrapped);
            let held = self.held.get(&key).map(|(version, _)| version);
            let stated = initial.get(&matched.resource.name);
            let is_owed = stated.is_none() && owed.iter().any(|o| o.resource.replaces(&matched.resource));
            if is_owed || held.or(stated) != Some(&wrapped.version) {
                match matched.resource.resource_error() {
                    Some(error) => errors.push(error),
                    None => resources.push(wrapped.encode_to_vec().into()),
                }
            }
            now.insert(key, (wrapped.version.clone(), name_of(&wrapped)));
        }
        for (key, (_, name)) in &self.held {
            // What is merely no longer subscribed is forgotten in silence.
            if !now.contains_key(key) && !self.exists(published, name, whom) {
                removed.push((name.clone(), key.2));
            }
        }
        for name in initial.keys().filter(|name| !matches.iter().any(|m| m.resource.name == **name)) {
            removed.push((variant(name, None), false));
        }
        self.held = now;
        for wanted in self.newly_missing(&matches) {
            if removed.iter().any(|(name, _)| name.name == wanted.name) {
                continue;
            }
            match state.manners.missing {
                Missing::Silent => {}
                Missing::AsSubscribed => removed.push((variant(&wanted.name, None), wanted.located)),
                Missing::Removed => removed.push((variant(&wanted.name, None), false)),
                Missing::Error => errors.push(manners::not_found(&wanted)),
                Missing::Marker => resources.push(manners::marker(&wanted).encode_to_vec().into()),
            }
        }
        self.mortal = matches.into_iter().filter(|matched| matched.resource.ttl.is_some()).collect();
        self.due &= !state.manners.ignores_empty_wildcards;
        if state.manners.respells {
            removed.iter_mut().for_each(|(name, _)| name.name = manners::respelled(&name.name));
        }
        self.respond(resources, removed, errors, nonce)
    }

    fn beat(&mut self, whole: bool, nonce: &str) -> Option<DeltaDiscoveryResponse> {
        let beat = |matched: &Match| {
            let wrapped = matched.resource.wrapped(matched.located);
            let resource = wrapped.resource.clone().filter(|_| whole);
            Resource { resource, ..wrapped }.encode_to_vec().into()
        };
        self.respond(self.mortal.iter().map(beat).collect(), Vec::new(), Vec::new(), nonce)
    }
}

impl DeltaTopic {
    /// Whether the variant is still there, so that only an unsubscription can be why the client lacks it.
    fn exists(&self, published: &[Published], name: &ResourceName, whom: &Whom) -> bool {
        let mut same_type = published.iter().filter(|r| r.type_url == self.type_url);
        same_type.any(|r| {
            (&r.name, &r.constraints) == (&name.name, &name.dynamic_parameter_constraints)
                && r.audience.includes(&whom.node)
        })
    }

    /// What is subscribed by name and not there, unless the client knows.
    fn newly_missing(&mut self, matches: &[Match]) -> Vec<Wanted> {
        let mut missing = Vec::new();
        for wanted in self.wanted.iter().filter(|w| !w.is_wildcard()) {
            if matches.iter().any(|m| wanted.is_answered_by(&m.resource)) {
                self.known_missing.remove(wanted);
            } else if self.known_missing.insert(wanted.clone()) {
                missing.push(wanted.clone());
            }
        }
        missing
    }

    fn respond(
        &mut self,
        resources: Vec<bytes::Bytes>,
        removed: Vec<(ResourceName, bool)>,
        resource_errors: Vec<ResourceError>,
        nonce: &str,
    ) -> Option<DeltaDiscoveryResponse> {
        let due = std::mem::take(&mut self.due);
        if resources.is_empty() && removed.is_empty() && resource_errors.is_empty() && !due {
            return None;
        }
        let (located, plain): (Vec<_>, Vec<_>) = removed.into_iter().partition(|(_, located)| *located);
        Some(DeltaDiscoveryResponse {
            resources,
            type_url: self.type_url.clone(),
            nonce: nonce.to_owned(),
            removed_resources: plain.into_iter().map(|(name, _)| name.name).collect(),
            removed_resource_names: located.into_iter().map(|(name, _)| name).collect(),
            resource_errors,
            control_plane: Some(ControlPlane { identifier: "fake".to_owned() }),
            ..DeltaDiscoveryResponse::default()
        })
    }
}

fn name_of(resource: &Resource) -> ResourceName {
    resource.resource_name.clone().unwrap_or_else(|| variant(&resource.name, None))
}

fn key_of(resource: &Resource) -> Key {
    let name = name_of(resource);
    let constraints = name.dynamic_parameter_constraints.map(|c| c.encode_to_vec()).unwrap_or_default();
    (name.name, constraints, resource.resource_name.is_some())
}
