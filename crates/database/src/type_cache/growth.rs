//! A view that is built, or taken down, piece by piece.

use std::sync::Arc;

use indexmap::IndexMap;
use weir_types::{Form, RefusalReason, Selector, Subscription};

use super::TypeCache;
use super::subscribe::Patch;
use crate::demand::Asking;
use crate::limits::Refusal;
use crate::view::{Identity, SelectionId, Shared, View, ViewId};

impl TypeCache {
    pub(crate) fn shared(&self, view: ViewId) -> Arc<Shared> {
        Arc::clone(&self.views[view].shared)
    }

    /// Whether a view has to be made in one go: it is there already, or what must not be cached is chosen anew for each
    /// stream.
    pub(crate) fn makes_at_once(&self, patch: Patch<'_>) -> bool {
        self.has_uncacheable || self.finds_view(patch).is_some()
    }

    /// A view without selections, which nobody finds.
    pub(crate) fn begin_view(&mut self, subscription: Subscription, serial: u64) -> ViewId {
        let identity = Identity::new(subscription.fingerprint(), Vec::new());
        let count = subscription.len();
        let mut view = View::new(serial, (identity, subscription), self.last);
        Arc::make_mut(&mut view.selections).reserve(count);
        self.views.insert(view)
    }

    /// Makes room for `count` more names, or selections: one table at a time, since each takes long that is large. False
    /// where there is room for both.
    pub(crate) fn make_room(&mut self, count: usize) -> bool {
        self.selections.make_room(count)
    }

    /// Adds what `selector` selects, or why it is refused, to a view that was begun.
    pub(crate) fn grow_view(
        &mut self,
        view: ViewId,
        selector: &Selector,
        refusal: Option<&RefusalReason>,
        demand: &Asking<'_>,
    ) -> Result<(), Refusal> {
        let selection = self.ensure_selection(selector, refusal, demand)?;
        self.add_to_view(view, selector.clone(), selection);
        Ok(())
    }

    pub(super) fn add_to_view(&mut self, id: ViewId, selector: Selector, selection_id: SelectionId) {
        self.selections.set_idle(selection_id, false);
        let (view, selection) = (&mut self.views[id], &mut self.selections[selection_id]);
        view.sum = view.sum.wrapping_add(selection.members.sum(selector.form));
        view.collections += usize::from(selection.is_collection());
        let forms = selection.views.entry(id).or_default();
        // A locator may be asked for in both forms: one selection, counted once.
        let counted = forms.any();
        forms.add(selector.form);
        Arc::make_mut(&mut view.selections).insert(selector, selection_id);
        if !counted {
            view.shared.count(selection);
        }
    }

    /// Has a view that has all of its selections found from now on. False where that cannot be: another one was found
    /// meanwhile, or what must not be cached has come.
    pub(crate) fn complete_view(&mut self, id: ViewId) -> bool {
        let shared = &self.views[id].shared;
        if self.has_uncacheable || self.views.find(&shared.identity).is_some() {
            return false;
        }
        shared.note_subscribed(self.last);
        self.views.publish(id)
    }

    /// Takes the selections out of a view that nobody finds any more.
    pub(crate) fn empty_view(&mut self, id: ViewId) -> Arc<IndexMap<Selector, SelectionId>> {
        std::mem::take(&mut self.views[id].selections)
    }

    /// Notes that a selection, which was in a view, is no more.
    pub(crate) fn leave_selection(&mut self, view: ViewId, id: SelectionId) {
        let selection = &mut self.selections[id];
        if selection.views.remove(&view).is_some() && selection.views.is_empty() {
            let lapses = selection.members.is_uncacheable();
            self.selections.set_idle(id, true);
            if lapses {
                self.lapse(id);
            }
        }
    }

    /// Removes a view that has no selections any more.
    pub(crate) fn remove_view(&mut self, id: ViewId) -> View {
        self.views.remove(id)
    }
}

/// In which forms a view contains a locator.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forms([bool; 2]);

impl Forms {
    fn add(&mut self, form: Form) {
        self.0[form as usize] = true;
    }

    fn any(self) -> bool {
        self.0 != [false; 2]
    }

    /// How much the sums of the forms have grown, of all that there may be.
    pub(crate) fn growth(self, before: [u64; 2], now: [u64; 2]) -> u64 {
        let grown = |form: usize| if self.0[form] { now[form].wrapping_sub(before[form]) } else { 0 };
        grown(0).wrapping_add(grown(1))
    }
}
