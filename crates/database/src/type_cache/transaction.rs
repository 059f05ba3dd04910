//! One change of a type's cache: what it has changed so far, and which views it has reached.
//!
//! Variants change first, which leaves names whose selections have to be resolved again; then the selections, which
//! reach the views that contain them. Owns what lives for as long as the change is made. Never knows of streams.
//!
//! ```text
//!  put, take, refresh, evict ──> changed names ──resolve──> selections ──update──> touched views
//!        mark_absent, fail, answered ──────────────────────────^
//! ```
//!
//! Where many locators ask for what has changed, it is resolved in slices, between which others have the lock: each
//! selection goes from what it was to what it is in one of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use weir_types::xdstp::collections_of;
use weir_types::{Breadth, Commit, Name, Provenance, VariantKey};

use super::TypeCache;
use super::changed::{Changed, Concerned};
use crate::selection::{Change, Selection};
use crate::view::{SelectionId, Shared, ViewId};

/// One change of a type's cache.
pub(super) struct Transaction<'a> {
    pub(super) cache: &'a mut TypeCache,
    /// The number of the change.
    pub(super) at: Commit,
    /// The names of which the selections have to be resolved again.
    pub(super) changed: Changed,
    /// What arrived with the change and must not be cached.
    pub(super) arrived: HashSet<VariantKey>,
    touched: HashMap<ViewId, Arc<Shared>>,
}

/// What a change keeps between its slices.
#[derive(Default)]
pub(super) struct State {
    changed: Changed,
    arrived: HashSet<VariantKey>,
    /// The views that it has reached, until somebody takes them.
    pub(super) touched: HashMap<ViewId, Arc<Shared>>,
}

/// What is left of a change: the selections that have to be resolved again.
#[derive(Default)]
pub(super) struct Unresolved {
    /// By the name or collection that is asked for: the resources to look at, and for whom.
    asked: BTreeMap<Name, Vec<(Name, Concerned)>>,
    /// The selections of the first one of these, once it is begun.
    begun: Option<Vec<SelectionId>>,
    /// Names of which nothing may be left then.
    changed: BTreeSet<Name>,
}

impl<'a> Transaction<'a> {
    /// A change that may turn out to change nothing that anybody sees: it has a number of its own only if
    /// [`Self::resolve_numbered`] gives it one.
    pub(super) fn unnumbered(cache: &'a mut TypeCache) -> Self {
        let (changed, arrived, touched) = Default::default();
        Self { at: cache.last, cache, changed, arrived, touched }
    }

    /// A change that begins, or goes on, as the commit `at`.
    pub(super) fn resume(cache: &'a mut TypeCache, at: Commit, state: State) -> Self {
        cache.last = at;
        let State { changed, arrived, touched } = state;
        Self { at, cache, changed, arrived, touched }
    }

    /// Leaves the cache to others.
    pub(super) fn suspend(self) -> State {
        State { changed: self.changed, arrived: self.arrived, touched: self.touched }
    }

    /// The views that the change has reached.
    pub(super) fn finish(self) -> Vec<Arc<Shared>> {
        self.touched.into_values().collect()
    }

    /// Resolves what has changed, if anything has, as the commit that `number` draws.
    pub(super) fn resolve_numbered(&mut self, number: impl FnOnce() -> Commit) {
        if !self.changed.is_empty() {
            self.at = number();
            self.cache.last = self.at;
            self.resolve();
        }
    }

    /// Resolves the selections of all names that have changed.
    pub(super) fn resolve(&mut self) {
        let mut unresolved = self.unresolved();
        while !self.resolve_some(&mut unresolved, usize::MAX) {}
    }

    /// The selections that what has changed may concern.
    pub(super) fn unresolved(&mut self) -> Unresolved {
        let mut changed = std::mem::take(&mut self.changed);
        // Which variant is chosen of a name decides what the other names of its variants stand for.
        let called = |(name, concerned): (&Name, &Concerned)| -> Vec<(Name, Concerned)> {
            let aliases = self.cache.variants.aliases_of(name);
            aliases.map(|alias| (alias.clone(), concerned.clone())).collect()
        };
        let aliases: Vec<_> = changed.iter().flat_map(called).collect();
        aliases.iter().for_each(|(alias, concerned)| changed.note_also(alias, concerned));
        let mut asked = BTreeMap::<_, Vec<_>>::new();
        for (name, concerned) in changed.iter() {
            let collections =
                collections_of(name).filter(|of| self.cache.selections.of_collection(of).is_some());
            for of in collections.chain([name.clone()]) {
                asked.entry(of).or_default().push((name.clone(), concerned.clone()));
            }
        }
        Unresolved { asked, begun: None, changed: changed.names().cloned().collect() }
    }

    /// Resolves about `count` of the selections. Whether none is left.
    pub(super) fn resolve_some(&mut self, unresolved: &mut Unresolved, count: usize) -> bool {
        let mut resolved = 0;
        while let Some(first) = unresolved.asked.first_entry() {
            let begun = unresolved.begun.get_or_insert_with(|| {
                let changes = first.get().iter().map(|(_, concerned)| concerned);
                self.cache.selections.concerned(first.key(), changes)
            });
            while let Some(id) = begun.pop() {
                // It may have been given up since the last slice, and its place be another's.
                let locator = self.cache.selections.get(id).map(|selection| selection.locator.clone());
                if let Some(locator) = locator.filter(|locator| locator.name == *first.key()) {
                    let concerning =
                        first.get().iter().filter(|(_, concerned)| concerned.covers(&locator.parameters));
                    concerning.for_each(|(name, _)| self.resolve_selection(id, name));
                }
                resolved += first.get().len();
                if resolved >= count {
                    return false;
                }
            }
            unresolved.begun = None;
            first.remove();
        }
        unresolved.changed.iter().for_each(|name| self.cache.variants.tidy(name));
        true
    }

    /// Resolves what `id` selects of the resource `name`.
    fn resolve_selection(&mut self, id: SelectionId, name: &Name) {
        let selection = &self.cache.selections[id];
        let (locator, breadth) = (selection.locator.clone(), selection.breadth());
        let (slot, variant) = match breadth {
            Breadth::Name => (&locator.name, self.cache.variants.answer(&locator.name, &locator.parameters)),
            collection => (name, self.cache.variants.lookup(name, &locator.parameters, collection)),
        };
        if let Some(variant) = variant.as_ref().filter(|_| self.cache.selections[id].is_absent_by_name())
            && self.cache.variants.has(variant, Provenance::Named)
        {
            self.cache.selections[id].set_absent_by_name(false);
        }
        let admitted = variant.as_ref().is_none_or(|variant| {
            self.cache.selections[id].admits(slot, variant, self.arrived.contains(variant.key()))
        });
        if admitted {
            let at = self.at;
            self.update(id, |selection| selection.select(slot, variant.as_ref(), at));
        }
    }

    /// Changes a selection, and notes in its views what came of it.
    pub(super) fn update(&mut self, id: SelectionId, change: impl FnOnce(&mut Selection) -> Option<Change>) {
        let (cache, at) = (&mut *self.cache, self.at);
        let selection = &mut cache.selections[id];
        let (was_settled, was_failing) = (selection.is_settled(), selection.is_failing());
        let (was_unavailable, was_unproved) = (selection.is_unavailable(), selection.is_unproved());
        let (sums, had_error) = (selection.members.sums(), selection.failure().is_some());
        let Some(change) = change(selection) else { return };
        let settled = !was_settled && selection.is_settled();
        let (failing, collection) = (selection.is_failing(), selection.is_collection());
        let (unavailable, breadth, unproved) =
            (selection.is_unavailable(), selection.breadth(), selection.is_unproved());
        for (view_id, forms) in &selection.views {
            let view = &mut cache.views[*view_id];
            view.sum = view.sum.wrapping_add(forms.growth(sums, selection.members.sums()));
            if settled {
                view.shared.settle_one(collection, at);
            }
            if failing != was_failing {
                view.shared.count_failing(failing);
            }
            if unproved != was_unproved {
                view.shared.count_unproved(unproved);
            }
            if unavailable != was_unavailable {
                view.shared.count_unavailable(breadth, unavailable);
            }
            view.touch(id, at, change);
            self.touched.entry(*view_id).or_insert_with(|| Arc::clone(&view.shared));
        }
        let has_error = selection.failure().is_some();
        if has_error != had_error {
            cache.selections.count_failing(id, has_error);
        }
        if cache.selections[id].members.wants_pruning() {
            cache.prune(id);
        }
    }
}
