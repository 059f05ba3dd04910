//! A copy of what a long diff reads, so that the diff holds no lock.
//!
//! The copy is made in slices, between which others have the lock. What changes meanwhile is copied again, and the last
//! changes in one hold with the counts of the view: so the copy is of one moment. The copy shares the selections until they
//! change.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use weir_types::{Commit, DynamicParameters, Form, Name, ResourceLocator, Selector};

use super::{Diff, Query, Shape};
use crate::selection::Selection;
use crate::type_cache::TypeCache;
use crate::type_cache::tables::{Variants, ViewTable};
use crate::view::{SelectionId, ViewId};

/// A copy that is being made.
pub(crate) struct Copying {
    view: ViewId,
    asked: Arc<IndexMap<Selector, SelectionId>>,
    selections: HashMap<SelectionId, Arc<Selection>>,
    names: HashMap<Name, NameCopy>,
    /// Changes after this commit have to be copied again.
    since: Commit,
    /// Of the view, once the copy is complete.
    changes: Vec<(Commit, SelectionId)>,
}

/// What is known of a name.
#[derive(Default)]
struct NameCopy {
    variants: Variants,
    asked: Vec<(DynamicParameters, SelectionId)>,
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
        query.resend.iter().all(|owed| self.asked.contains_key(owed))
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
        let view = &self.views[id];
        let whole = query.shape == Shape::Everything || query.after.removals == Commit::NONE;
        let states_many = || query.known.is_some_and(|known| known.len() > slice);
        let is_large = |id: &SelectionId| self.selections[*id].members.live().len() > slice;
        query.resend.len() > slice
            || whole && (view.selections.len() > slice || view.selections.values().any(is_large))
            || view.may_have_forgotten(query) && (view.selections.len() > slice || states_many())
            || view.touched_since(query.after.removals).take(slice + 1).count() > slice
    }

    /// Starts to copy what a diff of view `id` reads. None where names have aliases: what they lead to is anywhere.
    pub(crate) fn begin_copy(&self, id: ViewId) -> Option<Copying> {
        (!self.variants.has_aliases()).then(|| Copying {
            view: id,
            asked: Arc::clone(&self.views[id].selections),
            selections: HashMap::new(),
            names: HashMap::new(),
            since: self.last,
            changes: Vec::new(),
        })
    }

    /// Copies some selections.
    pub(crate) fn copy(&self, copying: &mut Copying, selections: &[SelectionId]) {
        let shared = selections.iter().map(|id| (*id, self.selections.share(*id)));
        copying.selections.extend(shared);
    }

    /// Copies everything that is known of some names that the client states to hold.
    pub(crate) fn copy_names(&self, copying: &mut Copying, names: &[Name]) {
        for name in names {
            let variants = self.variants.of(name).cloned().unwrap_or_default();
            let asked = self.selections.named([name]).map(|(parameters, id)| (parameters.clone(), id));
            let asked: Vec<_> = asked.collect();
            copying.selections.extend(asked.iter().map(|(_, id)| (*id, self.selections.share(*id))));
            copying.names.insert(name.clone(), NameCopy { variants, asked });
        }
    }

    /// The selections of the view that changed since they were last asked for, or since the start.
    pub(crate) fn changed_meanwhile(&self, copying: &mut Copying) -> Vec<SelectionId> {
        let since = std::mem::replace(&mut copying.since, self.last);
        self.views[copying.view].touched_since(since).collect()
    }

    /// Completes a copy with the counts of the view, for a stream that was sent everything up to `after`. To be called in
    /// the hold in which the last changes were copied. None where names have aliases by now.
    pub(crate) fn complete_copy(&self, mut copying: Copying, after: Commit) -> Option<(Self, Copying)> {
        (!self.variants.has_aliases()).then(|| {
            let mut cache = Self::new(self.type_url.clone(), self.last);
            let view = &self.views[copying.view];
            copying.changes = view.changes_after(after);
            cache.views = ViewTable::of_one(copying.view, view.frozen());
            (cache, copying)
        })
    }
}

/// Puts the parts of a copy together. Needs no lock.
pub(crate) fn assemble((mut cache, copying): (TypeCache, Copying)) -> Snapshot {
    let Copying { view, asked, selections, names, changes, .. } = copying;
    cache.views[view].set_changes(changes);
    // Of names that were not copied, a diff reads which locators the view has.
    let shared = Arc::clone(&cache.views[view].shared);
    let is_refused = |selector: &Selector| shared.subscription.refusal(selector).is_some();
    for (selector @ Selector { locator, form }, id) in &*asked {
        let is_listed = || {
            let twin = Selector { locator: locator.clone(), form: Form::Located };
            *form == Form::Plain && asked.contains_key(&twin) && !is_refused(&twin)
        };
        if !is_refused(selector) && !is_listed() && !names.contains_key(&locator.name) {
            cache.selections.list(locator, *id);
        }
    }
    for (name, NameCopy { variants, asked }) in names {
        for (parameters, id) in asked {
            cache.selections.list(&ResourceLocator::new(name.clone(), parameters), id);
        }
        cache.variants.take_over(name, variants);
    }
    cache.selections.take_over(selections);
    Snapshot { cache, view }
}
