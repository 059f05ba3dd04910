//! The files as a source of batches: what changed between two states of them, and answers to demand.
//!
//! A pure state: it neither reads files nor knows the database.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use weir_types::{
    Absence, Answered, Batch, Heartbeat, Name, Provenance, ResourceLocator, TypeUrl, Variant, VariantKey,
};

use super::load::Loaded;

/// The variants of a type.
#[derive(Debug, Default)]
struct Variants {
    all: BTreeMap<VariantKey, Arc<Variant>>,
    /// By name and by alias.
    named: HashMap<Name, Vec<Arc<Variant>>>,
}

/// What was committed, and who waits for something.
#[derive(Debug, Default)]
pub(super) struct Source {
    held: BTreeMap<TypeUrl, Variants>,
    /// The names that are wanted; collections need no memory.
    wanted: BTreeMap<TypeUrl, BTreeSet<ResourceLocator>>,
}

impl Source {
    /// What has to be committed, in this order, to get from what was committed before to `loaded`.
    ///
    /// What comes goes out in make-before-break order, one batch for each type; what only goes follows in
    /// reverse. A variant that goes while another of its name comes is part of the first, so that nobody sees
    /// the name gone in between.
    pub(super) fn update(&mut self, loaded: &Loaded) -> Vec<Batch> {
        let mut next = BTreeMap::<TypeUrl, Variants>::new();
        // A resource without a body states that it does not exist, and so does a name that no file has.
        for resource in loaded.resources().filter(|resource| resource.variant.content().body.is_some()) {
            next.entry(resource.type_url.clone()).or_default().insert(&resource.variant);
        }
        let previous = std::mem::replace(&mut self.held, next);
        let mut types: Vec<_> = self.held.keys().chain(previous.keys()).collect();
        types.sort_unstable_by_key(|type_url| (type_url.rank(), *type_url));
        types.dedup();
        let none = Variants::default();
        let (mut additions, mut removals) = (Vec::new(), Vec::new());
        for type_url in types {
            let before = previous.get(type_url).unwrap_or(&none);
            let after = self.held.get(type_url).unwrap_or(&none);
            let [mut coming, mut going] = difference(type_url, before, after);
            let last = if going.is_empty() { &mut coming } else { &mut going };
            self.mark_lost(last, before, after);
            additions.extend((!coming.is_empty()).then_some(coming));
            removals.extend((!going.is_empty()).then_some(going));
        }
        additions.into_iter().chain(removals.into_iter().rev()).collect()
    }

    /// The times to live that there are.
    pub(super) fn ttls(&self) -> BTreeSet<Duration> {
        let all = self.held.values().flat_map(|variants| variants.all.values());
        all.filter_map(|variant| variant.content().ttl).collect()
    }

    /// Vouches for the resources that have one of these times to live.
    pub(super) fn heartbeats(&self, ttls: &BTreeSet<Duration>) -> Vec<Batch> {
        let vouch = |(type_url, variants): (&TypeUrl, &Variants)| {
            let mut batch = Batch::new(type_url.clone(), Provenance::Local);
            for (key, variant) in &variants.all {
                let ttl = variant.content().ttl.filter(|ttl| ttls.contains(ttl));
                batch.heartbeats.extend(ttl.map(|ttl| Heartbeat { key: key.clone(), ttl }));
            }
            batch
        };
        self.held.iter().map(vouch).filter(|batch| !batch.is_empty()).collect()
    }

    /// What is wanted now: answered at once, since all there is is here.
    pub(super) fn want(&mut self, type_url: TypeUrl, locator: ResourceLocator) -> Option<Batch> {
        let mut batch = Batch::new(type_url.clone(), Provenance::Local);
        if locator.is_collection() {
            batch.mark_answered(&locator);
            return Some(batch);
        }
        let held = self.held.get(&type_url).is_some_and(|variants| variants.answer(&locator));
        if !held {
            batch.mark_absent(&locator, Absence::Known);
        }
        self.wanted.entry(type_url).or_default().insert(locator);
        (!held).then_some(batch)
    }

    /// Nobody wants it any more.
    pub(super) fn give_up(&mut self, type_url: &TypeUrl, locator: &ResourceLocator) {
        if let Some(locators) = self.wanted.get_mut(type_url) {
            locators.remove(locator);
        }
    }

    /// Marks the wanted names that something answered before and nothing does now.
    fn mark_lost(&self, batch: &mut Batch, before: &Variants, after: &Variants) {
        for locator in self.wanted.get(&batch.type_url).into_iter().flatten() {
            if before.answer(locator) && !after.answer(locator) {
                batch.mark_absent(locator, Absence::Known);
            }
        }
    }
}

impl Variants {
    fn insert(&mut self, variant: &Arc<Variant>) {
        self.all.insert(variant.key().clone(), Arc::clone(variant));
        for name in std::iter::once(variant.name()).chain(&*variant.content().aliases) {
            self.named.entry(name.clone()).or_default().push(Arc::clone(variant));
        }
    }

    /// Whether one of them is what `locator` asks for.
    fn answer(&self, locator: &ResourceLocator) -> bool {
        let named = self.named.get(&locator.name).into_iter().flatten();
        named.into_iter().any(|variant| variant.key().constraints.matches(&locator.parameters))
    }
}

/// What comes (with the variants that go in exchange), and what only goes.
fn difference(type_url: &TypeUrl, before: &Variants, after: &Variants) -> [Batch; 2] {
    let [mut coming, mut going] = [(); 2].map(|()| Batch::new(type_url.clone(), Provenance::Local));
    for (key, variant) in &after.all {
        if before.all.get(key).is_none_or(|old| old.content() != variant.content()) {
            coming.upserts.push(Variant::new(key.clone(), variant.content().clone()));
        }
    }
    let renewed: BTreeSet<_> = coming.upserts.iter().map(|variant| variant.name().clone()).collect();
    for key in before.all.keys().filter(|key| !after.all.contains_key(key)) {
        let batch = if renewed.contains(&key.name) { &mut coming } else { &mut going };
        batch.removals.push(key.clone());
    }
    for batch in [&mut coming, &mut going] {
        if !batch.is_empty() {
            batch.answered.push(Answered::all());
        }
    }
    [coming, going]
}
