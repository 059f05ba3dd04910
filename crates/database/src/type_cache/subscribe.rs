//! Streams come, change what they subscribe to, and go.

use std::collections::HashMap;
use std::sync::Arc;

use weir_types::{
    Absence, Breadth, Commit, Cursor, Fingerprint, RefusalReason, Selector, Subscription, SubscriptionChange,
    Variant,
};

use super::{TypeCache, refused};
use crate::demand::Asking;
use crate::limits::{MOST_REFUSED, Refusal, Refused};
use crate::selection::Selection;
use crate::view::{Identity, SelectionId, Shared, View, ViewId};

/// Where a stream stands: what changing a subscription starts from.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) view: ViewId,
    pub(crate) cursor: Cursor,
}

/// A change of what a stream is subscribed to.
#[derive(Clone, Copy)]
pub(crate) struct Patch<'a> {
    pub(crate) change: SubscriptionChange<'a>,
    /// Of what stays, what must not be answered with what is here.
    pub(crate) stale: &'a [Selector],
    /// The identity of what is subscribed then.
    pub(crate) becomes: Fingerprint,
}

impl<'a> Patch<'a> {
    /// Of a subscription. Takes time in proportion to what is added and removed, and needs no lock.
    pub(crate) fn of(from: &Subscription, change: SubscriptionChange<'a>) -> Self {
        Self { change, stale: &[], becomes: from.patched_fingerprint(change) }
    }
}

impl TypeCache {
    /// Attaches a stream to the view that `base` becomes with `patch`; its cursor is carried over. The caller
    /// detaches the stream from `base` afterwards.
    pub(crate) fn attach(
        &mut self,
        base: Option<Standing>,
        patch: Patch<'_>,
        demand: &Asking<'_>,
        serial: impl FnOnce() -> u64,
    ) -> Result<(ViewId, Arc<Shared>), Refused> {
        let nothing = Subscription::default();
        let from = base.map(|base| Arc::clone(&self.views[base.view].shared));
        let subscription = from.as_ref().map_or(&nothing, |shared| &shared.subscription);
        let id = match self.finds_view(patch) {
            Some(id) => id,
            None => {
                let patched = subscription.patched(patch.change);
                self.find_view(base, patched, patch.stale, demand, serial)?
            }
        };
        Ok(self.join_view(base, patch, id))
    }

    /// The view that there is of what is subscribed after `patch`, where everyone who is subscribed to that is at one view.
    pub(crate) fn finds_view(&self, patch: Patch<'_>) -> Option<ViewId> {
        let identity = Identity::new(patch.becomes, Vec::new());
        self.views.find(&identity).filter(|_| !self.has_uncacheable)
    }

    /// Attaches a stream from `base` to view `id`, which is `base` with `patch`.
    pub(crate) fn join_view(
        &mut self,
        base: Option<Standing>,
        patch: Patch<'_>,
        id: ViewId,
    ) -> (ViewId, Arc<Shared>) {
        let cursor = base.map(|base| base.cursor).unwrap_or_default();
        if let Some(base) = base.filter(|base| base.view != id)
            && let Some((old, new)) = self.views.pair_mut(base.view, id)
        {
            let selections = &self.selections;
            new.inherit(old, cursor, |selection| selections[selection].views.contains_key(&id));
            self.transfer_tombstones(base, patch.change.remove, id);
        }
        let view = &mut self.views[id];
        view.streams += 1;
        view.place(cursor);
        (id, Arc::clone(&view.shared))
    }

    /// Takes a stream off its view. Whether it was the last: nobody finds the view any more, and it has to be removed.
    pub(crate) fn detach(&mut self, standing: Standing) -> bool {
        let view = &mut self.views[standing.view];
        view.lift(standing.cursor);
        view.streams -= 1;
        let last = view.streams == 0;
        if last {
            self.views.withdraw(standing.view);
        }
        last
    }

    /// The view of `subscription` that a stream joins which comes from `base`, whether or not there is one yet: it
    /// keeps what it selects there, but for what is `stale`.
    fn find_view(
        &mut self,
        base: Option<Standing>,
        subscription: Subscription,
        stale: &[Selector],
        demand: &Asking<'_>,
        serial: impl FnOnce() -> u64,
    ) -> Result<ViewId, Refused> {
        let kept = base.filter(|_| self.has_uncacheable);
        let kept = kept.map(|base| Arc::clone(&self.views[base.view].selections)).unwrap_or_default();
        let mut selections = HashMap::with_capacity(subscription.len());
        let mut refused = Vec::new();
        for selector in subscription.iter() {
            let refusal = subscription.refusal(selector);
            let is_kept = |id: &SelectionId| {
                !stale.contains(selector) && self.selections[*id].refusal.as_ref() == refusal
            };
            let id = match kept.get(selector) {
                Some(id) if is_kept(id) => Ok(*id),
                older => self.ensure_selection(selector, refusal, demand).inspect(|id| {
                    let held = older.map(|older| self.selections[*older].held());
                    self.selections[*id].succeed(held.unwrap_or_default());
                }),
            };
            match id {
                Ok(id) => drop(selections.insert(selector.clone(), id)),
                Err(refusal) => refused.push((selector.clone(), refusal)),
            }
            if refused.len() > MOST_REFUSED {
                break;
            }
        }
        if !refused.is_empty() {
            return Err(Refused(refused));
        }
        let younger = selections.iter().map(|(s, id)| (self.selections[*id].generation, s.form));
        let younger = younger.filter(|(generation, _)| *generation > 0).collect();
        let identity = Identity::new(subscription.fingerprint(), younger);
        Ok(match self.views.find(&identity) {
            Some(id) => id,
            None => self.create_view(identity, subscription, selections, serial()),
        })
    }

    fn create_view(
        &mut self,
        identity: Identity,
        subscription: Subscription,
        selections: HashMap<Selector, SelectionId>,
        serial: u64,
    ) -> ViewId {
        let id = self.views.insert(View::new(serial, (identity, subscription), self.last));
        for (selector, selection) in selections {
            self.add_to_view(id, selector, selection);
        }
        self.views.publish(id);
        id
    }

    /// The selection that whoever subscribes to a locator now joins. A new one is wanted from upstream, and idle
    /// until a view contains it.
    pub(super) fn ensure_selection(
        &mut self,
        selector: &Selector,
        refusal: Option<&RefusalReason>,
        demand: &Asking<'_>,
    ) -> Result<SelectionId, Refusal> {
        let locator = &selector.locator;
        if let Some(reason) = refusal {
            let known = self.selections.find_refused(locator, reason);
            let new = || self.selections.add(refused::selection(locator, reason, self.last));
            return Ok(known.unwrap_or_else(new));
        }
        let youngest = self.selections.find(locator);
        let mut charge = None;
        match youngest.map(|id| (id, &mut self.selections[id])) {
            None => charge = demand.want(&self.type_url, locator)?,
            Some((id, selection)) if !selection.members.is_uncacheable() => {
                if selection.take_lapsed() {
                    demand.renew(&self.type_url, locator);
                }
                return Ok(id);
            }
            Some(_) => {
                demand.renew(&self.type_url, locator);
            }
        }
        let generation = youngest.map_or(0, |_| self.selections.next_generation());
        let mut selection = Selection::new(locator.clone(), generation);
        selection.charge = charge.map(Arc::new);
        let id = self.selections.add(selection);
        self.fill(id, self.last);
        Ok(id)
    }

    /// Selects for a new selection what is already here, and may be served to whoever comes.
    fn fill(&mut self, id: SelectionId, at: Commit) {
        let locator = self.selections[id].locator.clone();
        let breadth = locator.breadth();
        let cached = |variant: &Arc<Variant>| !variant.content().do_not_cache;
        let names: Vec<_> = match breadth {
            Breadth::Name => {
                let answer = self.variants.answer(&locator.name, &locator.parameters);
                let expired =
                    answer.is_none() && self.variants.has_expired(&locator.name, &locator.parameters);
                let selection = &mut self.selections[id];
                selection.select(&locator.name, answer.filter(cached).as_ref(), at);
                if expired {
                    // Upstream has stated it, by its silence.
                    selection.mark_absent(Absence::Known, at);
                }
                return;
            }
            Breadth::Glob => self.variants.members(&locator.name).cloned().collect(),
            Breadth::Wildcard => self.variants.names().cloned().collect(),
        };
        for name in names {
            let found = self.variants.lookup(&name, &locator.parameters, breadth).filter(cached);
            self.selections[id].select(&name, found.as_ref(), at);
        }
    }
}
