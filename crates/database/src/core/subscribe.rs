//! Streams come, change what they subscribe to, and go.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weir_types::{Absence, Breadth, Commit, Cursor, Selector, Subscription};

use super::Core;
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
            let count = match selection.is_collection() {
                true => &mut unsettled.collections,
                false => &mut unsettled.names,
            };
            *count += usize::from(!selection.is_settled());
            unsettled.failing += usize::from(selection.is_failing());
        }
        self.views.insert(View::new(serial, subscription, selections, unsettled, self.last));
        Ok(id)
    }

    /// The selection of a locator. A new one is wanted from upstream, and idle until a view contains it.
    fn ensure_selection(&mut self, selector: &Selector, demand: &Demand) -> Result<SelectionId, Refusal> {
        let locator = &selector.locator;
        if let Some(id) = self.selection_id(locator) {
            return Ok(id);
        }
        demand.want(&self.type_url, locator)?;
        let id = SelectionId(self.selections.insert(Selection::new(locator.clone())));
        self.idle.insert(id, None);
        let by_parameters = match locator.is_collection() {
            true => self.collections.entry(locator.name.clone()).or_default(),
            false => &mut self.names.entry(locator.name.clone()).or_default().selections,
        };
        by_parameters.insert(locator.parameters.clone(), id);
        self.fill(id, self.last);
        Ok(id)
    }

    /// Selects for a new selection what is already here.
    fn fill(&mut self, id: SelectionId, at: Commit) {
        let locator = self.selections[id.0].locator.clone();
        let breadth = locator.breadth();
        let names: Vec<_> = match breadth {
            Breadth::Name => {
                let answer = self.answer(&locator.name, &locator.parameters);
                let expired = answer.is_none() && self.has_expired(&locator.name, &locator.parameters);
                let selection = &mut self.selections[id.0];
                selection.select(&locator.name, answer.as_ref(), at);
                if expired {
                    // Upstream has said it, by its silence.
                    selection.mark_absent(Absence::Known, at);
                }
                return;
            }
            Breadth::Glob => self.directories.members(&locator.name).cloned().collect(),
            Breadth::Wildcard => self.names.keys().cloned().collect(),
        };
        for name in names {
            let found = self.lookup(&name, &locator.parameters, breadth);
            self.selections[id.0].select(&name, found.as_ref(), at);
        }
    }
}
