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
        self.views.iter().try_for_each(|(id, view)| self.audit_view(id, view))?;
        holds(self.views.is_published(), || "views are not found by what they are".into())?;
        self.selections.iter().try_for_each(|(id, of)| self.audit_selection(id, of))?;
        holds(self.selections.is_sound(), || "selections are not found, or miscounted".into())?;
        self.variants.names().try_for_each(|name| self.audit_name(name))?;
        self.variants.aliases().try_for_each(|alias| {
            let lists = |resource: &Name| self.variants.aliases_of(resource).any(|listed| listed == alias);
            let resources: Vec<_> = self.variants.listing(alias).collect();
            holds(resources.iter().all(|resource| lists(resource)), || {
                format!("{alias} is an alias of {resources:?}")
            })
        })
    }

    fn audit_view(&self, id: ViewId, view: &View) -> Finding {
        let what = |wrong: &str| format!("view {id:?} of {:?}: {wrong}", view.shared.subscription);
        let found = self.views.find(&view.shared.identity) == Some(id);
        holds(found, || what("not found by what it is"))?;
        holds(view.streams > 0 && view.is_counted(), || what("streams and cursors differ"))?;
        let mut unsettled = Unsettled::default();
        for id in view.selections.values().collect::<HashSet<_>>() {
            let selection = self.selections.get(*id).ok_or_else(|| what("a selection is gone"))?;
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
        let sums =
            view.selections.iter().map(|(selector, id)| self.selections[*id].members.sum(selector.form));
        holds(sums.fold(0, u64::wrapping_add) == view.sum, || what("its version is another"))?;
        let asked = view.shared.subscription.iter().all(|s| view.selections.contains_key(s));
        holds(asked && view.shared.subscription.len() == view.selections.len(), || {
            what("has other selections")
        })
    }

    fn audit_selection(&self, id: SelectionId, selection: &Selection) -> Finding {
        let what = |wrong: &str| format!("selection {id:?} of {:?}: {wrong}", selection.locator);
        let contains = |view: &ViewId| {
            self.views.get(*view).is_some_and(|view| view.selections.values().any(|own| *own == id))
        };
        holds(selection.views.keys().all(contains), || what("a view of it does not contain it"))?;
        holds(selection.views.is_empty() == self.selections.is_idle(id), || what("idle or not"))?;
        for form in [Form::Plain, Form::Located] {
            let sums = selection.members.live().map(|member| member.variant.summand(form));
            holds(sums.fold(0, u64::wrapping_add) == selection.members.sum(form), || {
                what("its version is another")
            })?;
        }
        holds(selection.members.gone().count() == selection.members.tombstone_count(), || {
            what("its tombstones are miscounted")
        })?;
        selection.members.live().try_for_each(|member| {
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
        let variants = self.variants.of(&key.name);
        variants.is_some_and(|variants| variants.sets().any(|set| set.get(&key.constraints).is_some()))
    }

    fn audit_name(&self, name: &Name) -> Finding {
        holds(self.variants.held(name).next().is_some(), || format!("nothing is left of {name}"))?;
        let listed = |alias: &Name| self.variants.listing(alias).any(|of| of == name);
        let live = self.variants.of(name).into_iter().flat_map(|variants| variants.sets());
        let mut live = live.flat_map(|set| set.iter());
        let aliased = live.all(|variant| variant.content().aliases.iter().all(listed));
        holds(aliased, || format!("an alias of {name} does not lead to it"))
    }
}
