//! One change of a type's cache: what it has changed so far, and which views it has reached.
//!
//! Variants change first, which leaves names whose selections have to be resolved again; then the selections, which
//! reach the views that contain them. Owns what lives for as long as the change is made. Never knows of streams.
//!
//! ```text
//!  put, take, refresh, evict ──> changed names ──resolve──> selections ──update──> touched views
//!        mark_absent, fail, answered ──────────────────────────^
//! ```

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use weir_types::{Breadth, Commit, Name, VariantKey};

use super::TypeCache;
use crate::selection::{Change, Selection};
use crate::view::{SelectionId, Shared, ViewId};

/// One change of a type's cache.
pub(super) struct Transaction<'a> {
    pub(super) cache: &'a mut TypeCache,
    /// The number of the change.
    pub(super) at: Commit,
    /// The names of which the selections have to be resolved again.
    pub(super) changed: BTreeSet<Name>,
    /// What arrived with the change and must not be cached.
    pub(super) arrived: HashSet<VariantKey>,
    touched: HashMap<ViewId, Arc<Shared>>,
}

impl<'a> Transaction<'a> {
    /// A change that is the commit `at`.
    pub(super) fn new(cache: &'a mut TypeCache, at: Commit) -> Self {
        cache.last = at;
        Self::unnumbered(cache)
    }

    /// A change that may turn out to change nothing that anybody sees: it has a number of its own only if
    /// [`Self::resolve_numbered`] gives it one.
    pub(super) fn unnumbered(cache: &'a mut TypeCache) -> Self {
        let (changed, arrived, touched) = Default::default();
        Self { at: cache.last, cache, changed, arrived, touched }
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
        let mut names = std::mem::take(&mut self.changed);
        // Which variant is chosen of a name decides what the other names of its variants stand for.
        let aliases: Vec<Name> = names.iter().flat_map(|name| self.cache.aliases_of(name)).cloned().collect();
        names.extend(aliases);
        for name in &names {
            let named = self.cache.names.get(name).into_iter().flat_map(|entry| entry.selections.iter());
            let asking: Vec<_> = named.chain(self.cache.collecting(name)).map(|(_, id)| id).collect();
            asking.into_iter().for_each(|id| self.resolve_selection(id, name));
            self.cache.tidy_name(name);
        }
    }

    /// Resolves what `id` selects of the resource `name`.
    fn resolve_selection(&mut self, id: SelectionId, name: &Name) {
        let selection = &self.cache.selections[id.0];
        let (locator, breadth) = (selection.locator.clone(), selection.breadth());
        let (slot, variant) = match breadth {
            Breadth::Name => (&locator.name, self.cache.answer(&locator.name, &locator.parameters)),
            collection => (name, self.cache.lookup(name, &locator.parameters, collection)),
        };
        let admitted = variant.as_ref().is_none_or(|variant| {
            self.cache.selections[id.0].admits(slot, variant, self.arrived.contains(variant.key()))
        });
        if admitted {
            let at = self.at;
            self.update(id, |selection| selection.select(slot, variant.as_ref(), at));
        }
    }

    /// Changes a selection, and notes in its views what came of it.
    pub(super) fn update(&mut self, id: SelectionId, change: impl FnOnce(&mut Selection) -> Option<Change>) {
        let (cache, at) = (&mut *self.cache, self.at);
        let selection = &mut cache.selections[id.0];
        let (was_settled, was_failing) = (selection.is_settled(), selection.is_failing());
        let (was_away, was_unproved) = (selection.is_away(), selection.is_unproved());
        let sums = selection.sums();
        let Some(change) = change(selection) else { return };
        let settled = !was_settled && selection.is_settled();
        let (failing, collection) = (selection.is_failing(), selection.is_collection());
        let (away, breadth, unproved) = (selection.is_away(), selection.breadth(), selection.is_unproved());
        for (view_id, forms) in &selection.views {
            let view = &mut cache.views[view_id.0];
            view.sum = view.sum.wrapping_add(forms.growth(sums, selection.sums()));
            if settled {
                view.shared.settle_one(collection, at);
            }
            if failing != was_failing {
                view.shared.count_failing(failing);
            }
            if unproved != was_unproved {
                view.shared.count_unproved(unproved);
            }
            if away != was_away {
                view.shared.count_away(breadth, away);
            }
            view.touch(id, at, change);
            self.touched.entry(*view_id).or_insert_with(|| Arc::clone(&view.shared));
        }
        if selection.wants_pruning() {
            cache.prune(id);
        }
    }
}
