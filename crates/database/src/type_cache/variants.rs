//! The variants that a change brings, and those that it takes away.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use weir_types::{Breadth, DynamicParameters, Name, Provenance, Variant, VariantKey};

use super::transaction::Transaction;
use crate::matching::VariantSet;
use crate::view::SelectionId;

/// With how many parameter sets that have left a look at their variants is cheaper than a look at all.
const MAX_LEFT: usize = 16;

impl Transaction<'_> {
    /// Puts a variant in place of what is held of it, if anyone subscribes to it.
    pub(super) fn put(&mut self, mut variant: Variant, provenance: Provenance) {
        if !self.is_wanted(&variant, provenance) {
            return self.take(variant.key(), provenance);
        }
        self.cache.variants.share_bytes(&mut variant);
        self.store(Arc::new(variant), provenance);
    }

    /// Puts a variant that is wanted in place of what was held of it.
    pub(super) fn store(&mut self, variant: Arc<Variant>, provenance: Provenance) {
        self.cache.variants.insert(variant, provenance, &mut self.changed);
    }

    /// Removes a variant.
    pub(super) fn take(&mut self, key: &VariantKey, provenance: Provenance) {
        self.cache.variants.remove(key, provenance, &mut self.changed);
    }

    /// Whether anyone subscribes to what `variant` is part of. What nobody subscribes to is not kept up to
    /// date by upstream either.
    pub(super) fn is_wanted(&self, variant: &Variant, provenance: Provenance) -> bool {
        let constraints = &variant.key().constraints;
        let asked = |asks: &dyn Fn(&DynamicParameters, SelectionId) -> bool| {
            let names = [variant.name()].into_iter().chain(&*variant.content().aliases);
            let mut asking = self.cache.selections.named_matching(names, constraints);
            asking.any(|(parameters, id)| self.keeps(id, variant) && asks(parameters, id))
        };
        let collected = |breadth| {
            let mut collecting = self.cache.selections.collecting_matching(variant.name(), constraints);
            collecting
                .any(|(_, id)| self.cache.selections[id].breadth() == breadth && self.keeps(id, variant))
        };
        match provenance {
            Provenance::Local => true,
            Provenance::Named => asked(&|_, _| true) || collected(Breadth::Glob),
            Provenance::Wildcard => {
                let concerned = |parameters: &DynamicParameters, id: SelectionId| {
                    let variants = self.cache.variants.of(variant.name());
                    self.cache.selections[id].is_absent_by_name()
                        || variants.is_some_and(|variants| variants.of(Provenance::Named).any(parameters))
                };
                // What a wildcard brought stands in for what is asked for by name, until that is answered.
                collected(Breadth::Wildcard) || asked(&|parameters, id| !concerned(parameters, id))
            }
        }
    }

    /// Removes the variants of `names` that no subscription reaches any more: upstream will not keep them up to date.
    pub(super) fn evict_unreachable(&mut self, names: &BTreeSet<Name>, provenance: Provenance) {
        self.evict(names, provenance, |variants| variants.held().collect());
    }

    /// As [`Self::evict_unreachable`], where only those with these parameters have left.
    pub(super) fn evict_unreachable_by(
        &mut self,
        left: &HashSet<DynamicParameters>,
        names: &BTreeSet<Name>,
        provenance: Provenance,
    ) {
        if left.len() > MAX_LEFT {
            return self.evict_unreachable(names, provenance);
        }
        self.evict(names, provenance, |variants| {
            left.iter().flat_map(|parameters| variants.held_for(parameters)).collect()
        });
    }

    /// Removes those of the `suspected` variants of `names` that no subscription reaches.
    fn evict(
        &mut self,
        names: &BTreeSet<Name>,
        provenance: Provenance,
        suspected: impl Fn(&VariantSet) -> Vec<&Arc<Variant>>,
    ) {
        for name in names {
            let Some(variants) = self.cache.variants.of(name) else { continue };
            let stale = suspected(variants.of(provenance)).into_iter();
            let stale = stale.filter(|variant| !self.is_wanted(variant, provenance));
            let stale: Vec<VariantKey> = stale.map(|variant| variant.key().clone()).collect();
            for key in stale {
                self.take(&key, provenance);
            }
            self.cache.variants.tidy(name);
        }
    }
}
