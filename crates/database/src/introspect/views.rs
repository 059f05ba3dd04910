//! Views: how many streams share which subscription, and what it shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_types::{
    Absence, Commit, DynamicParameters, Fingerprint, Form, Head, Name, RefusalReason, ResourceError,
    Selector, TypeUrl, Variant,
};

use crate::Database;
use crate::view::{Barred, Unsettled, View};

/// A view.
#[derive(Clone, Debug)]
pub struct ViewSummary {
    /// Never given twice.
    pub id: u64,
    /// What identifies the set of what is subscribed.
    pub subscription: Fingerprint,
    /// How much is subscribed: names, locators and collections.
    pub selectors: usize,
    /// How many streams are attached.
    pub streams: usize,
    /// Up to where the least advanced of them was sent everything, removals included.
    pub sent: Commit,
    /// The newest commits that concern it.
    pub head: Head,
    /// What upstream has not answered yet.
    pub unsettled: Unsettled,
    /// What they are not given, whatever there is.
    pub barred: Barred,
}

/// What a view shows for one of its selectors.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What is subscribed.
    pub selector: Selector,
    /// The variant, and when it was selected or its content last changed; none if there is nothing.
    pub variant: Option<(Arc<Variant>, Commit)>,
    /// Where there is nothing: what is known of that.
    pub absence: Absence,
    /// The error that upstream reports for it.
    pub error: Option<Arc<ResourceError>>,
    /// Why it is refused, whatever upstream has.
    pub refusal: Option<RefusalReason>,
}

impl Database {
    /// The views of a type, by age.
    pub fn views(&self, type_url: &TypeUrl) -> Vec<ViewSummary> {
        let views = self.look_at(type_url, |cache| cache.views().map(summary).collect::<Vec<_>>());
        let mut views = views.unwrap_or_default();
        views.sort_unstable_by_key(|view| view.id);
        views
    }

    /// What a view shows, in order, names of collections included, and of each selector that shows nothing that it does;
    /// none if there is no such view any more. It takes as
    /// long as the first response to a stream that attaches to it.
    pub fn contents(&self, type_url: &TypeUrl, subscription: Fingerprint) -> Option<Vec<Shown>> {
        let mut shown = self.look_at(type_url, |cache| cache.contents(subscription))??;
        let name = |shown: &Shown| shown.variant.as_ref().map(|(variant, _)| variant.name().clone());
        shown.sort_by_cached_key(|shown| (name(shown), shown.selector.clone()));
        Some(shown)
    }

    /// Why the streams of a view are not given a name that they are subscribed to; none if that is not so.
    pub fn barred(
        &self,
        type_url: &TypeUrl,
        subscription: Fingerprint,
        name: &Name,
    ) -> Option<RefusalReason> {
        let view = self.look_at(type_url, |cache| cache.shared_view(subscription))??;
        let mut refused = view.subscription.refused().iter();
        refused.find(|(selector, _)| selector.locator.name == *name).map(|(_, reason)| reason.clone())
    }

    /// The distinct parameters of what a view is subscribed to in a form, and how many selectors have them; none if
    /// there is no such view any more.
    pub fn parameters_of(
        &self,
        type_url: &TypeUrl,
        subscription: Fingerprint,
        form: Form,
    ) -> Option<BTreeMap<DynamicParameters, usize>> {
        let view = self.look_at(type_url, |cache| cache.shared_view(subscription))??;
        let mut counts = BTreeMap::new();
        for selector in view.subscription.iter().filter(|selector| selector.form == form) {
            *counts.entry(selector.locator.parameters.clone()).or_default() += 1;
        }
        Some(counts)
    }

    /// The first `limit` names that a view is subscribed to, in order; none if there is no such view any more.
    pub fn subscribed(
        &self,
        type_url: &TypeUrl,
        subscription: Fingerprint,
        limit: usize,
    ) -> Option<Vec<(Name, Form, DynamicParameters)>> {
        let view = self.look_at(type_url, |cache| cache.shared_view(subscription))??;
        let mut selectors: Vec<_> = view.subscription.iter().collect();
        if limit < selectors.len() {
            // There may be a hundred thousand of them, and few are shown.
            selectors.select_nth_unstable(limit);
            selectors.truncate(limit);
        }
        selectors.sort_unstable();
        let shown = |s: &Selector| (s.locator.name.clone(), s.form, s.locator.parameters.clone());
        Some(selectors.into_iter().map(shown).collect())
    }
}

fn summary(view: &View) -> ViewSummary {
    let shared = &view.shared;
    ViewSummary {
        id: shared.serial,
        subscription: shared.subscription.fingerprint(),
        selectors: shared.subscription.len(),
        streams: view.streams,
        sent: view.sent_to(),
        head: shared.head(),
        unsettled: shared.unsettled(),
        barred: shared.barred(),
    }
}
