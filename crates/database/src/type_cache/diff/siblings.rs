//! What is sent to one locator of a name while others of that name are on the same stream.
//!
//! TP2 has only the bare name for "nothing matches", whatever the parameters: docs/dynamic-parameters.md has the rule.

use std::sync::Arc;

use weir_types::{Form, Name, Selector, Variant};

use super::DiffBuilder;
use super::query::Removed;
use crate::selection::Selection;

impl<'a> DiffBuilder<'a> {
    /// Sends that nothing matches a locator. TP2 has only the bare name for that, whatever the parameters: it is sent
    /// when all locators of the name that the client has asked for are answered.
    pub(super) fn answer_with_nothing(&mut self, form: Form, selection: &'a Selection) {
        let name = &selection.locator.name;
        match form == Form::Located && self.is_unanswered(name) {
            true => drop(self.waiting.insert(Selector { locator: selection.locator.clone(), form })),
            false => self.answer_missing(name, form),
        }
    }

    /// Whether the view has a locator of this name of which nothing is known yet.
    pub(super) fn is_unanswered(&mut self, name: &Name) -> bool {
        if self.view.shared.unsettled().names == 0 {
            return false;
        }
        if let Some(known) = self.unanswered.get(name) {
            return *known;
        }
        let mut all = self.cache.selections.named([name]);
        let unanswered = all.any(|(_, id)| {
            let selection = &self.cache.selections[id];
            let selector = || Selector { locator: selection.locator.clone(), form: Form::Located };
            !selection.is_settled()
                && !selection.is_failing()
                && self.view.selections.get(&selector()) == Some(&id)
        });
        self.unanswered.insert(name.clone(), unanswered);
        unanswered
    }

    /// A client that states a name and distinguishes variants by their constraints is sent the removal of each variant that it may
    /// mean: those with the version that it states, else all that are known of the name.
    pub(super) fn remove_claimed(&mut self, name: &Name) {
        let held = self.cache.variants.held(name);
        let selections = self.cache.selections.named([name]);
        let gone = selections.flat_map(|(_, id)| self.cache.selections[id].members.gone_of(name));
        let all: Vec<_> = held.chain(gone.map(|old| &old.variant)).collect();
        let is_stated = |variant: &&&Arc<Variant>| {
            let version = variant.version(Form::Located);
            self.query.known.is_some_and(|known| known.is_current(name, version))
        };
        let any_stated = all.iter().any(|variant| is_stated(&variant));
        let meant = all.iter().filter(|variant| !any_stated || is_stated(variant));
        self.removed.extend(meant.map(|variant| Removed::variant(variant.key(), Form::Located)));
    }
}
