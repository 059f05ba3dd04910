//! One type on a stream: what is wanted of it, what is held, and how far the stream has come.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weir_types::xdstp::collections_of;
use weir_types::{Constraints, DynamicParameters, Name, Provenance, ResourceLocator, Variant, VariantKey};

use super::Naming;
use super::emptied::EmptiedAssignments;
use super::locator_state::LocatorState;
use super::per_stream::PerStreamState;
use super::progress::Progress;
use super::shrink::Withheld;
use super::upstream_cache::{UpstreamCache, UpstreamVariant};
use crate::Dialect;

/// The most locators of a type whose states are checked: checking them all would make every operation linear.
const MAX_CHECKED: usize = 64;

/// One type on a stream.
#[derive(Debug)]
pub(super) struct UpstreamType {
    pub(super) wanted: HashMap<Name, HashMap<DynamicParameters, LocatorState>>,
    /// The wanted collections of which a locator may be unanswered: responses look at no others.
    pub(super) open_collections: HashSet<Name>,
    pub(super) progress: Progress,
    pub(super) cache: UpstreamCache,
    /// SotW: the last accepted version, for the next stream. None when what it stood for is not all held.
    pub(super) version: Option<Arc<str>>,
    pub(super) per_stream: PerStreamState,
    pub(super) withheld: Withheld,
    pub(super) emptied: EmptiedAssignments,
}

impl UpstreamType {
    /// A type of which nothing is wanted.
    pub(super) fn new(dialect: Dialect) -> Self {
        let (wanted, open_collections, progress, cache, version, withheld, emptied) = Default::default();
        let per_stream = PerStreamState::new(dialect);
        Self { wanted, open_collections, progress, cache, version, per_stream, withheld, emptied }
    }

    pub(super) fn provenance(&self) -> Provenance {
        if self.wanted.contains_key(Name::wildcard()) { Provenance::Wildcard } else { Provenance::Named }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.wanted.is_empty()
    }

    pub(super) fn locator_state(&mut self, locator: &ResourceLocator) -> Option<&mut LocatorState> {
        self.wanted.get_mut(&locator.name)?.get_mut(&locator.parameters)
    }

    /// Every wanted locator, in no order.
    pub(super) fn locators(&self) -> impl Iterator<Item = (ResourceLocator, &LocatorState)> {
        self.wanted.iter().flat_map(|(name, sets)| {
            let locator =
                |parameters: &DynamicParameters| ResourceLocator::new(name.clone(), parameters.clone());
            sets.iter().map(move |(parameters, state)| (locator(parameters), state))
        })
    }

    /// Forgets the stream; what is held stays.
    pub(super) fn close(&mut self) {
        if self.per_stream.close() {
            // What is held is more than what was accepted.
            self.version = None;
        }
        self.cache.close();
        self.unsettle();
        self.withheld.close();
        self.emptied.close();
        self.wanted.values_mut().flat_map(HashMap::values_mut).for_each(LocatorState::close);
    }

    /// Whether any subscription asks for a variant with this name, these aliases and constraints.
    pub(super) fn reaches(
        &self,
        naming: &Naming,
        name: &Name,
        aliases: &[Name],
        constraints: &Constraints,
    ) -> bool {
        self.asking(name, aliases)
            .any(|name| self.wanted[name].keys().any(|parameters| naming.matches(constraints, parameters)))
    }

    /// The wanted names that a resource with this name and these aliases answers, those of collections among
    /// them.
    pub(super) fn asking<'a>(
        &'a self,
        name: &'a Name,
        aliases: &'a [Name],
    ) -> impl Iterator<Item = &'a Name> {
        let wanted = |name: &Name| Some(self.wanted.get_key_value(name)?.0);
        let names = std::iter::once(name).chain(aliases).filter_map(wanted);
        names.chain(collections_of(name).filter_map(move |name| wanted(&name)))
    }

    /// How many locators a resource with this name and these aliases may answer.
    pub(super) fn askers(&self, name: &Name, aliases: &[Name]) -> usize {
        self.asking(name, aliases).map(|name| self.wanted[name].len()).sum()
    }

    /// Whether a held variant answers a locator.
    pub(super) fn is_served(&self, naming: &Naming, name: &Name, parameters: &DynamicParameters) -> bool {
        self.cache.answering(name).any(|(_, held)| naming.matches(&held.constraints, parameters))
    }

    /// Whether a variant that came on this stream answers a locator.
    pub(super) fn is_served_by_this_stream(&self, naming: &Naming, locator: &ResourceLocator) -> bool {
        let held = self.cache.answering(&locator.name).filter(|(_, held)| held.is_of_this_stream());
        held.into_iter().any(|(_, held)| naming.matches(&held.constraints, &locator.parameters))
    }

    /// Forgets the variants that no subscription reaches any more.
    pub(super) fn forget_unreached(&mut self, naming: &Naming, name: &Name) {
        let unreached = |resource: &Name, held: &UpstreamVariant| {
            !self.reaches(naming, resource, &held.aliases, &held.constraints)
        };
        let lost: Vec<VariantKey> = if name == Name::wildcard() {
            self.cache.keys(unreached)
        } else {
            let candidates = self.cache.answering(name).filter(|(resource, held)| unreached(resource, held));
            candidates.map(|(resource, held)| held.key(resource)).collect()
        };
        self.forget(&lost);
    }

    /// Forgets variants that the server did not remove.
    pub(super) fn forget(&mut self, lost: &[VariantKey]) {
        for key in lost {
            self.cache.remove(key);
            self.withheld.forget(key);
            self.emptied.forget(key);
            self.version = None;
        }
    }

    /// Notes that `variant` answers whoever asked for it. Whether it is the first answer to anyone.
    pub(super) fn note_answer(&mut self, naming: &Naming, variant: &Variant) -> bool {
        let mut first = false;
        let names = std::iter::once(variant.name()).chain(&*variant.content().aliases);
        for name in names {
            for (parameters, state) in self.wanted.get_mut(name).into_iter().flatten() {
                if naming.matches(&variant.key().constraints, parameters) {
                    first |= state.receive_variant();
                }
            }
        }
        for glob in collections_of(variant.name()).filter(|collection| collection != Name::wildcard()) {
            self.wanted.get_mut(&glob).into_iter().flatten().for_each(|(_, state)| state.clear_error());
        }
        first
    }

    /// Panics in debug builds where the state contradicts itself. Each operation calls it before it changes the state
    /// that the last one has left.
    pub(super) fn check(&self, dialect: Dialect) {
        if !cfg!(debug_assertions) {
            return;
        }
        self.per_stream.check(dialect);
        for (locator, state) in self.locators().take(MAX_CHECKED) {
            state.check(locator.breadth());
            debug_assert!(
                self.per_stream.exchange.is_started() || !state.request().is_subscribed(),
                "{locator:?} {state:?}"
            );
        }
    }
}
