//! Removals that are in flight while a request is: answers that cross requests.
//!
//! A new locator that a cached variant already matches is served from that variant while its own request is in flight
//! (`AnswerState::Borrowed`). If the server removes the variant before it has read the request, the removal applies
//! only to the locators that it was sent for; the server may still send another variant for the new one. The new
//! locator keeps the variant until the server answers, or until the time after which a resource does not exist. If
//! the original locator is unsubscribed meanwhile, the server sends no removal of its variant: only its answer to the
//! borrowing locators settles it.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use weir_types::{DynamicParameters, Name, ResourceLocator, Undecided};

use super::Naming;
use super::locator_state::LocatorState;
use super::parsed_response::ParsedResponse;
use super::responses::ResponseApplication;
use super::timers::Deadline;
use super::upstream_cache::UpstreamVariant;
use super::upstream_type::UpstreamType;

impl ResponseApplication<'_> {
    /// Which locators the bare names of the response are meant for: as removals, and as errors.
    ///
    /// TP2 does not state which of several locators of a name a bare name answers. The server cannot mean a locator
    /// whose request it has not read. Weir does not know which requests it has read, except that the oldest
    /// unanswered one is among them. A server that follows the same rule sends the bare name when all locators that
    /// it has read are answered; see docs/dynamic-parameters.md.
    pub(super) fn find_meant(&mut self, parsed: &ParsedResponse) {
        let removed = parsed.removed.iter().chain(parsed.errors.iter().map(|error| &error.key));
        let bare = removed.filter(|key| key.constraints.is_unconstrained()).map(|key| key.name.clone());
        for name in bare.collect::<HashSet<_>>() {
            let meant = self.meant_by(&name);
            self.meant.insert(name, meant);
        }
    }

    fn meant_by(&self, name: &Name) -> HashSet<DynamicParameters> {
        let (naming, doubt) = (&self.settings.naming, self.doubtful.get(name));
        let unserved: Vec<_> = self.unserved(name).collect();
        // What has just lost its variant was answered before, and is answered now.
        let lost =
            |parameters: &DynamicParameters| doubt.is_some_and(|doubt| doubt.concerns(naming, parameters));
        let open =
            |(parameters, state): &&(&DynamicParameters, &LocatorState)| state.is_open() || lost(parameters);
        let Some(oldest) =
            unserved.iter().filter(open).filter_map(|(_, state)| state.request().number()).min()
        else {
            return unserved.into_iter().map(|(parameters, _)| parameters.clone()).collect();
        };
        let meant =
            unserved.iter().filter(open).filter(|(_, state)| state.request().number() == Some(oldest));
        meant.map(|(parameters, _)| DynamicParameters::clone(parameters)).collect()
    }

    /// The requested locators of a name that nothing serves.
    fn unserved<'a>(
        &'a self,
        name: &'a Name,
    ) -> impl Iterator<Item = (&'a DynamicParameters, &'a LocatorState)> {
        let sets = self.upstream_type.wanted.get(name).into_iter().flatten();
        let requested = sets.filter(|(_, state)| state.request().is_sent());
        requested
            .filter(|(parameters, _)| !self.upstream_type.is_served(&self.settings.naming, name, parameters))
    }

    /// Returns whether the unserved locators of the name account for all of its removals by bare name.
    pub(super) fn explains(&self, name: &Name, bare: usize) -> bool {
        let several = self.upstream_type.wanted.get(name).is_some_and(|sets| sets.len() > 1);
        let located = matches!(self.settings.naming, Naming::Locators);
        located && several && self.unserved(name).count() >= bare
    }

    /// Waits for the server to send again what an earlier stream has brought of names that a response has mentioned,
    /// perhaps of other locators.
    pub(super) fn await_confirmations(&mut self, at: Instant, deadlines: &mut VecDeque<Deadline>) {
        for name in std::mem::take(&mut self.unconfirmed) {
            let Some(mut sets) = self.upstream_type.wanted.remove(&name) else { continue };
            for (parameters, state) in &mut sets {
                let locator = ResourceLocator::new(name.clone(), parameters.clone());
                let naming = &self.settings.naming;
                let waits = state.request().is_sent()
                    && state.deadline().is_none()
                    && self.upstream_type.is_served(naming, &name, parameters)
                    && !self.upstream_type.is_served_by_this_stream(naming, &locator);
                if waits {
                    state.wait(at);
                    let type_url = self.batch.type_url.clone();
                    deadlines.push_back(Deadline { at, type_url, locator });
                }
            }
            self.upstream_type.wanted.insert(name, sets);
        }
    }

    /// Returns the names of which the response removes only variants that came on this stream. A bare name states
    /// that nothing matches one of its locators, unless it is what the server calls a variant that goes.
    pub(super) fn in_flight(&self, parsed: &ParsedResponse) -> HashSet<Name> {
        let bare = parsed.bare_removals();
        let bare = |name: &Name| bare.get(name).copied().unwrap_or_default();
        let withdrawn = self.withdrawn.iter();
        let in_flight = withdrawn.filter(|(name, is_bare)| bare(name) <= usize::from(**is_bare));
        in_flight.map(|(name, _)| name.clone()).collect()
    }

    /// Waits for the server's word on locators that have lost what served them.
    pub(super) fn await_answers(
        &mut self,
        undecided: &[ResourceLocator],
        at: Instant,
        deadlines: &mut VecDeque<Deadline>,
    ) {
        for locator in undecided {
            let Some(state) = self.upstream_type.locator_state(locator).filter(|state| !state.is_answered())
            else {
                continue;
            };
            state.wait(at);
            let scope = self.settings.naming.scope(&locator.parameters);
            self.batch.undecided.push(Undecided { name: locator.name.clone(), scope });
            let type_url = self.batch.type_url.clone();
            deadlines.push_back(Deadline { at, type_url, locator: locator.clone() });
        }
    }
}

impl UpstreamType {
    /// Notes which variants came for `given_up` and are only borrowed by those who still ask for them.
    pub(super) fn orphan_borrowed(&mut self, naming: &Naming, given_up: &ResourceLocator) {
        let is_answer = |resource: &Name, held: &UpstreamVariant| {
            let asking = self.asking(resource, &held.aliases).flat_map(|name| &self.wanted[name]);
            let mut asking = asking.filter(|(parameters, _)| naming.matches(&held.constraints, parameters));
            asking.any(|(_, state)| state.request().is_sent() && !state.is_borrowed())
        };
        let came = self.cache.answering(&given_up.name);
        let came = came.filter(|(_, held)| naming.matches(&held.constraints, &given_up.parameters));
        let orphans = came.filter(|(resource, held)| !is_answer(resource, held));
        let orphans: Vec<_> = orphans.map(|(resource, held)| held.key(resource)).collect();
        orphans.iter().for_each(|key| self.cache.orphan(key));
    }
}
