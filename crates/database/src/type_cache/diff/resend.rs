//! What a stream is sent beside the changes: what it is owed, and what it holds from an earlier stream.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use weir_types::xdstp::collections_of;
use weir_types::{
    Absence, Breadth, Commit, DynamicParameters, Form, Kind, Name, ResourceLocator, Selector, Variant,
};

use super::query::{News, Removed, Shape};
use super::visible_set::VisibleSet;
use super::{DiffBuilder, identity};
use crate::selection::{Member, Selection};

/// In how many collections at most it is looked up what they show of a name that was given up.
const MAX_COVERING: usize = 100;

impl<'a> DiffBuilder<'a> {
    pub(super) fn collect_resent(&mut self, owed: &'a Selector) {
        let name = &owed.locator.name;
        if let Some(id) = self.view.selections.get(owed) {
            let selection = &self.cache.selections[*id];
            if selection.is_collection() && selection.is_settled() {
                self.note(News::Changed);
            }
            for Member { variant, .. } in selection.members.live() {
                self.note(News::Changed);
                if !self.is_answered_by_narrower(variant, owed.form, selection) {
                    self.send(variant, owed.form, selection.breadth());
                }
            }
            self.collect_emptiness(owed.form, selection, Commit::NONE);
            if selection.resolution().absence() != Absence::Unknown
                && !(self.query.defers_removals() && self.may_hold(selection))
            {
                self.note(News::Changed);
                self.answer_with_nothing(owed.form, selection);
            }
            self.add_error(owed.form, selection);
            return;
        }
        // No longer asked for, but a wider collection goes on: also of what a name was an alias of.
        let former = self.cache.selection(&owed.locator).into_iter();
        let former = former.flat_map(|s| {
            s.members.live().map(|m| &m.variant).chain(s.members.gone().map(|old| &old.variant))
        });
        let own = (!owed.locator.is_collection()).then_some(name);
        let names: BTreeSet<&Name> = former.map(|variant| variant.name()).chain(own).collect();
        for name in names {
            self.collect_covered(name, owed);
        }
    }

    /// Whether the client may have something of what `selection` showed and shows no more.
    fn may_hold(&self, selection: &Selection) -> bool {
        self.is_claimed(&selection.locator.name) || selection.members.gone().any(|old| self.is_unsent(old))
    }

    /// Answers that the client has given up `name`, which collections cover: by all that they show of it, or by its
    /// removal. Collections of another form count where there is none of the same, and too many are not looked into.
    fn collect_covered(&mut self, name: &Name, gone: &Selector) {
        self.note(News::Changed);
        let narrowest = self.answer_below(name, gone.form, &gone.locator.parameters, None);
        let alone = |breadth| gone.form == Form::Plain || breadth == Breadth::Name;
        if let Some((variant, breadth)) = narrowest.filter(|(_, breadth)| alone(*breadth)) {
            return self.send(variant, gone.form, breadth);
        }
        let shown = self.shown();
        let covering: Vec<_> = shown.collecting(name).take(MAX_COVERING + 1).collect();
        if covering.len() > MAX_COVERING {
            return;
        }
        let same = covering.iter().any(|(form, _)| *form == gone.form);
        let covering = covering.into_iter().filter(|(form, _)| !same || *form == gone.form);
        let members = covering.filter_map(|(form, s)| Some((form, s.members.member(name)?, s.breadth())));
        let members: Vec<_> = members.collect();
        if !members.is_empty() {
            return members
                .into_iter()
                .for_each(|(form, member, breadth)| self.send(&member.variant, form, breadth));
        }
        match gone.form {
            _ if self.query.shape == Shape::Everything => {}
            Form::Plain => drop(self.removed.insert(Removed::absent(name, Form::Plain))),
            Form::Located => self.remove_given_up(name, gone),
        }
    }

    /// Removes what a locator that was given up has shown of `name`, or, if that is nothing, the bare name: unless that
    /// would be taken for the answer to another locator.
    fn remove_given_up(&mut self, name: &Name, gone: &Selector) {
        let shown = self.shown();
        let former = self.cache.selection(&gone.locator);
        let unsent =
            former.into_iter().flat_map(|s| s.members.gone_of(name)).filter(|old| self.is_unsent(old));
        let live = former.and_then(|selection| selection.members.member(name)).map(|member| &member.variant);
        let keys = live.into_iter().chain(unsent.map(|old| &old.variant)).map(|variant| variant.key());
        let keys: Vec<_> = keys.filter(|key| !shown.located(key)).cloned().collect();
        if keys.is_empty() && !shown.is_asked_by_locator(name) {
            self.removed.insert(Removed::absent(name, Form::Located));
        }
        self.removed.extend(keys.iter().map(|key| Removed::variant(key, Form::Located)));
    }

    /// Everything that the view shows, to look up.
    fn shown(&self) -> Rc<VisibleSet<'a>> {
        Rc::clone(self.shown.get_or_init(|| Rc::new(VisibleSet::of(self.cache, self.view))))
    }

    /// What the client holds from an earlier stream and what no selection covers: what has gone of a
    /// collection; a name that is answered by another resource now, which lists it as an alias; and of virtual
    /// hosts, what a name that is asked for may have been an alias of. Other names that it states and does
    /// not subscribe to are ignored.
    pub(super) fn collect_forgotten(&mut self) {
        let Some(known) = self.query.known.filter(|_| self.view.may_have_forgotten(self.query)) else {
            return;
        };
        if self.query.shape == Shape::Everything {
            return;
        }
        let first = self.query.after.removals == Commit::NONE;
        let settled = self.view.shared.unsettled().names == 0;
        let mut form = None;
        let (mut asked, mut unanswered) = (HashSet::new(), HashSet::new());
        for (selector, id) in &*self.view.selections {
            let (name, selection) = (&selector.locator.name, &self.cache.selections[*id]);
            if selection.is_collection() {
                // Against what the client states to hold, silence is no proof.
                let answered =
                    selection.resolution().first().is_some_and(|at| first || at > self.query.after.removals);
                if answered && !selection.is_unproved() {
                    asked.insert(name);
                    form = form.or(Some(selector.form));
                }
                continue;
            }
            asked.insert(name);
            if selection.members.is_empty() {
                // Sent where the answer is.
                unanswered.insert(name);
            }
            if settled
                && !(known.contains(name) && (selection.members.shows(name) || unanswered.contains(name)))
            {
                form = Some(selector.form);
            }
        }
        let Some(form) = form else { return };
        let shown = self.shown();
        let any_name = self.cache.type_url.kind() == Kind::VirtualHost;
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
            Some(&self.cache.selections[*id])
        };
        let is_it = |member: &&Member| member.variant.name() == name;
        let mut names = self.cache.variants.aliases_of(name).chain([name]).filter_map(selection);
        let by_name =
            names.find_map(|selection| Some((selection.members.live().find(is_it)?, Breadth::Name)));
        let by_collection = || {
            let collections = collections_of(name).filter_map(|collection| selection(&collection));
            let narrower = collections.filter(|s| than.is_none_or(|than| s.breadth() > than));
            let answers = narrower.filter_map(|s| Some((s.members.member(name)?, s.breadth())));
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
