//! What is sent: subscriptions, and the answers to responses.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use weir_types::{Name, ResourceLocator, TypeUrl, WILDCARD};

use super::locator_state::{AnswerState, FIRST_REQUEST};
use super::timers::Deadline;
use super::upstream_type::UpstreamType;
use super::{Connection, Naming, Request, Settings, UpstreamSession};
use crate::Dialect;

/// Stated for a name whose held variants cannot be stated, would die if a server had nothing to send for them, or must
/// not be cached: no server gives this version, so all that the name has is sent again.
pub(super) const UNSTATABLE_VERSION: &str = "weir: not statable";

impl UpstreamSession {
    /// The next request, if there is one to send. Types come in make-before-break order.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Request> {
        if self.connection == Connection::Away {
            return None;
        }
        let (type_url, upstream_type) =
            self.types.iter_mut().find(|(_, upstream_type)| upstream_type.has_request())?;
        upstream_type.check(self.settings.dialect);
        let mut request = upstream_type.next_request(type_url, &self.settings);
        request.first = std::mem::replace(&mut self.connection, Connection::Open) == Connection::New;
        let deadline = now + self.settings.does_not_exist;
        let watched = upstream_type.note_requested(&self.settings.naming, &request.subscribe, deadline);
        self.deadlines.extend(watched.into_iter().map(|locator| Deadline {
            at: deadline,
            type_url: type_url.clone(),
            locator,
        }));
        upstream_type.check(self.settings.dialect);
        Some(request)
    }
}

impl UpstreamType {
    fn has_request(&self) -> bool {
        if self.per_stream.exchange.is_started() { self.per_stream.has_request() } else { !self.is_idle() }
    }

    fn next_request(&mut self, type_url: &TypeUrl, settings: &Settings) -> Request {
        let first = !self.per_stream.exchange.is_started();
        let mut request = Request::empty(type_url.clone());
        match settings.dialect {
            Dialect::Sotw => {
                request.subscribe = self.sorted_locators();
                if first {
                    request.version = self.stated_version().unwrap_or_default();
                }
            }
            Dialect::Delta if first => {
                request.subscribe = self.sorted_locators();
                request.initial_versions = self.initial_versions(&settings.naming);
            }
            Dialect::Delta => {}
        }
        // Older servers know the wildcard only as the empty list ("How the client specifies what resources to return").
        let plain = matches!(settings.naming, Naming::Names { .. });
        self.per_stream.send(&mut request, plain && type_url.has_legacy_wildcard());
        request
    }

    fn sorted_locators(&self) -> Vec<ResourceLocator> {
        let mut list: Vec<_> = self.locators().map(|(locator, _)| locator).collect();
        list.sort_unstable();
        list
    }

    /// The version of all that is held, in state of the world. An equal version may go unanswered, so nothing may be
    /// left that has to be answered.
    fn stated_version(&self) -> Option<Arc<str>> {
        let mut states = self.wanted.values().flat_map(HashMap::values);
        let complete = states.all(|state| state.is_answered() && state.error().is_none())
            && self.cache.is_statable()
            && !self.per_stream.exchange.forces_response();
        self.version.clone().filter(|_| complete)
    }

    /// What is held, by name. A name does not distinguish variants, so a version is stated only where nobody can
    /// mistake what it is the version of.
    fn initial_versions(&self, naming: &Naming) -> Vec<(Name, Arc<str>)> {
        let state = |(name, variants): (&Name, &[super::upstream_cache::UpstreamVariant])| {
            let version = match variants {
                [only]
                    if only.is_statable()
                        && !self.is_failing(name, &only.aliases)
                        && (matches!(naming, Naming::Names { .. })
                            || only.constraints.is_unconstrained()
                            || self.askers(name, &only.aliases) == 1) =>
                {
                    Arc::clone(&only.version)
                }
                _ => Arc::from(UNSTATABLE_VERSION),
            };
            (name.clone(), version)
        };
        let mut stated: Vec<_> = self.cache.iter().map(state).collect();
        stated.sort_unstable();
        // A server whose whole content is stated may not answer, and a collection waits for its answer; and so does
        // what is remembered, to be vouched for.
        let forced = self.per_stream.exchange.forces_response() || self.cache.remembered() > 0;
        let forced = forced || self.locators().any(|(l, state)| l.is_collection() && !state.is_answered());
        if let Some(first) = stated.first_mut().filter(|_| forced) {
            first.1 = Arc::from(UNSTATABLE_VERSION);
        }
        stated
    }

    /// Whether an error is the last word on a name: it is over when the resource is sent again, changed or not.
    fn is_failing(&self, name: &Name, aliases: &[Name]) -> bool {
        let mut asking = self.asking(name, aliases).flat_map(|name| self.wanted[name].values());
        asking.any(|state| state.error().is_some())
    }

    /// Notes what the server was asked for; gives the locators whose answer is waited for until `deadline`.
    fn note_requested(
        &mut self,
        naming: &Naming,
        sent: &[ResourceLocator],
        deadline: Instant,
    ) -> Vec<ResourceLocator> {
        // The legacy wildcard is sent as an empty list, but it is sent.
        let wildcard = self.wanted.get(Name::wildcard()).filter(|_| sent.is_empty()).into_iter().flatten();
        let wildcard = wildcard.map(|(parameters, _)| ResourceLocator::new(WILDCARD, parameters.clone()));
        let sent: Vec<ResourceLocator> = sent.iter().cloned().chain(wildcard).collect();
        let mut watched = Vec::new();
        let request = self.per_stream.requests();
        for locator in sent {
            let held = self.answer_of_held(naming, &locator);
            let state = self.locator_state(&locator).filter(|state| !state.request().is_sent());
            if state.is_some_and(|state| state.send(request, held, deadline)) {
                watched.push(locator);
            }
        }
        watched
    }

    /// The answer that what is held gives to a locator which is sent now. The answer to a collection proves nothing about what
    /// else there is.
    fn answer_of_held(&self, naming: &Naming, locator: &ResourceLocator) -> AnswerState {
        let served = !locator.is_collection()
            && self.is_served(naming, &locator.name, &locator.parameters)
            && !self.is_uncacheable(naming, locator);
        let in_first = self.per_stream.requests() == FIRST_REQUEST;
        if !served {
            AnswerState::Pending
        } else if !in_first && self.is_served_by_this_stream(naming, locator) {
            AnswerState::Borrowed
        } else {
            AnswerState::Answered
        }
    }
}
