//! Errors on their way from upstream to the selections.

use weir_types::{Failed, Variant, VariantKey};

use super::TypeCache;
use super::tables::SelectionSet;
use super::transaction::Transaction;
use crate::view::SelectionId;

impl Transaction<'_> {
    /// Gives an error to the selections that it concerns.
    pub(super) fn fail(&mut self, failed: &Failed) {
        let (cache, at) = (&*self.cache, self.at);
        let named = cache.selections.of_name(&failed.name);
        let asked = named.into_iter().chain(cache.selections.of_collection(&failed.name));
        let asked: Vec<SelectionId> = asked.flat_map(|sets| sets.covered_by(&failed.scope)).collect();
        for id in asked {
            self.update(id, |selection| selection.fail(&failed.error, at));
        }
    }
}

impl TypeCache {
    /// The selections with an error to which `variant` may be the answer.
    pub(super) fn failing(&self, variant: &Variant) -> Vec<(SelectionId, VariantKey)> {
        let names = variant.content().aliases.iter().chain([variant.name()]);
        let asked = names.filter_map(|name| self.selections.of_name(name));
        let sets =
            asked.chain(self.selections.collecting_sets(variant.name())).filter(|set| set.failing() > 0);
        let asking = sets.flat_map(SelectionSet::iter).map(|(_, id)| id);
        let failing = asking.filter(|id| self.selections[*id].failure().is_some());
        failing.map(|id| (id, variant.key().clone())).collect()
    }
}
