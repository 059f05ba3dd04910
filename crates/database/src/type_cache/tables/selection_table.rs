//! The selections of a type.
//!
//! Owns what is asked for, how it is found, and since when nobody asks for it any more. Never knows what there is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Bound, Index, IndexMut};
use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexMap;
use slab::Slab;
use weir_types::xdstp::collections_of;
use weir_types::{
    Constraints, DynamicParameters, Name, RefusalReason, ResourceLocator, Variant, VariantKey, authority,
};

use super::SelectionSet;
use crate::idle::IdleTimes;
use crate::selection::Selection;
use crate::type_cache::changed::{Concerned, MAX_CONSTRAINTS};
use crate::view::SelectionId;

/// The selections of a type, by their places, and by their locators. A copy shares each of them until it changes.
#[derive(Default)]
pub(crate) struct SelectionTable {
    slots: Slab<Arc<Selection>>,
    by_name: IndexMap<Name, SelectionSet>,
    by_collection: HashMap<Name, SelectionSet>,
    /// Those of clients that are refused what they ask for. What upstream states does not reach them.
    refused: IndexMap<(ResourceLocator, RefusalReason), SelectionId>,
    /// Those that no view contains, and since when; none until the next sweep.
    idle: BTreeMap<SelectionId, Option<Instant>>,
    /// How many were not the first of their locator.
    generations: u64,
}

impl SelectionTable {
    /// Adds a selection that no view contains, and that whoever subscribes to its locator from now on joins.
    pub(crate) fn add(&mut self, selection: Selection) -> SelectionId {
        let (locator, refusal) = (selection.locator.clone(), selection.refusal.clone());
        let id = SelectionId(self.slots.insert(Arc::new(selection)));
        self.idle.insert(id, None);
        match refusal {
            Some(reason) => _ = self.refused.insert((locator, reason), id),
            None => self.set(&locator).add(locator.parameters, id),
        }
        id
    }

    fn set(&mut self, locator: &ResourceLocator) -> &mut SelectionSet {
        match locator.is_collection() {
            true => self.by_collection.entry(locator.name.clone()).or_default(),
            false => self.by_name.entry(locator.name.clone()).or_default(),
        }
    }

    fn set_mut(&mut self, locator: &ResourceLocator) -> Option<&mut SelectionSet> {
        match locator.is_collection() {
            true => self.by_collection.get_mut(&locator.name),
            false => self.by_name.get_mut(&locator.name),
        }
    }

    /// Removes a selection that no view contains. Whether it was the last one that upstream is asked for.
    pub(crate) fn remove(&mut self, id: SelectionId) -> (Arc<Selection>, bool) {
        self.idle.remove(&id);
        let selection = self.slots.remove(id.0);
        let locator = &selection.locator;
        if let Some(reason) = &selection.refusal {
            self.refused.swap_remove(&(locator.clone(), reason.clone()));
            return (selection, false);
        }
        let Some(set) = self.set_mut(locator) else { return (selection, false) };
        if selection.failure().is_some() {
            set.count_failing(false);
        }
        let last = set.remove(&locator.parameters, id);
        if set.is_empty() {
            match locator.is_collection() {
                true => _ = self.by_collection.remove(&locator.name),
                false => _ = self.by_name.swap_remove(&locator.name),
            }
        }
        (selection, last)
    }

    /// The selection that whoever subscribes to a locator now joins, if anyone asks for it or did so lately.
    pub(crate) fn find(&self, locator: &ResourceLocator) -> Option<SelectionId> {
        let set = match locator.is_collection() {
            true => self.of_collection(&locator.name)?,
            false => self.of_name(&locator.name)?,
        };
        set.youngest(&locator.parameters)
    }

    /// The selection of whoever is refused a locator for `reason`, if anyone is or was lately.
    pub(crate) fn find_refused(
        &self,
        locator: &ResourceLocator,
        reason: &RefusalReason,
    ) -> Option<SelectionId> {
        self.refused.get(&(locator.clone(), reason.clone())).copied()
    }

    /// The number of a selection that is not the first of its locator.
    pub(crate) fn next_generation(&mut self) -> u64 {
        self.generations += 1;
        self.generations
    }

    /// The selections of those who ask for just this name.
    pub(crate) fn of_name(&self, name: &Name) -> Option<&SelectionSet> {
        self.by_name.get(name)
    }

    /// The selections of a collection.
    pub(crate) fn of_collection(&self, name: &Name) -> Option<&SelectionSet> {
        self.by_collection.get(name)
    }

    /// The selections of all collections.
    pub(crate) fn collections(&self) -> impl Iterator<Item = &SelectionSet> {
        self.by_collection.values()
    }

    /// Those of whoever asks for just one of these names.
    pub(crate) fn named<'a>(
        &'a self,
        names: impl IntoIterator<Item = &'a Name>,
    ) -> impl Iterator<Item = (&'a DynamicParameters, SelectionId)> {
        names.into_iter().filter_map(|name| self.of_name(name)).flat_map(SelectionSet::iter)
    }

    /// As [`Self::named`], those of them that match `constraints`.
    pub(crate) fn named_matching<'a>(
        &'a self,
        names: impl IntoIterator<Item = &'a Name>,
        constraints: &'a Constraints,
    ) -> impl Iterator<Item = (&'a DynamicParameters, SelectionId)> {
        let sets = names.into_iter().filter_map(|name| self.of_name(name));
        sets.flat_map(move |set| set.matching(constraints))
    }

    /// As [`Self::collecting`], those of them that match `constraints`.
    pub(crate) fn collecting_matching<'a>(
        &'a self,
        name: &'a Name,
        constraints: &'a Constraints,
    ) -> impl Iterator<Item = (&'a DynamicParameters, SelectionId)> {
        self.collecting_sets(name).flat_map(move |set| set.matching(constraints))
    }

    /// The sets of the collections that the resource `name` may be part of.
    pub(crate) fn collecting_sets(&self, name: &Name) -> impl Iterator<Item = &SelectionSet> {
        collections_of(name).filter_map(|collection| self.of_collection(&collection))
    }

    /// The selections of the collections that the resource `name` may be part of.
    pub(crate) fn collecting(&self, name: &Name) -> impl Iterator<Item = (&DynamicParameters, SelectionId)> {
        self.collecting_sets(name).flat_map(SelectionSet::iter)
    }

    /// The selections with an error to which `variant` may be the answer.
    pub(crate) fn failing(&self, variant: &Variant) -> Vec<(SelectionId, VariantKey)> {
        let names = variant.content().aliases.iter().chain([variant.name()]);
        let asked = names.filter_map(|name| self.of_name(name));
        let sets = asked.chain(self.collecting_sets(variant.name())).filter(|set| set.failing() > 0);
        let asking = sets.flat_map(SelectionSet::iter).map(|(_, id)| id);
        let failing = asking.filter(|id| self[*id].failure().is_some());
        failing.map(|id| (id, variant.key().clone())).collect()
    }

    /// The selections of whoever asks for the name or collection `asked` that one of these changes may concern.
    pub(crate) fn concerned<'a>(
        &'a self,
        asked: &Name,
        changes: impl Iterator<Item = &'a Concerned>,
    ) -> Vec<SelectionId> {
        let sets = self.of_name(asked).into_iter().chain(self.of_collection(asked));
        let mut distinct = BTreeSet::new();
        for change in changes {
            match change {
                Concerned::Matching(all) => distinct.extend(all),
                Concerned::All => return sets.flat_map(SelectionSet::iter).map(|(_, id)| id).collect(),
            }
        }
        if distinct.len() > MAX_CONSTRAINTS {
            return sets.flat_map(SelectionSet::iter).map(|(_, id)| id).collect();
        }
        let matching = sets.flat_map(|set| distinct.iter().flat_map(|constraints| set.matching(constraints)));
        matching.map(|(_, id)| id).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The names that are asked for, from a place on.
    pub(crate) fn names_from(&self, place: usize) -> impl Iterator<Item = &Name> {
        self.by_name.keys().skip(place)
    }

    /// How many names are asked for.
    pub(crate) fn name_count(&self) -> usize {
        self.by_name.len()
    }

    /// What is wanted of the source of an authority, each locator once.
    pub(crate) fn wanted(&self, of: &str) -> impl Iterator<Item = ResourceLocator> {
        let all =
            self.by_collection.iter().chain(&self.by_name).filter(move |(name, _)| authority(name) == of);
        all.flat_map(|(name, selections)| {
            selections.parameters().map(|parameters| ResourceLocator::new(name.clone(), parameters.clone()))
        })
    }

    /// Notes that a selection has an error from now on, or has none any more.
    pub(crate) fn count_failing(&mut self, id: SelectionId, fails: bool) {
        let locator = self.slots[id.0].locator.clone();
        self.set_mut(&locator).into_iter().for_each(|set| set.count_failing(fails));
    }

    /// Notes whether a view contains a selection.
    pub(crate) fn set_idle(&mut self, id: SelectionId, idle: bool) {
        match idle {
            true => _ = self.idle.insert(id, None),
            false => _ = self.idle.remove(&id),
        }
    }

    pub(crate) fn is_idle(&self, id: SelectionId) -> bool {
        self.idle.contains_key(&id)
    }

    /// Whether a selection was idle for its time of `idle` at `now`.
    pub(crate) fn is_idle_for(&self, id: SelectionId, (now, idle): (Instant, &IdleTimes)) -> bool {
        let since = self.idle.get(&id).copied().flatten();
        since.is_some_and(|since| now.saturating_duration_since(since) >= idle.of(&self[id].locator))
    }

    /// Finds those of the next `count` idle selections after one that have been so for their times of `idle` at `now`. Returns
    /// the last one that was looked at, if there may be more.
    pub(crate) fn find_idle(
        &mut self,
        after: Option<SelectionId>,
        count: usize,
        (now, idle): (Instant, &IdleTimes),
        due: &mut Vec<SelectionId>,
    ) -> Option<SelectionId> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut last = None;
        for (id, since) in self.idle.range_mut((from, Bound::Unbounded)).take(count) {
            let since = *since.get_or_insert(now);
            let idle = self.slots.get(id.0).map(|selection| idle.of(&selection.locator));
            if idle.is_some_and(|idle| now.saturating_duration_since(since) >= idle) {
                due.push(*id);
            }
            last = Some(*id);
        }
        last
    }

    /// Makes room for `count` more: one table at a time, since each takes long that is large. Whether there was none.
    pub(crate) fn make_room(&mut self, count: usize) -> bool {
        let names = self.by_name.capacity() - self.by_name.len() < count;
        let slots = !names && self.slots.capacity() - self.slots.len() < count;
        if names {
            self.by_name.reserve(count);
        } else if slots {
            self.slots.reserve(count);
        }
        names || slots
    }

    /// The selection `id`, to be taken over by a copy.
    pub(crate) fn share(&self, id: SelectionId) -> Arc<Selection> {
        Arc::clone(&self.slots[id.0])
    }

    /// Takes over selections of another table, at their places there.
    pub(crate) fn take_over(&mut self, shared: impl IntoIterator<Item = (SelectionId, Arc<Selection>)>) {
        self.slots = shared.into_iter().map(|(id, selection)| (id.0, selection)).collect();
    }

    /// Has a selection that was taken over found by a locator.
    pub(crate) fn list(&mut self, locator: &ResourceLocator, id: SelectionId) {
        self.set(locator).add(locator.parameters.clone(), id);
    }

    pub(crate) fn get(&self, id: SelectionId) -> Option<&Selection> {
        self.slots.get(id.0).map(|selection| &**selection)
    }

    pub(crate) fn contains(&self, id: SelectionId) -> bool {
        self.slots.contains(id.0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SelectionId, &Selection)> {
        self.slots.iter().map(|(place, selection)| (SelectionId(place), &**selection))
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// How many places there are, taken or free.
    pub(crate) fn places(&self) -> usize {
        self.slots.capacity()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether all that is listed is there.
    pub(crate) fn is_sound(&self) -> bool {
        let listed = self.by_name.values().chain(self.by_collection.values()).flat_map(SelectionSet::iter);
        let mut all = listed.map(|(_, id)| id).chain(self.refused.values().copied());
        let sets = self.by_name.values().chain(self.by_collection.values());
        let fails = |(_, id): &(&DynamicParameters, SelectionId)| self[*id].failure().is_some();
        let mut sets = sets.map(|set| (set.iter().filter(fails).count(), set.failing()));
        all.all(|id| self.contains(id))
            && self.idle.keys().all(|id| self.contains(*id))
            && sets.all(|(fail, counted)| fail == counted)
    }
}

impl Index<SelectionId> for SelectionTable {
    type Output = Selection;

    fn index(&self, id: SelectionId) -> &Selection {
        &self.slots[id.0]
    }
}

impl IndexMut<SelectionId> for SelectionTable {
    fn index_mut(&mut self, id: SelectionId) -> &mut Selection {
        Arc::make_mut(&mut self.slots[id.0])
    }
}
