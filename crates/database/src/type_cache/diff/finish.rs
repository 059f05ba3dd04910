//! What is left out of a diff: what would be sent twice, or taken back in the same response.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_types::{Form, Name, Selector, Variant, VariantKey};

use super::reasons::Reasons;
use super::visible_set::VisibleSet;
use super::{DiffBuilder, Errors, Removed, Sent, errors, missing};

/// What is left of what was collected.
pub(super) struct Finished {
    pub(super) resources: Vec<(Arc<Variant>, Form)>,
    pub(super) heartbeats: Vec<(Arc<Variant>, Form)>,
    pub(super) removed: Vec<Removed>,
    pub(super) errors: Errors,
}

impl DiffBuilder<'_> {
    fn have_the_longest(&mut self) {
        let (cache, view) = (self.cache, self.view);
        let mut mortal = self.sent.values_mut().filter(|sent| sent.variant.lease().is_some()).peekable();
        if view.selections.len() > 1 && mortal.peek().is_some() {
            let reasons = Reasons::of(cache, view);
            mortal.for_each(|sent| sent.variant = reasons.longest(sent.variant, sent.form));
        }
    }

    /// Leaves out what would be stated twice or taken back in the same breath.
    pub(super) fn finish(mut self) -> Finished {
        self.have_the_longest();
        let Self { cache, view, sent, mut removed, mut missing, errors, .. } = self;
        let sends = |name: &Name, key: Option<&VariantKey>| sent.get(&(name.clone(), key.cloned()));
        missing.retain(|name| !removed.contains(&Removed::Name((*name).clone())));
        if !(removed.is_empty() && missing.is_empty()) && view.selections.len() > 1 {
            let removed_names = removed.iter().filter_map(Removed::shown_name);
            let names = removed_names.chain(missing.iter().copied()).cloned().collect::<BTreeSet<_>>();
            let shown = VisibleSet::of_names(cache, view, &names.iter().collect());
            removed.retain(|gone| match gone {
                Removed::Name(name) => !shown.by_plain_name(name),
                Removed::Variant(key) => !shown.located(key),
                Removed::Locator(_) => true,
            });
            missing.retain(|name| !shown.by_plain_name(name));
        }
        missing.retain(|name| sends(name, None).is_none());
        removed.retain(|gone| match gone {
            Removed::Name(name) => sends(name, None).is_none(),
            Removed::Variant(key) => sends(&key.name, Some(key)).is_none(),
            Removed::Locator(_) => true,
        });
        let shown = |selector: &Selector| Some(&cache.selections[*view.selections.get(selector)?]);
        let mut finished = Finished {
            resources: Vec::new(),
            heartbeats: Vec::new(),
            removed: removed.into_iter().collect(),
            errors: errors::sort_out(shown, errors, |name, key| {
                sends(name, key).is_some_and(|sent| sent.whole)
            }),
        };
        for Sent { variant, form, whole, .. } in sent.values() {
            let located = sends(variant.name(), Some(variant.key())).filter(|_| *form == Form::Plain);
            if located.is_none_or(|located| *whole && !located.whole) {
                let list = if *whole { &mut finished.resources } else { &mut finished.heartbeats };
                list.push((Arc::clone(variant), *form));
            }
        }
        if !missing.is_empty() {
            finished.resources.extend(missing::resources(missing.into_iter()));
            finished.resources.sort_by(|(one, _), (other, _)| one.name().cmp(other.name()));
        }
        finished
    }
}
