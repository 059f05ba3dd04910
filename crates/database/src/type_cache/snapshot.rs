//! A copy of what a long diff reads, so that the diff holds no lock.
//!
//! The copy is made in slices, between which others have the lock. What changes meanwhile is copied again, and the last
//! changes in one hold with the counts of the view: so the copy is of one moment. The copy shares the selections until they
//! change.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use slab::Slab;
use weir_types::{Commit, Form, Name, Reach, Selector};

use super::{Diff, NameEntry, Query, Selections, Shape, TypeCache};
use crate::selection::Selection;
use crate::view::{SelectionId, ViewId};

/// A copy that is being made.
pub(crate) struct Copying {
    view: ViewId,
    asked: Arc<IndexMap<Selector, SelectionId>>,
    selections: HashMap<SelectionId, Arc<Selection>>,
    names: HashMap<Name, Box<NameEntry>>,
    /// Changes after this commit have to be copied again.
    since: Commit,
    /// Of the view, once the copy is complete.
    changes: Vec<(Commit, SelectionId)>,
}

impl Copying {
    /// The selections of the view. There is room for them and for `names` from now on.
    pub(crate) fn make_room(&mut self, names: &[Name]) -> Vec<SelectionId> {
        self.selections.reserve(self.asked.len());
        self.names.reserve(names.len());
        self.asked.values().copied().collect()
    }

    /// Whether the view has all of what `query` names.
    pub(crate) fn covers(&self, query: &Query<'_>) -> bool {
        query.owed.iter().all(|owed| self.asked.contains_key(owed))
    }
}

/// A copy that is complete.
pub(crate) struct Snapshot {
    cache: TypeCache,
    view: ViewId,
}

impl Snapshot {
    /// What a stream of the view has to be sent.
    pub(crate) fn diff(&self, query: &Query<'_>) -> Diff {
        self.cache.diff(self.view, query)
    }
}

impl TypeCache {
    /// Whether a diff of view `id` looks at more than `slice` selections or members.
    pub(crate) fn is_long(&self, id: ViewId, query: &Query<'_>, slice: usize) -> bool {
        let view = &self.views[id.0];
        let whole = query.shape == Shape::Everything || query.after.removals == Commit::NONE;
        let is_large = |id: &SelectionId| self.selections[id.0].live().len() > slice;
        query.owed.len() > slice
            || whole && (view.selections.len() > slice || view.selections.values().any(is_large))
            || view.touched_since(query.after.removals).take(slice + 1).count() > slice
    }

    /// Starts to copy what a diff of view `id` reads. None where names have aliases: what they lead to is anywhere.
    pub(crate) fn begin_copy(&self, id: ViewId) -> Option<Copying> {
        self.aliases.is_empty().then(|| Copying {
            view: id,
            asked: Arc::clone(&self.views[id.0].selections),
            selections: HashMap::new(),
            names: HashMap::new(),
            since: self.last,
            changes: Vec::new(),
        })
    }

    /// Copies some selections.
    pub(crate) fn copy(&self, copying: &mut Copying, selections: &[SelectionId]) {
        let shared = selections.iter().map(|id| (*id, self.selections.share(id.0)));
        copying.selections.extend(shared);
    }

    /// Copies everything that is known of some names that the client states to hold.
    pub(crate) fn copy_names(&self, copying: &mut Copying, names: &[Name]) {
        for (name, entry) in names.iter().filter_map(|name| self.names.get_key_value(name)) {
            let mut copy = NameEntry::default();
            for reach in [Reach::Named, Reach::Wildcard, Reach::Local] {
                entry.of(reach).held().for_each(|variant| _ = copy.set(reach).insert(Arc::clone(variant)));
            }
            for (parameters, id) in entry.selections.iter() {
                copy.selections.add(parameters.clone(), id);
                copying.selections.insert(id, self.selections.share(id.0));
            }
            copying.names.insert(name.clone(), Box::new(copy));
        }
    }

    /// The selections of the view that changed since they were last asked for, or since the start.
    pub(crate) fn changed_meanwhile(&self, copying: &mut Copying) -> Vec<SelectionId> {
        let since = std::mem::replace(&mut copying.since, self.last);
        self.views[copying.view.0].touched_since(since).collect()
    }

    /// Completes a copy with the counts of the view, for a stream that was sent everything up to `after`. To be called in
    /// the hold in which the last changes were copied. None where names have aliases by now.
    pub(crate) fn complete_copy(&self, mut copying: Copying, after: Commit) -> Option<(Self, Copying)> {
        self.aliases.is_empty().then(|| {
            let mut cache = Self::new(self.type_url.clone(), self.last);
            let view = &self.views[copying.view.0];
            copying.changes = view.changes_after(after);
            cache.views = Slab::from_iter([(copying.view.0, view.frozen())]);
            (cache, copying)
        })
    }
}

/// Puts the parts of a copy together. Needs no lock.
pub(crate) fn assemble((mut cache, copying): (TypeCache, Copying)) -> Snapshot {
    let Copying { view, asked, selections, names, changes, .. } = copying;
    cache.views[view.0].set_changes(changes);
    // Of names that were not copied, a diff reads which locators the view has.
    for (Selector { locator, form }, id) in &*asked {
        let is_one = !locator.is_collection() && !locator.parameters.is_withheld();
        if *form == Form::Located && is_one && !names.contains_key(&locator.name) {
            let entry = cache.names.entry(locator.name.clone()).or_default();
            entry.selections.add(locator.parameters.clone(), *id);
        }
    }
    cache.names.extend(names);
    cache.selections = Selections::of(selections.into_iter().map(|(id, selection)| (id.0, selection)));
    Snapshot { cache, view }
}
