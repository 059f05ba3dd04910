//! The variants of a type.
//!
//! Owns what there is, under which names it answers, and how long it lives. Never knows who asks.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexMap;
use weir_types::{Breadth, DynamicParameters, Form, GlobIndex, Name, Provenance, Variant, VariantKey};

use super::leases::Leases;
use crate::matching::VariantSet;
use crate::type_cache::Ambiguity;
use crate::type_cache::changed::Changed;

/// The variants of a type, by name.
#[derive(Default)]
pub(crate) struct VariantIndex {
    names: IndexMap<Name, Variants>,
    /// Which resources list an alias.
    aliases: HashMap<Name, BTreeSet<Name>>,
    /// The names, by their glob.
    globs: GlobIndex,
    leases: Leases,
    /// Found while matching, not reported yet.
    ambiguities: Vec<Ambiguity>,
}

/// The variants of one name.
#[derive(Debug, Default)]
pub(crate) struct Variants {
    named: VariantSet,
    wildcard: VariantSet,
    local: VariantSet,
}

impl Variants {
    fn set(&mut self, provenance: Provenance) -> &mut VariantSet {
        match provenance {
            Provenance::Named => &mut self.named,
            Provenance::Wildcard => &mut self.wildcard,
            Provenance::Local => &mut self.local,
        }
    }

    /// Those that came in this way.
    pub(crate) fn of(&self, provenance: Provenance) -> &VariantSet {
        match provenance {
            Provenance::Named => &self.named,
            Provenance::Wildcard => &self.wildcard,
            Provenance::Local => &self.local,
        }
    }

    /// In the order in which they answer a name.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &VariantSet> {
        [&self.named, &self.wildcard, &self.local].into_iter()
    }

    fn is_empty(&self) -> bool {
        self.sets().all(VariantSet::is_empty)
    }

    /// Makes `variant` hold the bytes of an equal one that is here already, for whomever that is: a control
    /// plane that knows no dynamic parameters sends each parameter set a copy of its own.
    fn share_bytes(&self, variant: &mut Variant) {
        let content = variant.version(Form::Plain);
        let mut held = self.sets().filter_map(|set| set.with_content(content));
        held.any(|held| variant.share_bytes(held));
    }

    /// The length of the bodies that are held, each once.
    pub(crate) fn bytes(&self) -> usize {
        let held = self.sets().flat_map(|set| set.held());
        let bodies = held.filter_map(|variant| variant.content().body.as_ref());
        let distinct = bodies.map(|body| (body.as_ptr(), body.len())).collect::<BTreeSet<_>>();
        distinct.iter().map(|(_, len)| len).sum()
    }
}

impl VariantIndex {
    /// Makes `variant` hold the bytes of an equal one of its name.
    pub(crate) fn share_bytes(&self, variant: &mut Variant) {
        if let Some(variants) = self.names.get(variant.name()) {
            variants.share_bytes(variant);
        }
    }

    /// Puts a variant in place of what is held of it, and notes the names that have changed by it.
    pub(crate) fn insert(&mut self, variant: Arc<Variant>, provenance: Provenance, changed: &mut Changed) {
        let set = self.names.entry(variant.name().clone()).or_default().set(provenance);
        let expired = set.take_expired(&variant.key().constraints);
        let old = set.insert(Arc::clone(&variant));
        if old.is_none() {
            self.globs.insert(variant.name());
        }
        self.leases.replace(provenance, old.as_deref(), Some(&variant));
        let uncacheable = |variant: &Variant| variant.content().do_not_cache;
        let same = |old: &Arc<Variant>| {
            !(uncacheable(old) || uncacheable(&variant))
                && old.version(Form::Located) == variant.version(Form::Located)
                && old.content().upstream_version == variant.content().upstream_version
        };
        if let Some(old) = old.as_ref().filter(|old| same(old)) {
            if old.lease() != variant.lease() {
                changed.note(variant.name(), &variant.key().constraints);
            }
            return;
        }
        changed.note(variant.name(), &variant.key().constraints);
        if let Some(old) = old.or(expired) {
            self.unlist_aliases(&old, changed);
        }
        for alias in &*variant.content().aliases {
            self.aliases.entry(alias.clone()).or_default().insert(variant.name().clone());
            changed.note(alias, &variant.key().constraints);
        }
    }

    /// Removes a variant, and notes the names that have changed by it.
    pub(crate) fn remove(&mut self, key: &VariantKey, provenance: Provenance, changed: &mut Changed) {
        let Some(variants) = self.names.get_mut(&key.name) else { return };
        let Some(old) = variants.set(provenance).remove(&key.constraints) else { return };
        self.leases.replace(provenance, Some(&old), None);
        changed.note(&key.name, &key.constraints);
        self.unlist_aliases(&old, changed);
    }

    /// Ends the life of one variant whose time is over at `now`, and notes the names that have changed by it.
    pub(crate) fn expire(&mut self, now: Instant, changed: &mut Changed) -> Option<VariantKey> {
        while let Some((provenance, key)) = self.leases.take_over(now) {
            let set = self.names.get_mut(&key.name).map(|variants| variants.set(provenance));
            if let Some(variant) = set.and_then(|set| set.expire(&key.constraints)) {
                let names = variant.content().aliases.iter().chain([variant.name()]);
                names.for_each(|name| changed.note(name, &key.constraints));
                return Some(key);
            }
        }
        None
    }

    /// Removes the aliases of a variant that is no longer there, but for those that others of the name list.
    fn unlist_aliases(&mut self, old: &Variant, changed: &mut Changed) {
        for alias in &*old.content().aliases {
            changed.note(alias, &old.key().constraints);
            let listed = self.aliases_of(old.name()).any(|listed| listed == alias);
            if !listed && let Some(resources) = self.aliases.get_mut(alias) {
                resources.remove(old.name());
                if resources.is_empty() {
                    self.aliases.remove(alias);
                }
            }
        }
    }

    /// Forgets a name that has no variants.
    pub(crate) fn tidy(&mut self, name: &Name) {
        if self.names.get(name).is_some_and(Variants::is_empty) {
            self.names.swap_remove(name);
            self.globs.remove(name);
        }
    }

    /// The variant of the resource `name` for `parameters`. What answered the name itself is preferred for
    /// those who asked by name; nobody who asked for everything gets what only a name brought (w01). A glob
    /// is its names: what answers one of them is part of it.
    pub(crate) fn lookup(
        &mut self,
        name: &Name,
        parameters: &DynamicParameters,
        asked: Breadth,
    ) -> Option<Arc<Variant>> {
        let variants = self.names.get_mut(name)?;
        let reaches: &[Provenance] = match asked {
            Breadth::Name => &[Provenance::Named, Provenance::Wildcard, Provenance::Local],
            Breadth::Glob => &[Provenance::Named, Provenance::Local],
            Breadth::Wildcard => &[Provenance::Wildcard, Provenance::Local],
        };
        for provenance in reaches {
            let Some(found) = variants.set(*provenance).select(parameters) else { continue };
            if let Some(rival) = found.rival {
                self.ambiguities.push(Ambiguity {
                    chosen: found.variant.key().clone(),
                    rival: rival.key().clone(),
                    witness: parameters.clone(),
                });
            }
            return Some(Arc::clone(found.variant));
        }
        None
    }

    /// The variant that answers a locator by name or alias.
    pub(crate) fn answer(&mut self, name: &Name, parameters: &DynamicParameters) -> Option<Arc<Variant>> {
        if let Some(own) = self.lookup(name, parameters, Breadth::Name) {
            return Some(own);
        }
        let listing = self.aliases.get(name)?.iter().filter_map(|resource| self.names.get(resource));
        listing.flat_map(Variants::sets).find_map(|set| set.select_alias(name, parameters)).cloned()
    }

    /// Whether something answered a locator until its time was over.
    pub(crate) fn has_expired(&self, name: &Name, parameters: &DynamicParameters) -> bool {
        let resources = self.listing(name).chain([name]).filter_map(|resource| self.names.get(resource));
        resources.flat_map(Variants::sets).any(|set| set.has_expired(parameters))
    }

    /// Whether just this variant is held, and came in this way.
    pub(crate) fn has(&self, variant: &Arc<Variant>, provenance: Provenance) -> bool {
        let set = self.names.get(variant.name()).map(|variants| variants.of(provenance));
        let held = set.and_then(|set| set.get(&variant.key().constraints));
        held.is_some_and(|held| Arc::ptr_eq(held, variant))
    }

    /// The variants of a name.
    pub(crate) fn of(&self, name: &Name) -> Option<&Variants> {
        self.names.get(name)
    }

    /// All that is held of a name, those that have expired among them.
    pub(crate) fn held(&self, name: &Name) -> impl Iterator<Item = &Arc<Variant>> {
        self.of(name).into_iter().flat_map(Variants::sets).flat_map(|set| set.held())
    }

    /// The names of which there are variants, and the variants, from a place on.
    pub(crate) fn iter_from(&self, place: usize) -> impl Iterator<Item = (&Name, &Variants)> {
        self.names.iter().skip(place)
    }

    /// The names of which there are variants.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.names.keys()
    }

    /// How many names have variants.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// The names of a glob of which there are variants.
    pub(crate) fn members(&self, glob: &Name) -> impl Iterator<Item = &Name> + use<'_> {
        self.globs.members(glob)
    }

    /// The other names of the variants of `name`, those that have expired among them.
    pub(crate) fn aliases_of(&self, name: &Name) -> impl Iterator<Item = &Name> {
        let variants = self.names.get(name).filter(|_| self.has_aliases());
        let held = variants.into_iter().flat_map(Variants::sets).flat_map(|set| set.held());
        held.flat_map(|variant| &*variant.content().aliases)
    }

    /// The resources that list an alias.
    pub(crate) fn listing(&self, alias: &Name) -> impl Iterator<Item = &Name> {
        self.aliases.get(alias).into_iter().flatten()
    }

    /// Whether any resource lists an alias.
    pub(crate) fn has_aliases(&self) -> bool {
        !self.aliases.is_empty()
    }

    /// The aliases that are listed.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = &Name> {
        self.aliases.keys()
    }

    pub(crate) fn take_ambiguities(&mut self) -> Vec<Ambiguity> {
        std::mem::take(&mut self.ambiguities)
    }

    /// Takes over a copy of what `other` has of a name, to be read only.
    pub(crate) fn take_over(&mut self, name: Name, variants: Variants) {
        self.names.insert(name, variants);
    }
}

impl Clone for Variants {
    /// A copy that has equal variants, and no memory of who has asked.
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        for provenance in [Provenance::Named, Provenance::Wildcard, Provenance::Local] {
            self.of(provenance)
                .held()
                .for_each(|variant| _ = copy.set(provenance).insert(Arc::clone(variant)));
        }
        copy
    }
}
