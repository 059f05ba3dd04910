//! What must not be cached (`cache_control.do_not_cache`): for those who are subscribed when it comes, and for nobody
//! who comes later.
//!
//! They need it for as long as they are subscribed: full state repeats it, and a stream may be behind. Whoever comes
//! later gets a selection of its own (a younger one of the `SelectionSet`), for which upstream is asked anew. When nobody is left,
//! it is forgotten at once.

use std::collections::BTreeSet;

use weir_types::{Breadth, Commit, Name, Provenance, Selector, Variant};

use super::TypeCache;
use super::transaction::Transaction;
use crate::view::{SelectionId, ViewId};

impl Transaction<'_> {
    /// Receives a variant that must not be cached. For clients that are gone, but for whom upstream still sends it, it
    /// came too late.
    pub(super) fn receive_uncacheable(&mut self, variant: &Variant) {
        self.cache.has_uncacheable = true;
        self.arrived.insert(variant.key().clone());
        let names = variant.content().aliases.iter().chain([variant.name()]);
        let (selections, constraints) = (&self.cache.selections, &variant.key().constraints);
        let named = selections.named_matching(names, constraints);
        let matching = named.chain(selections.collecting_matching(variant.name(), constraints));
        let absent: Vec<SelectionId> =
            matching.map(|(_, id)| id).filter(|id| self.cache.selections[*id].views.is_empty()).collect();
        for id in absent {
            let selection = &mut self.cache.selections[id];
            let slot = match selection.breadth() {
                Breadth::Name => selection.locator.name.clone(),
                Breadth::Glob | Breadth::Wildcard => variant.name().clone(),
            };
            selection.lapse(&slot, self.at);
        }
    }

    /// Whether what must not be cached is kept for selection `id`.
    pub(super) fn keeps(&self, id: SelectionId, variant: &Variant) -> bool {
        let selection = &self.cache.selections[id];
        let arrived = || !selection.views.is_empty() && self.arrived.contains(variant.key());
        !variant.content().do_not_cache || arrived() || selection.members.has(variant.key())
    }
}

impl TypeCache {
    /// Forgets what was only for those who have left selection `id`.
    pub(super) fn lapse(&mut self, id: SelectionId) {
        let selection = &mut self.selections[id];
        let slots = selection.members.uncacheable_slots();
        let members = slots.iter().filter_map(|slot| selection.members.member(slot));
        let names: BTreeSet<Name> = members.map(|member| member.variant.name().clone()).collect();
        for slot in &slots {
            selection.lapse(slot, self.last);
        }
        // What is not kept was selected by nobody else, so that there is nothing to resolve.
        let mut transaction = Transaction::unnumbered(self);
        for provenance in [Provenance::Named, Provenance::Wildcard] {
            transaction.evict_unreachable(&names, provenance);
        }
    }

    /// Which of the names that a stream of `view` asks for again must not be answered with what is here. What the
    /// stream was not sent yet is for it.
    pub(crate) fn stale(&self, view: ViewId, sent: Commit, again: &[Selector]) -> Vec<Selector> {
        if !self.has_uncacheable {
            return Vec::new();
        }
        let view = &self.views[view];
        let unsent: BTreeSet<SelectionId> = view.touched_since(sent).collect();
        let stale = |selector: &&Selector| {
            let uncacheable =
                |id: &SelectionId| self.selections[*id].members.is_uncacheable() && !unsent.contains(id);
            !selector.locator.is_collection() && view.selections.get(*selector).is_some_and(uncacheable)
        };
        again.iter().filter(stale).cloned().collect()
    }
}
