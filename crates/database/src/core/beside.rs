//! What a stream is told beside the changes: what it is owed, and what it holds from an earlier stream.

use std::collections::{BTreeSet, HashSet};

use weir_types::{Absence, Commit, Form, Kind, Name, ResourceLocator, Selector, Variant, WILDCARD};

use super::diff::{Collector, identity};
use super::question::{Removed, Shape};
use super::shown::Shown;
use crate::selection::{Member, Selection};

impl<'a> Collector<'a> {
    pub(super) fn collect_owed(&mut self, owed: &'a Selector) {
        let name = &owed.locator.name;
        if let Some(id) = self.view.selections.get(owed) {
            let selection = &self.core.selections[id.0];
            let by_name = !owed.locator.is_wildcard();
            self.changed |= !by_name && selection.is_settled();
            for Member { variant, .. } in selection.live() {
                self.changed = true;
                if by_name || !self.is_answered_by_name(variant, owed.form, selection) {
                    self.send(variant, owed.form, by_name);
                }
            }
            self.collect_emptiness(owed.form, selection, Commit::NONE);
            if selection.absence != Absence::Unknown
                && !(self.query.hold_removals && self.may_hold(selection))
            {
                self.removed.insert(Removed::absent(name, owed.form));
            }
            return;
        }
        // No longer asked for by name, but a wildcard goes on: also of what the name was an alias of.
        let wildcard = ResourceLocator::new(WILDCARD, owed.locator.parameters.clone());
        let wildcard = Selector { locator: wildcard, form: owed.form };
        let former = self.core.selection(&owed.locator).into_iter();
        let former =
            former.flat_map(|s| s.live().map(|m| &m.variant).chain(s.gone().map(|old| &old.variant)));
        let names: BTreeSet<&Name> = former.map(|variant| variant.name()).chain([name]).collect();
        for name in names {
            self.collect_covered(name, &wildcard);
        }
    }

    /// Whether the client may have something of what `selection` showed and shows no more.
    fn may_hold(&self, selection: &Selection) -> bool {
        let claimed = self.query.known.is_some_and(|known| known.contains(&selection.locator.name));
        claimed || selection.gone().any(|old| self.is_untold(old))
    }

    fn collect_covered(&mut self, name: &Name, wildcard: &Selector) {
        self.changed = true;
        match self.other_answer(name, wildcard) {
            Some(member) => self.send(&member.variant, wildcard.form, false),
            None => drop(self.removed.insert(Removed::absent(name, wildcard.form))),
        }
    }

    /// What the client has of the resource `name` by another name, or by `wildcard`.
    pub(super) fn other_answer(&self, name: &Name, wildcard: &Selector) -> Option<&'a Member> {
        let covering = self.view.selections.get(wildcard).map(|id| &self.core.selections[id.0]);
        let covered = || covering.and_then(|selection| selection.member(name));
        self.answer_by_name(name, wildcard).or_else(covered)
    }

    /// What the client holds from an earlier stream and what no selection tells it of: what has gone of a
    /// wildcard; a name that is answered by another resource now, which lists it as an alias; and of virtual
    /// hosts, what a name that is asked for may have been an alias of. Other names that it states and does
    /// not subscribe to are ignored.
    pub(super) fn collect_forgotten(&mut self) {
        let Some(known) = self.query.known.filter(|_| !self.query.hold_removals) else { return };
        if self.query.shape == Shape::Everything {
            return;
        }
        let first = self.query.after.removals == Commit::NONE;
        let settled = self.view.shared.unsettled().names == 0;
        let mut form = None;
        let mut by_wildcard = false;
        let (mut asked, mut unanswered) = (HashSet::new(), HashSet::new());
        for (selector, id) in &self.view.selections {
            let name = &selector.locator.name;
            if selector.locator.is_wildcard() {
                by_wildcard |= first;
                form = form.or(first.then_some(selector.form));
                continue;
            }
            asked.insert(name);
            let selection = &self.core.selections[id.0];
            if selection.live().next().is_none() {
                // Spoken of where the answer is.
                unanswered.insert(name);
            }
            if settled && !(known.contains(name) && (selection.shows(name) || unanswered.contains(name))) {
                form = Some(selector.form);
            }
        }
        let Some(form) = form else { return };
        let shown = Shown::of(self.core, self.view);
        let any_name = by_wildcard || self.core.type_url.kind() == Kind::VirtualHost;
        for name in known.names().filter(|name| any_name || asked.contains(name)) {
            if !unanswered.contains(name) && !shown.any_of(name) {
                self.removed.insert(Removed::absent(name, form));
            }
        }
    }

    /// What the view's names answer for the resource `name`, if they ask for it in the same way as a wildcard
    /// that shows it: the name's answer counts.
    fn answer_by_name(&self, name: &Name, wildcard: &Selector) -> Option<&'a Member> {
        let mut names = self.core.aliases_of(name).chain([name]);
        names.find_map(|asked| {
            let locator = ResourceLocator::new(asked.clone(), wildcard.locator.parameters.clone());
            let id = self.view.selections.get(&Selector { locator, form: wildcard.form })?;
            self.core.selections[id.0].live().find(|member| member.variant.name() == name)
        })
    }

    /// Whether a name of the view answers with what the client takes for the same resource as `variant`.
    pub(super) fn is_answered_by_name(&self, variant: &Variant, form: Form, selection: &Selection) -> bool {
        let wildcard = Selector { locator: selection.locator.clone(), form };
        let answer = self.answer_by_name(variant.name(), &wildcard);
        answer.is_some_and(|answer| identity(&answer.variant, form) == identity(variant, form))
    }
}
