//! One type on a stream: what is wanted of it, what is held, and how far the conversation has come.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use weir_types::xdstp::collections_of;
use weir_types::{
    Absence, Constraints, DynamicParameters, Name, Reach, ResourceError, ResourceLocator, Variant, VariantKey,
};

use super::Naming;
use super::held::{Held, HeldVariant};
use super::progress::Progress;
use super::shrink::Withheld;
use super::verdicts::Verdicts;

/// How a locator stands.
#[derive(Clone, Debug, Default)]
pub(super) struct LocatorState {
    /// The server believes it to be wanted.
    pub(super) told: bool,
    /// It was sent to the server on this stream, since it is wanted.
    pub(super) requested: bool,
    /// It was part of the first request of its type on this stream.
    pub(super) in_first: bool,
    /// The number of the request of its type, on this stream, with which it was first sent.
    pub(super) request: u32,
    /// Something is known of it: a variant came, or it is known or taken to be absent.
    pub(super) answered: bool,
    /// What is known of it came on this stream for others, and the server has not spoken of it since it was asked.
    pub(super) borrowed: bool,
    /// What that is, while nothing matches.
    pub(super) absence: Absence,
    /// What the server last said to be wrong with it, while it is.
    pub(super) error: Option<Arc<ResourceError>>,
    /// When it will be taken to be absent.
    pub(super) deadline: Option<Instant>,
    /// Of a collection: some of it has come, and there may be more.
    pub(super) partial: bool,
    /// When all that has come of it is taken for all there is.
    pub(super) completes: Option<Instant>,
}

impl LocatorState {
    /// Whether the server has not spoken of it, though its silence may have been taken for an answer.
    pub(super) fn is_open(&self) -> bool {
        !self.answered || self.absence == Absence::TimedOut
    }
}

/// What is over when the stream is.
#[derive(Debug, Default)]
pub(super) struct PerStreamState {
    /// The first request was sent.
    pub(super) opened: bool,
    /// How many requests were sent.
    pub(super) requests: u32,
    /// A response has come.
    pub(super) heard: bool,
    /// Explicit names were sent, so that an empty list no longer means the wildcard.
    pub(super) named: bool,
    /// SotW: the server takes the empty list for a wildcard, and will until there is a name in it.
    pub(super) implicit: bool,
    /// The wildcard of the empty list was given up, which the server cannot be told.
    pub(super) lingers: bool,
    /// It is wanted again, which the server cannot be told either.
    pub(super) exhausted: bool,
    /// Not all that is held is stated, so that there is something to answer.
    pub(super) pressed: bool,
    /// SotW: the list has to be sent.
    pub(super) changed: bool,
    /// Of the last response that was answered.
    pub(super) nonce: Arc<str>,
    /// SotW: of the last accepted response.
    pub(super) version: Arc<str>,
    pub(super) verdicts: Verdicts,
    /// Delta: what has to be asked for.
    pub(super) subscribe: BTreeSet<ResourceLocator>,
    /// What the server believes to be wanted and is not, or was not for a moment.
    pub(super) unsubscribe: BTreeSet<ResourceLocator>,
    /// SotW: what was not wanted for a moment while an answer was held back.
    pub(super) unheard: BTreeSet<ResourceLocator>,
}

/// One type on a stream.
#[derive(Debug, Default)]
pub(super) struct Logical {
    pub(super) wanted: HashMap<Name, HashMap<DynamicParameters, LocatorState>>,
    /// The wanted collections of which a locator may be unanswered: responses look at no others.
    pub(super) open_collections: HashSet<Name>,
    pub(super) progress: Progress,
    pub(super) held: Held,
    /// SotW: the last accepted version, for the next stream. None when what it stood for is not all held.
    pub(super) version: Option<Arc<str>>,
    pub(super) per_stream: PerStreamState,
    pub(super) withheld: Withheld,
}

impl Logical {
    pub(super) fn reach(&self) -> Reach {
        if self.wanted.contains_key(Name::wildcard()) { Reach::Wildcard } else { Reach::Named }
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

    /// Forgets the conversation; what is held stays.
    pub(super) fn close(&mut self) {
        let verdicts = std::mem::take(&mut self.per_stream.verdicts).outliving();
        if !verdicts.is_empty() {
            // What is held is more than what was accepted.
            self.version = None;
        }
        self.per_stream = PerStreamState { verdicts, ..PerStreamState::default() };
        self.held.close();
        self.unsettle();
        self.withheld.close();
        for state in self.wanted.values_mut().flat_map(HashMap::values_mut) {
            let LocatorState { answered, absence, error, partial, .. } = std::mem::take(state);
            *state = LocatorState { answered, absence, error, partial, ..LocatorState::default() };
        }
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
        self.held.answering(name).any(|(_, held)| naming.matches(&held.constraints, parameters))
    }

    /// Whether a variant that came on this stream answers a locator.
    pub(super) fn is_served_by_this_stream(&self, naming: &Naming, locator: &ResourceLocator) -> bool {
        let held = self.held.answering(&locator.name).filter(|(_, held)| held.is_of_this_stream());
        held.into_iter().any(|(_, held)| naming.matches(&held.constraints, &locator.parameters))
    }

    /// Forgets the variants that no subscription reaches any more.
    pub(super) fn forget_unreached(&mut self, naming: &Naming, name: &Name) {
        let unreached = |resource: &Name, held: &HeldVariant| {
            !self.reaches(naming, resource, &held.aliases, &held.constraints)
        };
        let lost: Vec<VariantKey> = if name == Name::wildcard() {
            self.held.keys(unreached)
        } else {
            let candidates = self.held.answering(name).filter(|(resource, held)| unreached(resource, held));
            candidates.map(|(resource, held)| held.key(resource)).collect()
        };
        self.forget(&lost);
    }

    /// Forgets variants that the server did not say to be gone.
    pub(super) fn forget(&mut self, lost: &[VariantKey]) {
        for key in lost {
            self.held.remove(key);
            self.withheld.forget(key);
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
                    first |= !std::mem::replace(&mut state.answered, true);
                    state.borrowed = false;
                    state.absence = Absence::Unknown;
                    state.error = None;
                    state.deadline = None;
                }
            }
        }
        for glob in collections_of(variant.name()).filter(|collection| collection != Name::wildcard()) {
            self.wanted.get_mut(&glob).into_iter().flatten().for_each(|(_, state)| state.error = None);
        }
        first
    }
}
