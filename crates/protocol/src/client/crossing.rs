//! Answers that cross requests.
//!
//! A locator that something on the stream matches already is served at once, while the server is asked for it. What
//! the server says before it has read that may withdraw what serves it: to those it was sent for, that is a removal;
//! for whoever was asked for meanwhile, the server may have something else, and will say so. So it keeps what it has
//! until then, or until the server has been silent for as long as it may be. What is left of a locator that was given
//! up in between is nobody's: the server says no more when it goes, but for its answer to those who have borrowed it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use weir_types::{Name, ResourceLocator, Undecided, VariantKey};

use super::Naming;
use super::held::HeldVariant;
use super::logical::Logical;
use super::responses::{Application, Said};
use super::timers::Deadline;

impl Application<'_> {
    /// The names of which the response withdraws what came on this stream, and says no more. A bare name says that
    /// nothing matches one of its locators, unless it is what the server calls a variant that goes.
    pub(super) fn crossed(&self, said: &Said) -> HashSet<Name> {
        let mut bare: HashMap<&Name, usize> = HashMap::new();
        for removed in said.removed.iter().filter(|removed| removed.constraints.is_unconstrained()) {
            *bare.entry(&removed.name).or_default() += 1;
        }
        let bare = |name: &Name| bare.get(name).copied().unwrap_or_default();
        let withdrawn = self.withdrawn.iter();
        let crossed = withdrawn.filter(|(name, is_bare)| bare(name) <= usize::from(**is_bare));
        crossed.map(|(name, _)| name.clone()).collect()
    }

    /// Waits for the server's word on locators that have lost what served them.
    pub(super) fn await_answers(
        &mut self,
        undecided: &[ResourceLocator],
        at: Instant,
        deadlines: &mut VecDeque<Deadline>,
    ) {
        for locator in undecided {
            let Some(interest) = self.logical.interest(locator).filter(|interest| !interest.answered) else {
                continue;
            };
            interest.deadline = Some(at);
            let scope = self.settings.naming.scope(&locator.parameters);
            self.batch.undecided.push(Undecided { name: locator.name.clone(), scope });
            let type_url = self.batch.type_url.clone();
            deadlines.push_back(Deadline { at, type_url, locator: locator.clone() });
        }
    }
}

impl Logical {
    /// Notes which variants came for `given_up` and are only borrowed by those who still ask for them.
    pub(super) fn orphan_borrowed(&mut self, naming: &Naming, given_up: &ResourceLocator) {
        let is_answer = |resource: &Name, held: &HeldVariant| {
            let asking = self.asking(resource, &held.aliases).flat_map(|name| &self.wanted[name]);
            let mut asking = asking.filter(|(parameters, _)| naming.matches(&held.constraints, parameters));
            asking.any(|(_, interest)| interest.requested && !interest.borrowed)
        };
        let came = self.held.answering(&given_up.name);
        let came = came.filter(|(_, held)| naming.matches(&held.constraints, &given_up.parameters));
        let orphans = came.filter(|(resource, held)| !is_answer(resource, held));
        let orphans: Vec<_> = orphans
            .map(|(resource, held)| VariantKey::new(resource.clone(), held.constraints.clone()))
            .collect();
        orphans.iter().for_each(|key| self.held.orphan(key));
    }
}
