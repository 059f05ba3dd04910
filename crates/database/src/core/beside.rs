//! What a stream is told beside the changes: what it is owed, and what it holds from an earlier stream.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use weir_types::xdstp::collections_of;
use weir_types::{
    Absence, Breadth, Commit, DynamicParameters, Form, Kind, Name, ResourceLocator, Selector, Variant,
};

use super::diff::{Collector, identity};
use super::question::{Removed, Shape};
use super::shown::Shown;
use crate::selection::{Member, Selection};

impl<'a> Collector<'a> {
    pub(super) fn collect_owed(&mut self, owed: &'a Selector) {
        let name = &owed.locator.name;
        if let Some(id) = self.view.selections.get(owed) {
            let selection = &self.core.selections[id.0];
            self.changed |= selection.is_collection() && selection.is_settled();
            for Member { variant, .. } in selection.live() {
                self.changed = true;
                if !self.is_answered_by_narrower(variant, owed.form, selection) {
                    self.send(variant, owed.form, selection.breadth());
                }
            }
            self.collect_emptiness(owed.form, selection, Commit::NONE);
            if selection.absence != Absence::Unknown
                && !(self.query.hold_removals && self.may_hold(selection))
            {
                self.changed = true;
                self.answer_with_nothing(owed.form, selection);
            }
            self.tell_error(owed.form, selection);
            return;
        }
        // No longer asked for, but a wider collection goes on: also of what a name was an alias of.
        let former = self.core.selection(&owed.locator).into_iter();
        let former =
            former.flat_map(|s| s.live().map(|m| &m.variant).chain(s.gone().map(|old| &old.variant)));
        let own = (!owed.locator.is_collection()).then_some(name);
        let names: BTreeSet<&Name> = former.map(|variant| variant.name()).chain(own).collect();
        for name in names {
            self.collect_covered(name, owed);
        }
    }

    /// Whether the client may have something of what `selection` showed and shows no more.
    fn may_hold(&self, selection: &Selection) -> bool {
        self.is_claimed(&selection.locator.name) || selection.gone().any(|old| self.is_untold(old))
    }

    fn collect_covered(&mut self, name: &Name, gone: &Selector) {
        self.changed = true;
        match self.answer_below(name, gone.form, &gone.locator.parameters, None) {
            Some((variant, breadth)) => self.send(variant, gone.form, breadth),
            None if self.query.shape == Shape::Everything => {}
            None => drop(self.removed.insert(Removed::absent(name, gone.form))),
        }
    }

    /// What the client holds from an earlier stream and what no selection tells it of: what has gone of a
    /// collection; a name that is answered by another resource now, which lists it as an alias; and of virtual
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
        let (mut asked, mut unanswered) = (HashSet::new(), HashSet::new());
        for (selector, id) in &self.view.selections {
            let (name, selection) = (&selector.locator.name, &self.core.selections[id.0]);
            if selection.is_collection() {
                // Against what the client states to hold, silence is no proof.
                let answered = selection.settled.is_some_and(|at| first || at > self.query.after.removals);
                if answered && !selection.is_unproved() {
                    asked.insert(name);
                    form = form.or(Some(selector.form));
                }
                continue;
            }
            asked.insert(name);
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
        let any_name = self.core.type_url.kind() == Kind::VirtualHost;
        let collected = |name: &Name| collections_of(name).any(|collection| asked.contains(&collection));
        for name in known.names().filter(|name| any_name || asked.contains(*name) || collected(name)) {
            if !unanswered.contains(name) && !shown.any_of(name) {
                self.removed.insert(Removed::absent(name, form));
                if form == Form::Located {
                    self.remove_claimed(name);
                }
            }
        }
    }

    /// What the view answers for the resource `name` to those who ask for it in `form` and with `parameters`,
    /// by what is narrower than `than`, or by anything: the narrowest answer counts.
    pub(super) fn answer_below(
        &self,
        name: &Name,
        form: Form,
        parameters: &DynamicParameters,
        than: Option<Breadth>,
    ) -> Option<(&'a Arc<Variant>, Breadth)> {
        let selection = |asked: &Name| {
            let locator = ResourceLocator::new(asked.clone(), parameters.clone());
            let id = self.view.selections.get(&Selector { locator, form })?;
            Some(&self.core.selections[id.0])
        };
        let is_it = |member: &&Member| member.variant.name() == name;
        let mut names = self.core.aliases_of(name).chain([name]).filter_map(selection);
        let by_name = names.find_map(|selection| Some((selection.live().find(is_it)?, Breadth::Name)));
        let by_collection = || {
            let collections = collections_of(name).filter_map(|collection| selection(&collection));
            let narrower = collections.filter(|s| than.is_none_or(|than| s.breadth() > than));
            let answers = narrower.filter_map(|s| Some((s.member(name)?, s.breadth())));
            answers.max_by_key(|(_, breadth)| *breadth)
        };
        let answer = by_name.or_else(by_collection);
        answer.map(|(member, breadth)| (&member.variant, breadth))
    }

    /// Whether something narrower of the view answers with what the client takes for the same resource as
    /// `variant`, which `selection` shows.
    pub(super) fn is_answered_by_narrower(
        &self,
        variant: &Variant,
        form: Form,
        selection: &Selection,
    ) -> bool {
        let breadth = selection.breadth();
        if breadth == Breadth::Name {
            return false;
        }
        let parameters = &selection.locator.parameters;
        let answer = self.answer_below(variant.name(), form, parameters, Some(breadth));
        answer.is_some_and(|(answer, _)| identity(answer, form) == identity(variant, form))
    }
}
