//! What must be true of a type's tables whatever has happened, worked out from nothing but the tables.

use std::collections::HashSet;

use weir_types::{Form, Name, VariantKey};

use super::TypeCache;
use crate::selection::Selection;
use crate::view::{SelectionId, Unsettled, View, ViewId};

/// What is wrong, in words.
type Finding = Result<(), String>;

fn holds(condition: bool, what: impl FnOnce() -> String) -> Finding {
    if condition { Ok(()) } else { Err(what()) }
}

impl TypeCache {
    /// Holds every table against the others.
    ///
    /// # Errors
    /// The first contradiction.
    pub(crate) fn audit(&self) -> Finding {
        self.views.iter().try_for_each(|(id, view)| self.audit_view(ViewId(id), view))?;
        holds(self.by_identity.len() == self.views.len(), || "views are not found by what they are".into())?;
        self.selections.iter().try_for_each(|(id, of)| self.audit_selection(SelectionId(id), of))?;
        let known = self.idle.keys().all(|id| self.selections.contains(id.0));
        holds(known, || "what is idle is not there".into())?;
        self.names.keys().try_for_each(|name| self.audit_name(name))?;
        self.aliases.iter().try_for_each(|(alias, resources)| {
            let lists = |resource: &Name| self.aliases_of(resource).any(|listed| listed == alias);
            holds(resources.iter().all(lists), || format!("{alias} is an alias of {resources:?}"))
        })
    }

    fn audit_view(&self, id: ViewId, view: &View) -> Finding {
        let what = |wrong: &str| format!("view {id:?} of {:?}: {wrong}", view.shared.subscription);
        let found = self.by_identity.get(&view.shared.identity) == Some(&id);
        holds(found, || what("not found by what it is"))?;
        holds(view.streams > 0 && view.is_counted(), || what("streams and cursors differ"))?;
        let mut unsettled = Unsettled::default();
        for id in view.selections.values().collect::<HashSet<_>>() {
            let selection = self.selections.get(id.0).ok_or_else(|| what("a selection is gone"))?;
            let open = usize::from(!selection.is_settled());
            match selection.is_collection() {
                true => unsettled.collections += open,
                false => unsettled.names += open,
            }
            unsettled.failing += usize::from(selection.is_failing());
            unsettled.unproved += usize::from(selection.is_unproved());
        }
        let counted = view.shared.unsettled();
        holds(counted == unsettled, || what(&format!("{counted:?} is {unsettled:?}")))?;
        let sums = view.selections.iter().map(|(selector, id)| self.selections[id.0].sum(selector.form));
        holds(sums.fold(0, u64::wrapping_add) == view.sum, || what("its version is another"))?;
        let asked = view.shared.subscription.iter().all(|s| view.selections.contains_key(s));
        holds(asked && view.shared.subscription.len() == view.selections.len(), || {
            what("has other selections")
        })
    }

    fn audit_selection(&self, id: SelectionId, selection: &Selection) -> Finding {
        let what = |wrong: &str| format!("selection {id:?} of {:?}: {wrong}", selection.locator);
        let contains = |view: &ViewId| {
            self.views.get(view.0).is_some_and(|view| view.selections.values().any(|own| *own == id))
        };
        holds(selection.views.keys().all(contains), || what("a view of it does not contain it"))?;
        holds(selection.views.is_empty() == self.idle.contains_key(&id), || what("idle or not"))?;
        for form in [Form::Plain, Form::Located] {
            let sums = selection.live().map(|member| member.variant.summand(form));
            holds(sums.fold(0, u64::wrapping_add) == selection.sum(form), || what("its version is another"))?;
        }
        holds(selection.gone().count() == selection.tombstone_count(), || {
            what("its tombstones are miscounted")
        })?;
        selection.live().try_for_each(|member| {
            let variant = &member.variant;
            let matches = variant.key().constraints.matches(&selection.locator.parameters);
            holds(matches, || what("selects what does not match"))?;
            // Whoever saw what must not be cached keeps it while others get what came later.
            let kept = selection.is_kept() || variant.content().do_not_cache;
            let kept = kept || self.is_held(variant.key());
            holds(kept, || what(&format!("selects {:?}, which is not there", variant.key())))
        })
    }

    fn is_held(&self, key: &VariantKey) -> bool {
        let entry = self.names.get(&key.name);
        entry.is_some_and(|entry| entry.sets().any(|set| set.get(&key.constraints).is_some()))
    }

    fn audit_name(&self, name: &Name) -> Finding {
        let entry = &self.names[name];
        holds(!entry.is_empty(), || format!("nothing is left of {name}"))?;
        let failing = entry.selections.iter().filter(|(_, id)| self.selections[id.0].failure().is_some());
        holds(failing.count() == entry.selections.failing(), || {
            format!("the errors of {name} are miscounted")
        })?;
        let listed = |alias: &Name| self.aliases.get(alias).is_some_and(|of| of.contains(name));
        let mut variants = entry.sets().flat_map(|set| set.iter());
        let aliased = variants.all(|variant| variant.content().aliases.iter().all(listed));
        holds(aliased, || format!("an alias of {name} does not lead to it"))?;
        let mut asking = entry.selections.iter();
        holds(asking.all(|(_, id)| self.selections.contains(id.0)), || format!("{name} has lost a selection"))
    }
}
