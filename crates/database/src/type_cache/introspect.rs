//! The insides, for those who only look: see [`crate::survey`].

use std::sync::Arc;

use weir_types::{Absence, Fingerprint, Name, Provenance, ResourceLocator, Variant, VariantKey};

use super::TypeCache;
use super::tables::Variants;
use crate::introspect::{Showing, Shown};
use crate::selection::{Member, Selection};
use crate::view::{SelectionId, Shared, View};

/// What there is under one name.
pub(crate) struct Entry<'a> {
    cache: &'a TypeCache,
    name: &'a Name,
}

impl<'a> Entry<'a> {
    /// What is held, how it came, and whether its time to live is over; in the order in which a name is answered.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&'a Arc<Variant>, Provenance, bool)> + use<'a> {
        let reaches = [Provenance::Named, Provenance::Wildcard, Provenance::Local];
        let sets = self.cache.variants.of(self.name).into_iter().flat_map(Variants::sets);
        sets.zip(reaches).flat_map(|(set, provenance)| {
            let live = set.iter().count();
            set.held().enumerate().map(move |(at, variant)| (variant, provenance, at >= live))
        })
    }

    /// What the locators of this name select.
    pub(crate) fn selections(&self) -> impl Iterator<Item = (SelectionId, &'a Selection)> + use<'a> {
        let cache = self.cache;
        cache.selections.named([self.name]).map(|(_, id)| (id, &cache.selections[id]))
    }
}

impl TypeCache {
    /// The names of which there are variants, or that are asked for.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        let asked = self.selections.names_from(0).filter(|name| self.variants.of(name).is_none());
        self.variants.names().chain(asked)
    }

    pub(crate) fn entry<'a>(&'a self, name: &'a Name) -> Option<Entry<'a>> {
        let is_there = self.variants.of(name).is_some() || self.selections.of_name(name).is_some();
        is_there.then_some(Entry { cache: self, name })
    }

    /// What is wanted of the source of an authority, each locator once.
    pub(crate) fn wanted(&self, of: &str) -> impl Iterator<Item = ResourceLocator> {
        self.selections.wanted(of)
    }

    /// What came in this way, expired or not, and has such a name.
    pub(crate) fn held(&self, provenance: Provenance, is: impl Fn(&str) -> bool) -> Vec<VariantKey> {
        let of_names = self.variants.iter_from(0).filter(|(name, _)| is(name));
        let held = of_names.flat_map(|(_, variants)| variants.of(provenance).held());
        held.map(|variant| variant.key().clone()).collect()
    }

    /// Whether anything came in this way that has such a name.
    pub(crate) fn holds(&self, provenance: Provenance, is: impl Fn(&str) -> bool) -> bool {
        let mut all = self.variants.iter_from(0);
        all.any(|(name, variants)| is(name) && variants.of(provenance).held().next().is_some())
    }

    /// The resources that list an alias.
    pub(crate) fn listing(&self, alias: &Name) -> Vec<Name> {
        self.variants.listing(alias).cloned().collect()
    }

    /// The selections of the collections that the resource `name` may be part of.
    pub(crate) fn collecting_selections(
        &self,
        name: &Name,
    ) -> impl Iterator<Item = (SelectionId, &Selection)> {
        self.selections.collecting(name).map(|(_, id)| (id, &self.selections[id]))
    }

    /// How many streams a selection is for.
    pub(crate) fn streams_at(&self, id: SelectionId) -> usize {
        self.selections[id].views.keys().map(|view| self.views[*view].streams).sum()
    }

    /// Whether just this variant is there for somebody.
    pub(crate) fn has_variant(&self, key: &VariantKey) -> bool {
        let held = self.entry(&key.name).into_iter().flat_map(|entry| entry.held());
        held.into_iter().any(|(variant, _, expired)| !expired && variant.key() == key)
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = &View> {
        self.views.iter().map(|(_, view)| view)
    }

    pub(crate) fn shared_view(&self, subscription: Fingerprint) -> Option<Arc<Shared>> {
        self.views.of(subscription).map(|view| Arc::clone(&view.shared))
    }

    /// What each subscription shows of `name`.
    pub(crate) fn showing(&self, name: &Name) -> Showing {
        let mut showing = Showing::new();
        let Some(entry) = self.entry(name) else { return showing };
        for (_, selection) in entry.selections().chain(self.collecting_selections(name)) {
            let member = match selection.is_collection() {
                true => selection.members.member(name),
                false => selection.members.live().next(),
            };
            if member.is_none() && selection.is_collection() {
                continue;
            }
            for view in selection.views.keys().map(|view| &self.views[*view]) {
                let shown = showing.entry(view.shared.subscription.fingerprint()).or_default();
                // Where a name and a collection both bring it, the younger counts.
                let is_younger = |member: &&Member| shown.as_ref().is_none_or(|(_, at)| *at < member.changed);
                if let Some(member) = member.filter(is_younger) {
                    *shown = Some((Arc::clone(&member.variant), member.changed));
                }
            }
        }
        showing
    }

    /// What a view shows; for a selector with nothing, that there is nothing.
    pub(crate) fn contents(&self, subscription: Fingerprint) -> Option<Vec<Shown>> {
        let view = self.views.of(subscription)?;
        let mut shown = Vec::new();
        for (selector, id) in &*view.selections {
            let selection = &self.selections[*id];
            let answered = selection.is_collection() && selection.is_settled();
            let absence = if answered { Absence::Known } else { selection.resolution().absence() };
            let of = |variant| Shown {
                selector: selector.clone(),
                variant,
                absence,
                error: selection.failure().map(|failure| Arc::clone(&failure.error)),
                refusal: selection.refusal.clone(),
            };
            let before = shown.len();
            shown.extend(
                selection
                    .members
                    .live()
                    .map(|member| of(Some((Arc::clone(&member.variant), member.changed)))),
            );
            if shown.len() == before {
                shown.push(of(None));
            }
        }
        Some(shown)
    }
}
