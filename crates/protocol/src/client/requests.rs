//! What is sent: subscriptions, and the answers to responses.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use weir_types::{Breadth, Name, ResourceLocator, TypeUrl, WILDCARD};

use super::locator_state::{AnswerState, FIRST_REQUEST};
use super::logical::Logical;
use super::timers::Deadline;
use super::{ClientStream, Connection, Naming, Request};
use crate::Dialect;

/// Stated for a name whose held variants cannot be stated, would die if a server had nothing to say of them, or must
/// not be cached: no server gives this version, so all that the name has is sent again.
pub(super) const UNSTATABLE_VERSION: &str = "weir: not statable";

impl ClientStream {
    /// The next request, if there is one to send. Types come in make-before-break order.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Request> {
        if self.connection == Connection::Away {
            return None;
        }
        let (type_url, logical) = self.types.iter_mut().find(|(_, logical)| logical.has_request())?;
        logical.check(self.settings.dialect);
        let mut request = match self.settings.dialect {
            Dialect::Sotw => logical.sotw_request(type_url, &self.settings.naming),
            Dialect::Delta => logical.delta_request(type_url, &self.settings.naming),
        };
        request.first = std::mem::replace(&mut self.connection, Connection::Open) == Connection::New;
        let deadline = now + self.settings.does_not_exist;
        let watched = logical.note_requested(&self.settings.naming, &request.subscribe, deadline);
        self.deadlines.extend(watched.into_iter().map(|locator| Deadline {
            at: deadline,
            type_url: type_url.clone(),
            locator,
        }));
        logical.check(self.settings.dialect);
        Some(request)
    }
}

impl Logical {
    fn has_request(&self) -> bool {
        let per_stream = &self.per_stream;
        if !per_stream.opened {
            return !self.is_idle();
        }
        per_stream.changed
            || per_stream.verdicts.is_due()
            || !per_stream.subscribe.is_empty()
            || !per_stream.unsubscribe.is_empty()
    }

    fn sotw_request(&mut self, type_url: &TypeUrl, naming: &Naming) -> Request {
        if !std::mem::replace(&mut self.per_stream.opened, true) {
            // An equal version may go unanswered, so nothing may be left that has to be answered.
            let mut states = self.wanted.values().flat_map(HashMap::values);
            let complete = states.all(|state| state.is_answered() && state.error().is_none());
            let complete = complete && self.held.is_statable() && !self.per_stream.pressed;
            self.per_stream.version = self.version.clone().filter(|_| complete).unwrap_or_default();
        }
        // What was given up and wanted again is left out once, or the server would see no change. Not while it
        // may not listen: to an answer that waits, a server that minds the nonce takes this for a late one.
        let mut withheld = std::mem::take(&mut self.per_stream.unsubscribe);
        if self.per_stream.verdicts.is_held() {
            self.per_stream.unheard.append(&mut withheld);
        }
        let mut subscribe = self.whole_list(type_url, naming);
        let whole = subscribe.len();
        subscribe.retain(|locator| !withheld.contains(locator));
        let nack = self.give_verdict();
        self.per_stream.changed = subscribe.len() < whole;
        Request {
            type_url: type_url.clone(),
            first: false,
            version: Arc::clone(&self.per_stream.version),
            nonce: Arc::clone(&self.per_stream.nonce),
            nack,
            subscribe,
            unsubscribe: Vec::new(),
            initial_versions: Vec::new(),
        }
    }

    /// SotW: answers the next response that may be answered. Why it is rejected, if it is.
    fn give_verdict(&mut self) -> Option<String> {
        let verdict = self.per_stream.verdicts.pop()?;
        self.per_stream.nonce = verdict.nonce.unwrap_or_default();
        if verdict.nack.is_none() {
            self.per_stream.version = verdict.version;
        }
        verdict.nack
    }

    /// Everything that is wanted, as SotW says it. Older servers know the wildcard only as the empty list
    /// ("How the client specifies what resources to return"), so it is said that way where it can be.
    fn whole_list(&mut self, type_url: &TypeUrl, naming: &Naming) -> Vec<ResourceLocator> {
        let mut list: Vec<_> = self.locators().map(|(locator, _)| locator).collect();
        list.sort_unstable();
        let only_wildcard = matches!(&list[..], [only] if only.is_wildcard());
        let plain = matches!(naming, Naming::Names { .. });
        if plain && only_wildcard && type_url.has_legacy_wildcard() && !self.per_stream.named {
            list.clear();
            self.per_stream.implicit = true;
        }
        if !list.is_empty() {
            self.per_stream.named = true;
            self.per_stream.implicit = false;
            self.per_stream.lingers = false;
        }
        list
    }

    fn delta_request(&mut self, type_url: &TypeUrl, naming: &Naming) -> Request {
        let first = !std::mem::replace(&mut self.per_stream.opened, true);
        let (subscribe, initial_versions) = if first {
            let mut all: Vec<_> = self.locators().map(|(locator, _)| locator).collect();
            all.sort_unstable();
            self.per_stream.subscribe.clear();
            (all, self.initial_versions(naming))
        } else {
            (std::mem::take(&mut self.per_stream.subscribe).into_iter().collect(), Vec::new())
        };
        self.per_stream.changed = false;
        let given_up = &mut self.per_stream.unsubscribe;
        // A server may forget what only the glob, or only the name, covered, before it reads what is subscribed
        // in its place; so that goes first, by itself.
        let apart = !subscribe.is_empty()
            && !given_up.is_empty()
            && subscribe.iter().chain(&*given_up).any(|locator| locator.breadth() == Breadth::Glob);
        let unsubscribe =
            if apart { Vec::new() } else { std::mem::take(given_up).into_iter().collect::<Vec<_>>() };
        let verdict = self.per_stream.verdicts.pop();
        let (nonce, nack) = verdict.map(|verdict| (verdict.nonce, verdict.nack)).unwrap_or_default();
        Request {
            type_url: type_url.clone(),
            first: false,
            version: Arc::default(),
            nonce: nonce.unwrap_or_default(),
            nack,
            subscribe,
            unsubscribe,
            initial_versions,
        }
    }

    /// What is held, by name. A name tells no variants apart, so a version is stated only where nobody can
    /// mistake what it is the version of.
    fn initial_versions(&self, naming: &Naming) -> Vec<(Name, Arc<str>)> {
        let state = |(name, variants): (&Name, &[super::held::HeldVariant])| {
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
        let mut stated: Vec<_> = self.held.iter().map(state).collect();
        stated.sort_unstable();
        // A server that is stated all it has may say nothing, and a collection waits for its answer; and so does
        // what is remembered, to be vouched for.
        let remembered = self.held.remembered() > 0;
        let unanswered =
            remembered || self.locators().any(|(l, state)| l.is_collection() && !state.is_answered());
        if let Some(first) = stated.first_mut().filter(|_| unanswered || self.per_stream.pressed) {
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
        self.per_stream.requests += 1;
        let request = self.per_stream.requests;
        for locator in sent {
            let held = self.answer_of_held(naming, &locator);
            let state = self.locator_state(&locator).filter(|state| !state.request().is_sent());
            if state.is_some_and(|state| state.send(request, held, deadline)) {
                watched.push(locator);
            }
        }
        watched
    }

    /// The answer that what is held gives to a locator which is sent now. What answers a collection says nothing of what
    /// else there is.
    fn answer_of_held(&self, naming: &Naming, locator: &ResourceLocator) -> AnswerState {
        let served = !locator.is_collection()
            && self.is_served(naming, &locator.name, &locator.parameters)
            && !self.is_fleeting(naming, locator);
        let in_first = self.per_stream.requests == FIRST_REQUEST;
        if !served {
            AnswerState::Pending
        } else if !in_first && self.is_served_by_this_stream(naming, locator) {
            AnswerState::Borrowed
        } else {
            AnswerState::Answered
        }
    }
}
