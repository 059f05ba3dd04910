//! Errors that a stream has to be sent.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use weir_types::{Absence, Breadth, Form, Name, ResourceError, Selector, VariantKey};

use super::query::{Errors, Failing, News, Shape};
use super::{DiffBuilder, identity};
use crate::selection::{Failure, Selection};

impl<'a> DiffBuilder<'a> {
    /// What is wrong with a name, where the client was not sent the error yet.
    pub(super) fn collect_error(&mut self, form: Form, selection: &'a Selection) {
        let after = self.query.after;
        let Some(Failure { since, .. }) = selection.failure() else { return };
        // Beside what the client has, or why it has that no longer: with the removals.
        let with_removals =
            !selection.members.is_empty() || selection.members.gone().any(|old| self.is_unsent(old));
        let news = match with_removals {
            false => *since > after.additions,
            true => !self.query.defers_removals() && *since > after.removals,
        };
        if news {
            self.add_error(form, selection);
        }
    }

    /// What is wrong with a name, whether or not the client was sent the error.
    pub(super) fn add_error(&mut self, form: Form, selection: &'a Selection) {
        // Full state has to repeat the content, and "the set of resources with errors and the set of valid
        // resources must not intersect" (TP3, "Protocol Behavior").
        let repeated = self.query.shape == Shape::Everything && !selection.members.is_empty();
        let is_sent =
            |failure: &&Failure| !failure.error.is_unavailable() || self.sends_unavailable(selection);
        if let Some(failure) = selection.failure().filter(|_| !repeated).filter(is_sent) {
            self.note(News::Changed);
            let selector = Selector { locator: selection.locator.clone(), form };
            self.errors.insert(selector, failure);
            self.answer_error(form, selection);
        }
    }

    /// Whether the client is sent that no control plane is reachable. Wildcards cannot have an error (TP3, "Wildcard
    /// Subscriptions and Glob Collections").
    fn sends_unavailable(&self, selection: &Selection) -> bool {
        self.query.sends_unavailable && selection.is_unavailable() && selection.breadth() != Breadth::Wildcard
    }

    /// Sends the errors that could not be sent beside the resource itself, or while other locators of the name were not answered.
    pub(super) fn collect_pending_errors(&mut self) {
        for selector in self.query.pending_errors.iter().filter(|_| !self.query.defers_removals()) {
            if let Some(id) = self.view.selections.get(selector) {
                let selection = &self.cache.selections[*id];
                self.add_error(selector.form, selection);
                if selector.form == Form::Located && selection.resolution().absence() != Absence::Unknown {
                    self.answer_with_nothing(selector.form, selection);
                }
            }
        }
    }
}

/// Of the errors, those that can be sent in a response with the resources that it `sends`, each once.
pub(super) fn sort_out<'a>(
    shown: impl Fn(&Selector) -> Option<&'a Selection>,
    errors: BTreeMap<Selector, &Failure>,
    sends: impl Fn(&Name, Option<&VariantKey>) -> bool,
) -> Errors {
    let mut sorted = Errors::default();
    // Locators of one name may have equal errors, and a client may have any number of either.
    let mut listed = HashSet::new();
    for (selector, Failure { error, .. }) in errors {
        let sent =
            shown(&selector).into_iter().flat_map(|selection| selection.members.live()).any(|member| {
                let (name, key) = identity(&member.variant, selector.form);
                sends(&name, key.as_ref())
            });
        if sent {
            sorted.postponed.push(selector);
            continue;
        }
        let (name, form) = (selector.locator.name, selector.form);
        let error: &Arc<ResourceError> = error;
        if listed.insert((name.clone(), form, error)) {
            sorted.sent.push(Failing { name, form, error: Arc::clone(error) });
        }
    }
    sorted
}
