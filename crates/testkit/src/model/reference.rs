//! The naive implementation: no index, no memory of what was sent, every answer worked out from the text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_types::constraints::Expr;
use weir_types::{
    Absence, Absent, Breadth, Constraints, DynamicParameters, Form, Heartbeat, Name, Provenance,
    ResourceLocator, Selector, TypeUrl, Variant, VariantKey,
};

use super::{Change, Identity};
use crate::names::is_part_of;

/// Since when nobody subscribes to a locator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Subscribed,
    /// None until the next sweep.
    Idle(Option<Instant>),
}

/// TP2's database as a map of maps.
#[derive(Debug, Default)]
pub struct Reference {
    types: BTreeMap<TypeUrl, OfType>,
}

#[derive(Debug, Default)]
struct OfType {
    /// "keyed by the associated dynamic parameter constraints"
    resources: BTreeMap<(Provenance, Name), BTreeMap<Constraints, Arc<Variant>>>,
    /// What was not refreshed in time: for nobody, until it is.
    expired: BTreeSet<(Provenance, VariantKey)>,
    locators: BTreeMap<ResourceLocator, Use>,
    /// What upstream sent for locators that nothing matches, and of wildcards.
    answers: BTreeMap<ResourceLocator, Absence>,
    /// The locators that upstream, asked for just them, last sent as matched by nothing.
    denied: BTreeSet<ResourceLocator>,
}

impl Reference {
    /// Notes which locators of a type are subscribed now.
    pub fn note_subscribed(&mut self, type_url: &TypeUrl, locators: &BTreeSet<ResourceLocator>) {
        let of_type = self.types.entry(type_url.clone()).or_default();
        for (locator, used) in &mut of_type.locators {
            if *used == Use::Subscribed && !locators.contains(locator) {
                *used = Use::Idle(None);
            }
        }
        for locator in locators {
            of_type.locators.insert(locator.clone(), Use::Subscribed);
        }
    }

    /// Applies a change: what nobody subscribes to is not kept, since upstream does not keep it up to date.
    /// Returns whether a question was answered that was open.
    pub fn apply(&mut self, change: &Change) -> bool {
        let of_type = self.types.entry(change.type_url.clone()).or_default();
        for key in &change.removals {
            of_type.remove(key, change.provenance);
        }
        for (key, content) in &change.upserts {
            of_type.remove(key, change.provenance);
            let variant = Variant::new(key.clone(), content.clone());
            let variant = Arc::new(match change.received {
                Some(at) => variant.leased(at),
                None => variant,
            });
            if of_type.is_wanted(&variant, change.provenance) {
                let variants = of_type.resources.entry((change.provenance, key.name.clone())).or_default();
                variants.insert(key.constraints.clone(), variant);
            }
        }
        for heartbeat in &change.heartbeats {
            of_type.refresh(heartbeat, change);
        }
        of_type.note_answers_by_name(change);
        of_type.note_answers(change)
    }

    /// Gives up locators that have been idle for `idle`, and what only they reached.
    pub fn sweep(&mut self, now: Instant, idle: Duration) {
        for of_type in self.types.values_mut() {
            of_type.expire(now);
            let before = of_type.locators.len();
            of_type.locators.retain(|_, used| match used {
                Use::Subscribed => true,
                Use::Idle(since) => now.saturating_duration_since(*since.get_or_insert(now)) < idle,
            });
            if of_type.locators.len() < before {
                of_type.evict();
            }
        }
    }

    /// Everything that a client with these selectors should hold.
    pub fn shows<'a>(
        &self,
        type_url: &TypeUrl,
        selectors: impl Iterator<Item = &'a Selector> + Clone,
    ) -> BTreeMap<Identity, Arc<Variant>> {
        let mut shown = BTreeMap::new();
        let Some(of_type) = self.types.get(type_url) else { return shown };
        for breadth in [Breadth::Wildcard, Breadth::Glob, Breadth::Name] {
            for selector in selectors.clone().filter(|s| s.locator.breadth() == breadth) {
                for variant in of_type.selected(&selector.locator) {
                    shown.insert(identity(&variant, selector.form), variant);
                }
            }
        }
        shown
    }

    /// Whether a variant exists with just this content, of whatever provenance.
    pub fn holds(&self, type_url: &TypeUrl, key: &VariantKey, version: &str, form: Form) -> bool {
        let all = self.types.get(type_url).into_iter().flat_map(|t| t.resources.iter());
        let named = all.filter(|((_, name), _)| *name == key.name);
        let mut same = named.filter_map(|(_, variants)| variants.get(&key.constraints));
        same.any(|variant| variant.version(form).to_string() == version)
    }

    /// All that is kept of a type and reach.
    pub fn contents(&self, type_url: &TypeUrl, provenance: Provenance) -> Vec<Arc<Variant>> {
        let all = self.types.get(type_url).into_iter().flat_map(|t| t.resources.iter());
        all.filter(|((r, _), _)| *r == provenance)
            .flat_map(|(_, variants)| variants.values().cloned())
            .collect()
    }

    /// What there is of the resource `name` in a reach, but for what has expired.
    pub fn alive(&self, type_url: &TypeUrl, provenance: Provenance, name: &Name) -> Vec<Arc<Variant>> {
        let Some(of_type) = self.types.get(type_url) else { return Vec::new() };
        let variants =
            of_type.resources.get(&(provenance, name.clone())).into_iter().flat_map(BTreeMap::values);
        variants.filter(|variant| of_type.is_alive(provenance, variant)).cloned().collect()
    }

    /// How many variants are kept, but for those that are held whether or not anyone subscribes.
    pub fn kept(&self) -> usize {
        let all = self.types.values().flat_map(|of_type| &of_type.resources);
        all.filter(|((provenance, _), _)| *provenance != Provenance::Local)
            .map(|(_, variants)| variants.len())
            .sum()
    }
}

/// What a client identifies a resource by that it asked for in `form`.
fn identity(variant: &Variant, form: Form) -> Identity {
    let constraints = (form == Form::Located).then(|| variant.key().constraints.clone());
    (variant.name().clone(), constraints)
}

/// "Constraints Representation"
fn matches(expr: &Expr, parameters: &DynamicParameters) -> bool {
    match expr {
        Expr::Value { key, value } => parameters.iter().any(|(k, v)| k == &**key && v == &**value),
        Expr::Exists { key } => parameters.iter().any(|(k, _)| k == &**key),
        Expr::Not(inner) => !matches(inner, parameters),
        Expr::All(all) => !all.iter().any(|e| !matches(e, parameters)),
        Expr::Any(any) => any.iter().any(|e| matches(e, parameters)),
    }
}

fn answers_to(variant: &Variant, name: &Name) -> bool {
    variant.name() == name || variant.content().aliases.contains(name)
}

impl OfType {
    fn remove(&mut self, key: &VariantKey, provenance: Provenance) {
        if let Some(variants) = self.resources.get_mut(&(provenance, key.name.clone())) {
            variants.remove(&key.constraints);
        }
        self.expired.remove(&(provenance, key.clone()));
    }

    fn refresh(&mut self, Heartbeat { key, ttl }: &Heartbeat, change: &Change) {
        let variants = self.resources.get_mut(&(change.provenance, key.name.clone()));
        let held = variants.and_then(|variants| variants.get_mut(&key.constraints));
        if let Some((held, at)) = held.zip(change.received) {
            *held = Arc::new(held.refreshed(at, *ttl));
            self.expired.remove(&(change.provenance, key.clone()));
        }
    }

    fn expire(&mut self, now: Instant) {
        for ((provenance, _), variants) in &self.resources {
            let over = variants.values().filter(|v| v.lease().is_some_and(|lease| lease.is_over(now)));
            self.expired.extend(over.map(|variant| (*provenance, variant.key().clone())));
        }
    }

    fn is_alive(&self, provenance: Provenance, variant: &Variant) -> bool {
        !self.expired.contains(&(provenance, variant.key().clone()))
    }

    fn is_wanted(&self, variant: &Variant, provenance: Provenance) -> bool {
        let asks = |l: &&ResourceLocator| match l.breadth() {
            Breadth::Wildcard => provenance == Provenance::Wildcard,
            Breadth::Glob => provenance == Provenance::Named && is_part_of(variant.name(), &l.name),
            Breadth::Name => answers_to(variant, &l.name),
        };
        // What a wildcard brought stands in for what is asked for by name, until that is answered.
        let was_answered = |l: &ResourceLocator| {
            let named = self.resources.get(&(Provenance::Named, variant.name().clone()));
            let mut named = named.into_iter().flat_map(BTreeMap::values);
            let matches = |v: &Arc<Variant>| matches(v.key().constraints.expr(), &l.parameters);
            let mut answered = || named.any(|v| self.is_alive(Provenance::Named, v) && matches(v));
            provenance == Provenance::Wildcard
                && !l.is_collection()
                && (self.denied.contains(l) || answered())
        };
        let expr = variant.key().constraints.expr();
        let mut asking = self.locators.keys().filter(asks).filter(|l| matches(expr, &l.parameters));
        provenance == Provenance::Local || asking.any(|locator| !was_answered(locator))
    }

    fn note_answers_by_name(&mut self, change: &Change) {
        if change.provenance != Provenance::Named {
            return;
        }
        for locator in self.locators.keys().filter(|l| !l.is_collection()) {
            let concerns = |a: &&Absent| a.name == locator.name && a.scope.covers(&locator.parameters);
            if change.absent.iter().filter(concerns).any(|a| a.absence == Absence::Known) {
                self.denied.insert(locator.clone());
            }
        }
        // Absent and brought, perhaps by another name, is brought.
        let mut denied = std::mem::take(&mut self.denied);
        denied.retain(|locator| !self.selects_named(locator));
        self.denied = denied;
        self.evict();
    }

    /// Whether there is something for a locator that came by asking for just it.
    fn selects_named(&self, locator: &ResourceLocator) -> bool {
        self.selected(locator).iter().any(|variant| {
            let named = self.resources.get(&(Provenance::Named, variant.name().clone()));
            named.is_some_and(|variants| variants.contains_key(&variant.key().constraints))
        })
    }

    fn evict(&mut self) {
        let unwanted =
            |((provenance, name), variants): (&(Provenance, Name), &BTreeMap<Constraints, Arc<Variant>>)| {
                let unwanted = variants.values().filter(|variant| !self.is_wanted(variant, *provenance));
                unwanted
                    .map(|v| ((*provenance, name.clone()), v.key().constraints.clone()))
                    .collect::<Vec<_>>()
            };
        let gone: Vec<_> = self.resources.iter().flat_map(unwanted).collect();
        for (of, constraints) in gone {
            self.resources.get_mut(&of).map(|variants| variants.remove(&constraints));
        }
        self.resources.retain(|_, variants| !variants.is_empty());
        let locators = &self.locators;
        self.answers.retain(|locator, _| locators.contains_key(locator));
        self.denied.retain(|locator| locators.contains_key(locator));
    }

    /// The variant of the resource `name`, from the first of `reaches` that has one. Where more than one
    /// matches ("Matching Ambiguity"): the one that constrains most keys, then the first in canonical order.
    fn choose(
        &self,
        name: &Name,
        parameters: &DynamicParameters,
        reaches: &[Provenance],
        answers: impl Fn(&Variant) -> bool,
    ) -> Option<Arc<Variant>> {
        reaches.iter().find_map(|provenance| {
            let variants = self.resources.get(&(*provenance, name.clone()))?;
            let matching = variants.values().filter(|v| matches(v.key().constraints.expr(), parameters));
            let matching = matching.filter(|variant| self.is_alive(*provenance, variant) && answers(variant));
            let rank = |v: &&Arc<Variant>| {
                (std::cmp::Reverse(v.key().constraints.key_count()), v.key().constraints.clone())
            };
            matching.min_by_key(rank).cloned()
        })
    }

    fn selected(&self, locator: &ResourceLocator) -> Vec<Arc<Variant>> {
        const BY_NAME: &[Provenance] = &[Provenance::Named, Provenance::Wildcard, Provenance::Local];
        const BY_GLOB: &[Provenance] = &[Provenance::Named, Provenance::Local];
        const BY_WILDCARD: &[Provenance] = &[Provenance::Wildcard, Provenance::Local];
        let names: BTreeSet<&Name> = self.resources.keys().map(|(_, name)| name).collect();
        let parameters = &locator.parameters;
        if locator.is_collection() {
            let reaches = if locator.is_wildcard() { BY_WILDCARD } else { BY_GLOB };
            let names = names.into_iter().filter(|name| is_part_of(name, &locator.name));
            return names.filter_map(|name| self.choose(name, parameters, reaches, |_| true)).collect();
        }
        let own = self.choose(&locator.name, parameters, BY_NAME, |_| true);
        let lists = |variant: &Variant| variant.content().aliases.contains(&locator.name);
        let aliased = || {
            let mut others = names.iter().filter(|name| **name != &locator.name);
            others.find_map(|name| self.choose(name, parameters, BY_NAME, lists))
        };
        own.or_else(aliased).into_iter().collect()
    }

    fn note_answers(&mut self, change: &Change) -> bool {
        let mut news = false;
        for locator in self.locators.keys() {
            let known = self.answers.get(locator).copied().unwrap_or_default();
            let answered = match locator.is_collection() {
                true => {
                    let mut answered = change.answered.iter();
                    answered.any(|answered| answered.covers(locator)).then_some(Absence::Known)
                }
                false => {
                    let name = &*locator.name;
                    let about = |a: &&Absent| *a.name == *name && a.scope.covers(&locator.parameters);
                    change.absent.iter().filter(about).map(|absent| absent.absence).max()
                }
            };
            if let Some(answered) = answered.filter(|answered| *answered > known) {
                self.answers.insert(locator.clone(), answered);
                news = true;
            }
        }
        news
    }
}
