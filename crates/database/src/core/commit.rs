//! Applying what upstream said: first the variants, then whatever is selected of them, then the views.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use weir_types::{
    Absence, Absent, Answered, Batch, Breadth, Commit, DynamicParameters, Form, Name, Reach, Undecided,
    Variant, VariantKey,
};

use super::Core;
use crate::selection::Selection;
use crate::view::{SelectionId, Shared, ViewId};

impl Core {
    /// Applies `batch` as commit `at` and returns the views that it touched.
    pub(crate) fn commit(&mut self, batch: Batch, at: Commit) -> Vec<Arc<Shared>> {
        self.last = at;
        let mut touched = HashMap::new();
        let mut names = BTreeSet::new();
        let mut returned = Vec::new();
        let kept = self.keep(&batch.undecided);
        for key in &batch.removals {
            self.take_out(key, batch.reach, &mut names);
        }
        for variant in batch.upserts {
            returned.extend(self.failing(&variant));
            let variant = match batch.received {
                Some(at) => variant.leased(at),
                None => variant,
            };
            if variant.content().do_not_cache {
                self.bring(&variant, at);
            }
            self.put_in(variant, batch.reach, &mut names);
        }
        for heartbeat in &batch.heartbeats {
            self.refresh(heartbeat, batch.reach, batch.received, &mut names);
        }
        if batch.reach == Reach::Named {
            self.hear_by_name(&batch.absent, &mut names);
        }
        self.reselect_names(names, at, &mut touched);
        self.keep_what_is_gone(&kept);
        for (id, key) in returned {
            let recover = |s: &mut Selection| if s.has(&key) { s.recover(at) } else { None };
            self.update(id, at, &mut touched, recover);
        }
        for absent in &batch.absent {
            self.mark_absent(absent, at, &mut touched);
        }
        for failed in &batch.errors {
            self.fail(failed, at, &mut touched);
        }
        for (id, absence) in self.answered(&batch.answered) {
            self.update(id, at, &mut touched, |selection| selection.mark_answered(absence, at));
        }
        self.brought.clear();
        touched.into_values().collect()
    }

    /// Has locators keep what they have, whatever is removed. Returns them.
    fn keep(&mut self, undecided: &[Undecided]) -> Vec<SelectionId> {
        let mut kept = Vec::new();
        for Undecided { name, scope } in undecided {
            let asked = self.names.get(name).into_iter();
            kept.extend(asked.flat_map(|entry| entry.selections.covered_by(scope)));
        }
        kept.iter().for_each(|id| self.selections[id.0].keep(true));
        kept
    }

    /// What a locator has for another reason need not be kept.
    fn keep_what_is_gone(&mut self, kept: &[SelectionId]) {
        for id in kept {
            let locator = self.selections[id.0].locator.clone();
            let gone = self.answer(&locator.name, &locator.parameters).is_none();
            self.selections[id.0].keep(gone);
        }
    }

    /// The selections of collections of which all has been sent.
    fn answered(&self, answered: &[Answered]) -> Vec<(SelectionId, Absence)> {
        let mut ids = Vec::new();
        for Answered { collection, scope, absence } in answered {
            let one = collection.as_ref().map(|name| self.collections.get(name).into_iter());
            let all = collection.is_none().then(|| self.collections.values());
            let asked = one.into_iter().flatten().chain(all.into_iter().flatten());
            let asked = asked.flat_map(|generations| generations.covered_by(scope));
            ids.extend(asked.map(|id| (id, *absence)));
        }
        ids
    }

    fn put_in(&mut self, mut variant: Variant, reach: Reach, names: &mut BTreeSet<Name>) {
        if !self.is_wanted(&variant, reach) {
            return self.take_out(variant.key(), reach, names);
        }
        if reach == Reach::Named {
            let asked = variant.content().aliases.iter().chain([variant.name()]);
            let asked = asked.filter_map(|name| self.names.get(name));
            for (parameters, id) in asked.flat_map(|entry| entry.selections.iter()) {
                // Of those whom it does not match it says nothing.
                if variant.key().constraints.matches(parameters) {
                    self.selections[id.0].hear(false);
                }
            }
        }
        self.names.entry(variant.name().clone()).or_default().share_bytes(&mut variant);
        self.store(Arc::new(variant), reach, names);
    }

    /// Puts a variant that is wanted in place of what was held of it.
    pub(super) fn store(&mut self, variant: Arc<Variant>, reach: Reach, names: &mut BTreeSet<Name>) {
        let set = self.names.entry(variant.name().clone()).or_default().set(reach);
        let expired = set.take_expired(&variant.key().constraints);
        let old = set.insert(Arc::clone(&variant));
        if old.is_none() {
            self.directories.insert(variant.name());
        }
        self.leases.replace(reach, old.as_deref(), Some(&variant));
        let fleeting = |variant: &Variant| variant.content().do_not_cache;
        let same = |old: &Arc<Variant>| {
            !(fleeting(old) || fleeting(&variant))
                && old.version(Form::Located) == variant.version(Form::Located)
                && old.content().upstream_version == variant.content().upstream_version
        };
        if let Some(old) = old.as_ref().filter(|old| same(old)) {
            if old.lease() != variant.lease() {
                names.insert(variant.name().clone());
            }
            return;
        }
        names.insert(variant.name().clone());
        if let Some(old) = old.or(expired) {
            self.unlist_aliases(&old, names);
        }
        for alias in &*variant.content().aliases {
            self.aliases.entry(alias.clone()).or_default().insert(variant.name().clone());
            names.insert(alias.clone());
        }
    }

    pub(super) fn take_out(&mut self, key: &VariantKey, reach: Reach, names: &mut BTreeSet<Name>) {
        let Some(entry) = self.names.get_mut(&key.name) else { return };
        let Some(old) = entry.set(reach).remove(&key.constraints) else { return };
        self.leases.replace(reach, Some(&old), None);
        names.insert(key.name.clone());
        self.unlist_aliases(&old, names);
    }

    /// The other names of the variants of `name`, those that have expired among them.
    pub(super) fn aliases_of(&self, name: &Name) -> impl Iterator<Item = &Name> {
        let variants = self.names.get(name).into_iter().flat_map(|e| e.sets()).flat_map(|set| set.held());
        variants.flat_map(|variant| &*variant.content().aliases)
    }

    /// Removes the aliases of a variant that is no longer there, but for those that others of the name list.
    fn unlist_aliases(&mut self, old: &Variant, names: &mut BTreeSet<Name>) {
        for alias in &*old.content().aliases {
            names.insert(alias.clone());
            let listed = self.aliases_of(old.name()).any(|listed| listed == alias);
            if !listed && let Some(resources) = self.aliases.get_mut(alias) {
                resources.remove(old.name());
                if resources.is_empty() {
                    self.aliases.remove(alias);
                }
            }
        }
    }

    /// Whether anyone subscribes to what `variant` is part of. What nobody subscribes to is not kept up to
    /// date by upstream either.
    pub(super) fn is_wanted(&self, variant: &Variant, reach: Reach) -> bool {
        let matches = |parameters| variant.key().constraints.matches(parameters);
        let mut names = [variant.name()].into_iter().chain(&*variant.content().aliases);
        let mut asked = |asks: &dyn Fn(&DynamicParameters, SelectionId) -> bool| {
            let entries = names.by_ref().filter_map(|name| self.names.get(name));
            let mut asking = entries.flat_map(|e| e.selections.iter()).filter(|(p, _)| matches(p));
            asking.any(|(parameters, id)| self.keeps(id, variant) && asks(parameters, id))
        };
        let collected = |breadth| {
            let mut collecting = self.collecting(variant.name()).filter(|(p, _)| matches(p));
            collecting.any(|(_, id)| self.selections[id.0].breadth() == breadth && self.keeps(id, variant))
        };
        match reach {
            Reach::Local => true,
            Reach::Named => asked(&|_, _| true) || collected(Breadth::Glob),
            Reach::Wildcard => {
                let heard = |parameters: &DynamicParameters, id: SelectionId| {
                    let entry = self.names.get(variant.name());
                    self.selections[id.0].is_denied()
                        || entry.is_some_and(|entry| entry.named.any(parameters))
                };
                // What a wildcard brought stands in for what is asked for by name, until that is answered.
                collected(Breadth::Wildcard) || asked(&|parameters, id| !heard(parameters, id))
            }
        }
    }

    /// Notes what was heard of names by asking for just them: what a wildcard brought need not stand in any
    /// more, and without its wildcard it would not be kept up to date.
    fn hear_by_name(&mut self, absent: &[Absent], names: &mut BTreeSet<Name>) {
        let mut heard = names.clone();
        for Absent { name, scope, absence } in absent {
            let Some(entry) = self.names.get(name).filter(|_| *absence == Absence::Known) else { continue };
            for id in entry.selections.covered_by(scope) {
                self.selections[id.0].hear(true);
            }
            heard.extend(self.aliases.get(name).into_iter().flatten().chain([name]).cloned());
        }
        self.evict_unreachable(&heard, Reach::Wildcard, names);
    }

    /// Works out anew what everyone selects of `names`.
    pub(super) fn reselect_names(
        &mut self,
        mut names: BTreeSet<Name>,
        at: Commit,
        touched: &mut HashMap<ViewId, Arc<Shared>>,
    ) {
        // Which variant is chosen of a name decides what the other names of its variants stand for.
        let aliases: Vec<Name> = names.iter().flat_map(|name| self.aliases_of(name)).cloned().collect();
        names.extend(aliases);
        for name in &names {
            self.reselect_name(name, at, touched);
        }
    }

    fn reselect_name(&mut self, name: &Name, at: Commit, touched: &mut HashMap<ViewId, Arc<Shared>>) {
        let named = self.names.get(name).into_iter().flat_map(|entry| entry.selections.iter());
        let asking: Vec<SelectionId> = named.chain(self.collecting(name)).map(|(_, id)| id).collect();
        for id in asking {
            self.reselect(id, name, at, touched);
        }
        self.tidy_name(name);
    }

    /// Forgets a name that nothing is left of.
    pub(super) fn tidy_name(&mut self, name: &Name) {
        if self.names.get(name).is_none_or(|entry| !entry.is_empty()) {
            return;
        }
        self.names.swap_remove(name);
        self.directories.remove(name);
    }

    fn mark_absent(&mut self, absent: &Absent, at: Commit, touched: &mut HashMap<ViewId, Arc<Shared>>) {
        let Some(entry) = self.names.get(&absent.name) else { return };
        for id in entry.selections.covered_by(&absent.scope) {
            self.update(id, at, touched, |selection| selection.mark_absent(absent.absence, at));
        }
        debug_assert_ne!(absent.absence, Absence::Unknown, "a source speaks of what it knows");
    }
}
