//! One logical stream of the state of the world.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use prost::Message as _;
use prost_types::Any;
use weir_wire::discovery::{ControlPlane, DiscoveryResponse, Resource, ResourceError};

use super::manners::{self, Missing};
use super::service::Topic;
use super::state::{Request, State};
use super::wanted::{Match, Wanted, Whom, has_legacy_wildcard, is_full_state, select};

/// The type of a wrapped resource.
const RESOURCE: &str = "type.googleapis.com/envoy.service.discovery.v3.Resource";

#[derive(Default)]
pub(super) struct SotwTopic {
    type_url: String,
    wanted: BTreeSet<Wanted>,
    /// Whether a request has come.
    met: bool,
    /// Whether a name was ever given, after which no names means nothing.
    named: bool,
    /// The version that the client has, as far as we know.
    version: String,
    nonce: String,
    /// Whether the newest response has been answered.
    answered: bool,
    /// Whether something must be sent, changed or not.
    due: bool,
    /// Whether less is wanted than before, which by itself is no reason to send anything.
    shrunk: bool,
    /// What the client was sent last.
    held: Vec<Match>,
}

impl Topic for SotwTopic {
    type Response = DiscoveryResponse;

    fn handle(&mut self, request: &Request, whom: &Whom) {
        let first = !std::mem::replace(&mut self.met, true);
        let current = request.nonce == self.nonce;
        let mut wanted = whom.wanted(&request.names, &request.locators);
        self.named |= !wanted.is_empty();
        if wanted.is_empty() && !self.named && has_legacy_wildcard(&request.type_url) {
            wanted.insert(Wanted::plain("*"));
        }
        let added = wanted.difference(&self.wanted).next().is_some();
        let asks_again = current && self.answered && wanted == self.wanted && request.error.is_none();
        if first {
            self.type_url = request.type_url.clone();
            self.version = request.version.clone();
            self.due = self.version.is_empty();
        } else {
            self.due |= added || asks_again;
            self.answered |= current;
            self.shrunk |= self.wanted.difference(&wanted).next().is_some();
        }
        self.wanted = wanted;
    }

    fn poll(&mut self, state: &State, whom: &Whom, nonce: &str) -> Option<DiscoveryResponse> {
        let matches = select(&state.published, &self.type_url, &self.wanted, whom);
        let version = version_of(&matches);
        if std::mem::take(&mut self.shrunk) && matches.iter().all(|m| self.held.contains(m)) {
            self.version.clone_from(&version);
        }
        if !self.met || (version == self.version && !self.due) {
            return None;
        }
        let due = std::mem::take(&mut self.due);
        let never_had_any = self.version.is_empty() && matches.is_empty();
        if never_had_any
            && state.manners.ignores_empty_wildcards
            && self.wanted.iter().all(Wanted::is_wildcard)
        {
            return None;
        }
        self.version = version.clone();
        let missing = self.missing(&matches, state.manners.missing);
        let is_empty = matches.is_empty() && missing.is_empty() && !is_full_state(&self.type_url);
        if is_empty || self.wanted.is_empty() {
            return None;
        }
        self.nonce = nonce.to_owned();
        self.answered = false;
        let failing = matches.iter().filter(|m| m.resource.error.is_some());
        let untold = failing.filter(|m| due || !self.held.contains(m));
        let untold = untold.filter_map(|m| m.resource.resource_error());
        let resource_errors = untold.chain(missing).collect();
        self.held = matches;
        let whole = self.held.iter().filter(|m| m.resource.error.is_none());
        Some(DiscoveryResponse { resource_errors, ..self.respond(whole.map(encode).collect()) })
    }

    fn beat(&mut self, whole: bool, nonce: &str) -> Option<DiscoveryResponse> {
        let resources: Vec<Bytes> = match whole {
            true => self.held.iter().map(encode).collect(),
            false => self.held.iter().filter(|m| m.resource.ttl.is_some()).map(heartbeat).collect(),
        };
        if resources.is_empty() {
            return None;
        }
        self.nonce = nonce.to_owned();
        self.answered = false;
        Some(self.respond(resources))
    }
}

impl SotwTopic {
    /// The errors for names that nothing of `matches` answers, where that is how it is answered.
    fn missing(&self, matches: &[Match], how: Missing) -> Vec<ResourceError> {
        let named = self.wanted.iter().filter(|w| how == Missing::Error && !w.is_wildcard());
        named
            .filter(|w| !matches.iter().any(|m| w.is_answered_by(&m.resource)))
            .map(manners::not_found)
            .collect()
    }

    fn respond(&self, resources: Vec<Bytes>) -> DiscoveryResponse {
        DiscoveryResponse {
            version_info: self.version.clone(),
            resources,
            type_url: self.type_url.clone(),
            nonce: self.nonce.clone(),
            control_plane: Some(ControlPlane { identifier: "fake".to_owned() }),
            ..DiscoveryResponse::default()
        }
    }
}

/// A function of the content alone, so that it holds across streams and restarts.
pub(super) fn version_of(matches: &[Match]) -> String {
    let mut parts: Vec<_> = matches
        .iter()
        .map(|Match { resource, .. }| {
            format!("{} {:?} {}", resource.name, resource.constraints, resource.version)
        })
        .collect();
    parts.sort();
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Wrapped only if there is something that only the wrapper can carry.
pub(super) fn encode(Match { resource, located }: &Match) -> Bytes {
    let plain = !located && resource.ttl.is_none() && !resource.do_not_cache && resource.aliases.is_empty();
    match &resource.body {
        Some(body) if plain => body.clone(),
        _ => wrap(&resource.wrapped(*located)),
    }
}

/// As control planes of this dialect send it: the version is that of the response.
fn heartbeat(Match { resource, located }: &Match) -> Bytes {
    wrap(&Resource { resource: None, version: String::new(), ..resource.wrapped(*located) })
}

fn wrap(resource: &Resource) -> Bytes {
    Any { type_url: RESOURCE.to_owned(), value: resource.encode_to_vec() }.encode_to_vec().into()
}
