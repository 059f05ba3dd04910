//! Streams come, change what they subscribe to, and go.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weir_types::{Commit, Cursor, Selector, Subscription};

use super::{Asked, Core};
use crate::demand::{Demand, Refusal};
use crate::selection::Selection;
use crate::view::{SelectionId, Shared, Unsettled, View, ViewId};

/// Where a stream stands: what changing a subscription starts from.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) view: ViewId,
    pub(crate) cursor: Cursor,
}

impl Core {
    /// Attaches a stream to the view that `base` becomes without `remove` and with `add`; its cursor is
    /// carried over. The caller detaches the stream from `base` afterwards.
    pub(crate) fn attach(
        &mut self,
        base: Option<Standing>,
        add: &[Selector],
        remove: &[Selector],
        demand: &Demand,
        serial: impl FnOnce() -> u64,
    ) -> Result<(ViewId, Arc<Shared>), Refusal> {
        let nothing = Subscription::default();
        let from = base.map(|base| Arc::clone(&self.views[base.view.0].shared));
        let subscription = from.as_ref().map_or(&nothing, |shared| &shared.subscription);
        let fingerprint = subscription.patched_fingerprint(add, remove);
        let id = match self.by_fingerprint.get(&fingerprint) {
            Some(id) => *id,
            None => {
                let patched = subscription.patched(add, remove);
                let id = self.create_view(patched, demand, serial())?;
                self.by_fingerprint.insert(fingerprint, id);
                id
            }
        };
        let cursor = base.map(|base| base.cursor).unwrap_or_default();
        if let Some(base) = base.filter(|base| base.view != id)
            && let Some((old, new)) = self.views.get2_mut(base.view.0, id.0)
        {
            new.inherit(old, cursor);
        }
        let view = &mut self.views[id.0];
        view.streams += 1;
        view.place(cursor);
        Ok((id, Arc::clone(&view.shared)))
    }

    /// Takes a stream off its view.
    pub(crate) fn detach(&mut self, standing: Standing) {
        let view = &mut self.views[standing.view.0];
        view.lift(standing.cursor);
        view.streams -= 1;
        if view.streams > 0 {
            return;
        }
        let view = self.views.remove(standing.view.0);
        self.by_fingerprint.remove(&view.shared.subscription.fingerprint());
        for id in view.selections.into_values() {
            let selection = &mut self.selections[id.0];
            selection.views.remove(&standing.view);
            if selection.views.is_empty() {
                self.idle.insert(id, None);
            }
        }
    }

    fn create_view(
        &mut self,
        subscription: Subscription,
        demand: &Demand,
        serial: u64,
    ) -> Result<ViewId, Refusal> {
        let mut selections = HashMap::with_capacity(subscription.len());
        for selector in subscription.iter() {
            selections.insert(selector.clone(), self.ensure_selection(selector, demand)?);
        }
        let id = ViewId(self.views.vacant_key());
        let mut unsettled = Unsettled::default();
        // A locator may be asked for in both forms: one selection, counted once.
        let distinct: HashSet<_> = selections.values().copied().collect();
        for selection in distinct {
            self.idle.remove(&selection);
            let selection = &mut self.selections[selection.0];
            selection.views.insert(id);
            let count = match selection.locator.is_wildcard() {
                true => &mut unsettled.wildcards,
                false => &mut unsettled.names,
            };
            *count += usize::from(!selection.is_settled());
        }
        self.views.insert(View::new(serial, subscription, selections, unsettled, self.last));
        Ok(id)
    }

    /// The selection of a locator. A new one is wanted from upstream, and idle until a view contains it.
    fn ensure_selection(&mut self, selector: &Selector, demand: &Demand) -> Result<SelectionId, Refusal> {
        let locator = &selector.locator;
        let known = match locator.is_wildcard() {
            true => self.wildcards.get(&locator.parameters),
            false => self.names.get(&locator.name).and_then(|e| e.selections.get(&locator.parameters)),
        };
        if let Some(id) = known {
            return Ok(*id);
        }
        demand.want(&self.type_url, locator)?;
        let id = SelectionId(self.selections.insert(Selection::new(locator.clone())));
        self.idle.insert(id, None);
        if locator.is_wildcard() {
            self.wildcards.insert(locator.parameters.clone(), id);
        } else {
            let entry = self.names.entry(locator.name.clone()).or_default();
            entry.selections.insert(locator.parameters.clone(), id);
        }
        self.fill(id, self.last);
        Ok(id)
    }

    /// Selects for a new selection what is already here.
    fn fill(&mut self, id: SelectionId, at: Commit) {
        let locator = self.selections[id.0].locator.clone();
        if !locator.is_wildcard() {
            let answer = self.answer(&locator.name, &locator.parameters);
            self.selections[id.0].select(&locator.name, answer.as_ref(), at);
            return;
        }
        let names: Vec<_> = self.names.keys().cloned().collect();
        for name in names {
            let found = self.lookup(&name, &locator.parameters, Asked::ByWildcard);
            self.selections[id.0].select(&name, found.as_ref(), at);
        }
    }
}
