//! The variants that a change brings, and those that it takes away.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_types::{Breadth, DynamicParameters, Form, Name, Reach, Variant, VariantKey};

use super::TypeCache;
use super::transaction::Transaction;
use crate::view::SelectionId;

impl TypeCache {
    /// The other names of the variants of `name`, those that have expired among them.
    pub(super) fn aliases_of(&self, name: &Name) -> impl Iterator<Item = &Name> {
        let entry = self.names.get(name).filter(|_| !self.aliases.is_empty());
        let variants = entry.into_iter().flat_map(|e| e.sets()).flat_map(|set| set.held());
        variants.flat_map(|variant| &*variant.content().aliases)
    }

    /// Forgets a name that nothing is left of.
    pub(super) fn tidy_name(&mut self, name: &Name) {
        if self.names.get(name).is_none_or(|entry| !entry.is_empty()) {
            return;
        }
        self.names.swap_remove(name);
        self.globs.remove(name);
    }
}

impl Transaction<'_> {
    /// Puts a variant in place of what is held of it, if anyone subscribes to it.
    pub(super) fn put(&mut self, mut variant: Variant, reach: Reach) {
        if !self.is_wanted(&variant, reach) {
            return self.take(variant.key(), reach);
        }
        self.cache.names.entry(variant.name().clone()).or_default().share_bytes(&mut variant);
        self.store(Arc::new(variant), reach);
    }

    /// Puts a variant that is wanted in place of what was held of it.
    pub(super) fn store(&mut self, variant: Arc<Variant>, reach: Reach) {
        let set = self.cache.names.entry(variant.name().clone()).or_default().set(reach);
        let expired = set.take_expired(&variant.key().constraints);
        let old = set.insert(Arc::clone(&variant));
        if old.is_none() {
            self.cache.globs.insert(variant.name());
        }
        self.cache.leases.replace(reach, old.as_deref(), Some(&variant));
        let uncacheable = |variant: &Variant| variant.content().do_not_cache;
        let same = |old: &Arc<Variant>| {
            !(uncacheable(old) || uncacheable(&variant))
                && old.version(Form::Located) == variant.version(Form::Located)
                && old.content().upstream_version == variant.content().upstream_version
        };
        if let Some(old) = old.as_ref().filter(|old| same(old)) {
            if old.lease() != variant.lease() {
                self.changed.insert(variant.name().clone());
            }
            return;
        }
        self.changed.insert(variant.name().clone());
        if let Some(old) = old.or(expired) {
            self.unlist_aliases(&old);
        }
        for alias in &*variant.content().aliases {
            self.cache.aliases.entry(alias.clone()).or_default().insert(variant.name().clone());
            self.changed.insert(alias.clone());
        }
    }

    /// Removes a variant.
    pub(super) fn take(&mut self, key: &VariantKey, reach: Reach) {
        let Some(entry) = self.cache.names.get_mut(&key.name) else { return };
        let Some(old) = entry.set(reach).remove(&key.constraints) else { return };
        self.cache.leases.replace(reach, Some(&old), None);
        self.changed.insert(key.name.clone());
        self.unlist_aliases(&old);
    }

    /// Removes the aliases of a variant that is no longer there, but for those that others of the name list.
    fn unlist_aliases(&mut self, old: &Variant) {
        for alias in &*old.content().aliases {
            self.changed.insert(alias.clone());
            let listed = self.cache.aliases_of(old.name()).any(|listed| listed == alias);
            if !listed && let Some(resources) = self.cache.aliases.get_mut(alias) {
                resources.remove(old.name());
                if resources.is_empty() {
                    self.cache.aliases.remove(alias);
                }
            }
        }
    }

    /// Whether `variant` came to those who asked for it by name.
    pub(super) fn came_by_name(&self, variant: &Arc<Variant>) -> bool {
        let named = self.cache.names.get(variant.name()).map(|entry| &entry.named);
        let held = named.and_then(|named| named.get(&variant.key().constraints));
        held.is_some_and(|held| Arc::ptr_eq(held, variant))
    }

    /// Whether anyone subscribes to what `variant` is part of. What nobody subscribes to is not kept up to
    /// date by upstream either.
    pub(super) fn is_wanted(&self, variant: &Variant, reach: Reach) -> bool {
        let matches = |parameters| variant.key().constraints.matches(parameters);
        let mut names = [variant.name()].into_iter().chain(&*variant.content().aliases);
        let mut asked = |asks: &dyn Fn(&DynamicParameters, SelectionId) -> bool| {
            let entries = names.by_ref().filter_map(|name| self.cache.names.get(name));
            let mut asking = entries.flat_map(|e| e.selections.iter()).filter(|(p, _)| matches(p));
            asking.any(|(parameters, id)| self.keeps(id, variant) && asks(parameters, id))
        };
        let collected = |breadth| {
            let mut collecting = self.cache.collecting(variant.name()).filter(|(p, _)| matches(p));
            collecting
                .any(|(_, id)| self.cache.selections[id.0].breadth() == breadth && self.keeps(id, variant))
        };
        match reach {
            Reach::Local => true,
            Reach::Named => asked(&|_, _| true) || collected(Breadth::Glob),
            Reach::Wildcard => {
                let heard = |parameters: &DynamicParameters, id: SelectionId| {
                    let entry = self.cache.names.get(variant.name());
                    self.cache.selections[id.0].is_denied()
                        || entry.is_some_and(|entry| entry.named.any(parameters))
                };
                // What a wildcard brought stands in for what is asked for by name, until that is answered.
                collected(Breadth::Wildcard) || asked(&|parameters, id| !heard(parameters, id))
            }
        }
    }

    /// Removes the variants of `names` that no subscription reaches any more: upstream will not keep them up to date.
    pub(super) fn evict_unreachable(&mut self, names: &BTreeSet<Name>, reach: Reach) {
        for name in names {
            let Some(entry) = self.cache.names.get_mut(name) else { continue };
            let variants: Vec<_> = entry.set(reach).held().cloned().collect();
            let stale: Vec<VariantKey> =
                variants.iter().filter(|v| !self.is_wanted(v, reach)).map(|v| v.key().clone()).collect();
            for key in stale {
                self.take(&key, reach);
            }
            self.cache.tidy_name(name);
        }
    }
}
