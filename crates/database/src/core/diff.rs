//! What a stream has to be told: the difference between its cursor and now.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use weir_types::{
    Absence, Commit, Cursor, Form, KnownVersions, Name, ResourceLocator, Selector, Variant, VariantKey, Version, WILDCARD,
};

use super::Core;
use crate::selection::{Member, Selection, Tombstone, fingerprint};
use crate::view::{SelectionId, View, ViewId};

/// What to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// What changed.
    Changes,
    /// All there is, so that absence says what is gone.
    Everything,
}

/// The question of one stream.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Up to where the stream was told.
    pub after: Cursor,
    /// What to answer.
    pub shape: Shape,
    /// Whether what is gone must not be said yet, since other types have additions to come.
    pub hold_removals: bool,
    /// What must be sent though it did not change. May name what the wildcard covers.
    pub owed: &'a BTreeSet<Selector>,
    /// What the client holds from an earlier stream.
    pub known: Option<&'a KnownVersions>,
}

/// Something that a client is told not to have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Removed {
    /// A resource that the client knows by its plain name (`removed_resources`).
    Name(Name),
    /// A variant that was sent with its constraints (`removed_resource_names`), or to a locator without any
    /// (`removed_resources`: "must be used for any resource for which constraints were sent").
    Variant(VariantKey),
    /// A locator that nothing matches (`removed_resource_names` with the name alone).
    Locator(Name),
}

/// The answer.
#[derive(Debug, Default)]
pub struct Diff {
    /// Up to where the stream is told with this.
    pub to: Commit,
    /// What to send, by name; each resource once.
    pub resources: Vec<(Arc<Variant>, Form)>,
    /// What is gone, or was asked for and is not there.
    pub removed: Vec<Removed>,
    /// Whether anything that the client may see has changed since its cursor, or something owed is there.
    /// Only [`Shape::Everything`] can have resources without it.
    pub changed: bool,
    /// A pure function of what the view shows; for [`Shape::Everything`], of what is sent.
    pub version: Version,
    /// Whether the client states to hold something against which only upstream's silence speaks, so that its
    /// statement has to be remembered.
    pub disputed: bool,
}

impl Core {
    /// What a stream of view `id` has to be told.
    pub(crate) fn diff(&self, id: ViewId, query: &Query<'_>) -> Diff {
        let view = &self.views[id.0];
        let mut collector = Collector::new(self, view, query);
        collector.collect();
        let changed = collector.changed;
        let (resources, removed) = collector.finish();
        let version = match query.shape {
            Shape::Everything => version_of(resources.iter().map(|(variant, form)| (variant, *form))),
            Shape::Changes => self.version(view),
        };
        Diff {
            to: view.shared.head().newest(),
            changed: changed || query.shape == Shape::Changes,
            resources,
            removed,
            version,
            disputed: self.is_disputed(view, query),
        }
    }

    fn is_disputed(&self, view: &View, query: &Query<'_>) -> bool {
        query.known.is_some_and(|known| {
            let mut claimed = view.selections.iter().filter(|(s, _)| known.contains(&s.locator.name));
            claimed.any(|(_, id)| self.selections[id.0].absence == Absence::TimedOut)
        })
    }

    /// An order-independent hash of what the view shows.
    fn version(&self, view: &View) -> Version {
        let overlapping = view.selections.len() > 1
            && view.selections.keys().any(|s| s.locator.is_wildcard() || s.form == Form::Located);
        if !overlapping {
            let sums = view.selections.iter().map(|(s, id)| self.selections[id.0].sum(s.form));
            return Version(sums.fold(0, u64::wrapping_add));
        }
        let query = Query {
            after: Cursor::default(),
            shape: Shape::Everything,
            hold_removals: false,
            owed: &BTreeSet::new(),
            known: None,
        };
        let mut collector = Collector::new(self, view, &query);
        collector.collect();
        version_of(collector.sent.values().map(|(variant, form, _)| (*variant, *form)))
    }
}

fn version_of<'a>(resources: impl Iterator<Item = (&'a Arc<Variant>, Form)>) -> Version {
    Version(resources.map(|(variant, form)| fingerprint(variant, form)).fold(0, u64::wrapping_add))
}

/// What a client tells resources apart by: the name, and the constraints where they are sent.
type Identity = (Name, Option<VariantKey>);

fn identity(variant: &Variant, form: Form) -> Identity {
    (variant.name().clone(), (form == Form::Located).then(|| variant.key().clone()))
}

impl Removed {
    /// A name that nothing answers, asked for in `form`.
    fn absent(name: &Name, form: Form) -> Self {
        match form {
            Form::Plain => Self::Name(name.clone()),
            Form::Located => Self::Locator(name.clone()),
        }
    }

    /// A variant that was sent in `form`.
    fn variant(key: &VariantKey, form: Form) -> Self {
        match form {
            Form::Plain => Self::Name(key.name.clone()),
            Form::Located => Self::Variant(key.clone()),
        }
    }
}

struct Collector<'a> {
    core: &'a Core,
    view: &'a View,
    query: &'a Query<'a>,
    /// What is sent, and whether a name asked for it (rather than a wildcard).
    sent: BTreeMap<Identity, (&'a Arc<Variant>, Form, bool)>,
    removed: BTreeSet<Removed>,
    changed: bool,
}

impl<'a> Collector<'a> {
    fn new(core: &'a Core, view: &'a View, query: &'a Query<'a>) -> Self {
        let (sent, removed) = Default::default();
        Self { core, view, query, sent, removed, changed: query.after.is_start() }
    }

    fn collect(&mut self) {
        let first = self.query.after.removals == Commit::NONE;
        let touched: BTreeSet<SelectionId> = match first {
            true => self.view.selections.values().copied().collect(),
            false => self.view.touched_since(self.query.after.removals).collect(),
        };
        if self.query.shape == Shape::Everything {
            self.changed |= touched.iter().any(|id| self.has_news(&self.core.selections[id.0]));
            for (selector, id) in &self.view.selections {
                self.collect_selection(selector.form, &self.core.selections[id.0]);
            }
        } else {
            for id in &touched {
                let selection = &self.core.selections[id.0];
                for form in [Form::Plain, Form::Located] {
                    let selector = Selector { locator: selection.locator.clone(), form };
                    if self.view.selections.contains_key(&selector) {
                        self.collect_selection(form, selection);
                    }
                }
            }
        }
        for owed in self.query.owed {
            self.collect_owed(owed);
        }
        self.collect_forgotten();
    }

    /// Whether what `selection` shows changed after the cursor.
    fn has_news(&self, selection: &Selection) -> bool {
        let additions = self.query.after.additions;
        // A wildcard is answered even if there is nothing.
        let answered = || selection.locator.is_wildcard() && selection.settled.is_some_and(|at| at > additions);
        answered()
            || selection.live().any(|member| member.changed > additions)
            || selection.gone().any(|old| self.is_untold(old))
    }

    fn collect_selection(&mut self, form: Form, selection: &'a Selection) {
        let after = self.query.after;
        let by_name = !selection.locator.is_wildcard();
        if self.query.shape == Shape::Everything {
            for member in selection.live() {
                self.send(&member.variant, form, by_name);
            }
        } else {
            for member in selection.changed_since(after.additions) {
                let elsewhere = !by_name && self.is_answered_by_name(&member.variant, form, selection);
                if !elsewhere && !self.is_held(member, form, selection) {
                    self.send(&member.variant, form, by_name);
                }
            }
        }
        let mut mourned = false;
        for tombstone in selection.gone() {
            if self.is_untold(tombstone) {
                mourned |= by_name;
                self.collect_tombstone(form, selection, tombstone);
            }
        }
        if self.query.shape == Shape::Changes && by_name && !mourned {
            self.collect_absence(form, selection);
        }
        self.collect_emptiness(form, selection, after.additions);
    }

    /// A wildcard by locator is told that it was answered with nothing: on a stream with several of them, an
    /// empty response would not say to which.
    fn collect_emptiness(&mut self, form: Form, wildcard: &Selection, after: Commit) {
        let empty = wildcard.locator.is_wildcard() && wildcard.live().next().is_none();
        let news = wildcard.settled.is_some_and(|at| at > after);
        if self.query.shape == Shape::Changes && form == Form::Located && empty && news {
            self.removed.insert(Removed::absent(&wildcard.locator.name, form));
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
    fn is_answered_by_name(&self, variant: &Variant, form: Form, selection: &Selection) -> bool {
        let wildcard = Selector { locator: selection.locator.clone(), form };
        let answer = self.answer_by_name(variant.name(), &wildcard);
        answer.is_some_and(|answer| identity(&answer.variant, form) == identity(variant, form))
    }

    /// Whether the client has this member already: it said so and was told nothing else since, or it had the
    /// same content before, from this variant or (under a plain name) another one.
    fn is_held(&self, member: &Member, form: Form, selection: &Selection) -> bool {
        let (variant, after) = (&member.variant, self.query.after.additions);
        let version = variant.version(form);
        let known = self.query.known.is_some_and(|known| known.is_current(variant.name(), version));
        let untold = selection.settled.is_some_and(|at| at > after);
        let was_held = |old: &Tombstone| {
            (form == Form::Plain || old.variant.key() == variant.key())
                && old.variant.version(form) == version
                && old.born <= after
                && old.changed <= after
                && old.died > after
        };
        known && untold || selection.gone_of(variant.name()).iter().any(was_held)
    }

    fn collect_tombstone(&mut self, form: Form, selection: &Selection, tombstone: &'a Tombstone) {
        let key = tombstone.variant.key();
        let swapped = selection.shows(&key.name);
        if selection.has(key) || swapped && form == Form::Plain {
            return;
        }
        if self.query.shape == Shape::Everything {
            if self.query.hold_removals && !swapped {
                let identity = identity(&tombstone.variant, form);
                self.sent.entry(identity).or_insert((&tombstone.variant, form, false));
            }
            return;
        }
        let wildcard = ResourceLocator::new(WILDCARD, selection.locator.parameters.clone());
        let wildcard = Selector { locator: wildcard, form };
        let other = self.other_answer(&key.name, &wildcard).map(|member| &member.variant);
        if let Some(other) = other.filter(|other| identity(other, form) == identity(&tombstone.variant, form)) {
            if other.version(form) != tombstone.variant.version(form) {
                self.send(other, form, false);
            }
        } else if swapped || !self.query.hold_removals {
            self.removed.insert(Removed::variant(key, form));
        }
    }

    /// Upstream has answered a name, and there is nothing.
    fn collect_absence(&mut self, form: Form, selection: &Selection) {
        let (after, name) = (self.query.after, &selection.locator.name);
        // Against a client that holds it from an earlier stream, silence is no proof, and what is proved is a
        // removal.
        let claimed = self.query.known.is_some_and(|known| known.contains(name));
        let news = match claimed {
            true => !self.query.hold_removals && selection.proved.is_some_and(|at| at > after.removals),
            false => selection.missed.is_some_and(|at| at > after.additions),
        };
        if news && selection.absence != Absence::Unknown {
            self.removed.insert(Removed::absent(name, form));
        }
    }

    fn collect_owed(&mut self, owed: &'a Selector) {
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
            if selection.absence != Absence::Unknown && !(self.query.hold_removals && self.may_hold(selection)) {
                self.removed.insert(Removed::absent(name, owed.form));
            }
            return;
        }
        // No longer asked for by name, but a wildcard goes on: also of what the name was an alias of.
        let wildcard = ResourceLocator::new(WILDCARD, owed.locator.parameters.clone());
        let wildcard = Selector { locator: wildcard, form: owed.form };
        let former = self.core.selection(&owed.locator).into_iter();
        let former = former.flat_map(|s| s.live().map(|m| &m.variant).chain(s.gone().map(|old| &old.variant)));
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

    /// Whether the client may have this one still.
    fn is_untold(&self, old: &Tombstone) -> bool {
        let Cursor { additions, removals } = self.query.after;
        old.died > removals && old.born <= additions
    }

    fn collect_covered(&mut self, name: &Name, wildcard: &Selector) {
        self.changed = true;
        match self.other_answer(name, wildcard) {
            Some(member) => self.send(&member.variant, wildcard.form, false),
            None => drop(self.removed.insert(Removed::absent(name, wildcard.form))),
        }
    }

    /// What the client has of the resource `name` by another name, or by `wildcard`.
    fn other_answer(&self, name: &Name, wildcard: &Selector) -> Option<&'a Member> {
        let covering = self.view.selections.get(wildcard).map(|id| &self.core.selections[id.0]);
        let covered = || covering.and_then(|selection| selection.member(name));
        self.answer_by_name(name, wildcard).or_else(covered)
    }

    /// What the client holds from an earlier stream, but not by a name that it asks for: what has gone of a
    /// wildcard, and, once all names are answered, what one of them may have been an alias of.
    fn collect_forgotten(&mut self) {
        let Some(known) = self.query.known.filter(|_| !self.query.hold_removals) else { return };
        if self.query.shape == Shape::Everything {
            return;
        }
        let first = self.query.after.removals == Commit::NONE;
        let settled = self.view.shared.unsettled().names == 0;
        let mut form = None;
        // Names without an answer are spoken of where the answer is.
        let mut unanswered = HashSet::new();
        for (selector, id) in &self.view.selections {
            let name = &selector.locator.name;
            if selector.locator.is_wildcard() {
                form = form.or(first.then_some(selector.form));
                continue;
            }
            let selection = &self.core.selections[id.0];
            if selection.live().next().is_none() {
                unanswered.insert(name);
            }
            if settled && !(known.contains(name) && (selection.shows(name) || unanswered.contains(name))) {
                form = Some(selector.form);
            }
        }
        let Some(form) = form else { return };
        let shown = Shown::of(self.core, self.view);
        for name in known.names().filter(|name| !unanswered.contains(name) && !shown.any_of(name)) {
            self.removed.insert(Removed::absent(name, form));
        }
    }

    fn send(&mut self, variant: &'a Arc<Variant>, form: Form, by_name: bool) {
        let slot = self.sent.entry(identity(variant, form)).or_insert((variant, form, by_name));
        if by_name && !slot.2 {
            *slot = (variant, form, by_name);
        }
    }

    /// Leaves out what would be said twice or taken back in the same breath.
    fn finish(self) -> (Vec<(Arc<Variant>, Form)>, Vec<Removed>) {
        let Self { core, view, sent, mut removed, .. } = self;
        let sends = |name: &Name, key: Option<&VariantKey>| sent.contains_key(&(name.clone(), key.cloned()));
        if !removed.is_empty() && view.selections.len() > 1 {
            let shown = Shown::of(core, view);
            removed.retain(|gone| match gone {
                Removed::Name(name) => !shown.by_plain_name(name),
                Removed::Variant(key) => !shown.located(key),
                Removed::Locator(_) => true,
            });
        }
        removed.retain(|gone| match gone {
            Removed::Name(name) => !sends(name, None),
            Removed::Variant(key) => !sends(&key.name, Some(key)),
            Removed::Locator(_) => true,
        });
        let twice = |variant: &Variant, form| form == Form::Plain && sends(variant.name(), Some(variant.key()));
        let resources = sent.values().filter(|(variant, form, _)| !twice(variant, *form));
        let resources = resources.map(|(variant, form, _)| (Arc::clone(variant), *form)).collect();
        (resources, removed.into_iter().collect())
    }
}

/// Everything that a view shows, to look up.
struct Shown<'a> {
    wildcards: Vec<(Form, &'a Selection)>,
    plain: HashSet<&'a Name>,
    located: HashSet<&'a VariantKey>,
}

impl<'a> Shown<'a> {
    fn of(core: &'a Core, view: &View) -> Self {
        let mut shown = Self { wildcards: Vec::new(), plain: HashSet::new(), located: HashSet::new() };
        for (selector, id) in &view.selections {
            let selection = &core.selections[id.0];
            match selector.form {
                form if selector.locator.is_wildcard() => shown.wildcards.push((form, selection)),
                Form::Plain => shown.plain.extend(selection.live().map(|member| member.variant.name())),
                Form::Located => shown.located.extend(selection.live().map(|member| member.variant.key())),
            }
        }
        shown
    }

    fn by_plain_name(&self, name: &Name) -> bool {
        let mut plain = self.wildcards.iter().filter(|(form, _)| *form == Form::Plain);
        self.plain.contains(name) || plain.any(|(_, selection)| selection.shows(name))
    }

    fn located(&self, key: &VariantKey) -> bool {
        let mut located = self.wildcards.iter().filter(|(form, _)| *form == Form::Located);
        self.located.contains(key) || located.any(|(_, selection)| selection.has(key))
    }

    fn any_of(&self, name: &Name) -> bool {
        self.plain.contains(name)
            || self.wildcards.iter().any(|(_, selection)| selection.shows(name))
            || self.located.iter().any(|key| key.name == *name)
    }
}
