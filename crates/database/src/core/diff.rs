//! What a stream has to be told: the difference between its cursor and now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weir_types::{
    Absence, Commit, Cursor, Form, KnownVersions, Name, Selector, Variant, VariantKey, Version, WILDCARD,
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
    /// A variant that was sent with its constraints (`removed_resource_names`).
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
}

impl Core {
    /// What a stream of view `id` has to be told.
    pub(crate) fn diff(&self, id: ViewId, query: &Query<'_>) -> Diff {
        let view = &self.views[id.0];
        let mut collector = Collector {
            core: self,
            view,
            query,
            sent: BTreeMap::new(),
            removed: BTreeSet::new(),
            changed: query.after.is_start(),
        };
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
        }
    }

    /// An order-independent hash of what the view shows.
    fn version(&self, view: &View) -> Version {
        let overlapping = view.selections.len() > 1
            && view.selections.keys().any(|s| s.locator.is_wildcard() || s.form == Form::Located);
        if !overlapping {
            let sums = view.selections.iter().map(|(s, id)| self.selections[id.0].sum(s.form));
            return Version(sums.fold(0, u64::wrapping_add));
        }
        let mut shown = BTreeMap::new();
        for (selector, id) in &view.selections {
            for member in self.selections[id.0].live() {
                shown.insert(identity(&member.variant, selector.form), (&member.variant, selector.form));
            }
        }
        version_of(shown.into_values())
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
    fn collect(&mut self) {
        let start = self.query.after.is_start();
        let touched: BTreeSet<SelectionId> = match start {
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
        let Cursor { additions, removals } = self.query.after;
        selection.live().any(|member| member.changed > additions)
            || selection.gone().any(|old| old.died > removals && old.born <= additions)
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
                if !self.is_held(member, form, selection) {
                    self.send(&member.variant, form, by_name);
                }
            }
        }
        let mut mourned = false;
        for tombstone in selection.gone().filter(|t| t.died > after.removals && t.born <= after.additions) {
            mourned |= by_name;
            self.collect_tombstone(form, selection, tombstone);
        }
        let answered_now = selection.answered.is_some_and(|at| at > after.additions);
        if self.query.shape == Shape::Changes && answered_now && !mourned {
            self.collect_absence(form, selection);
        }
    }

    /// Whether the client has this member already: it said so, or another variant of the name with the same
    /// content made way for it.
    fn is_held(&self, member: &Member, form: Form, selection: &Selection) -> bool {
        let (variant, after) = (&member.variant, self.query.after.additions);
        let version = variant.version(form);
        let known = self.query.known.is_some_and(|known| known.is_current(variant.name(), version));
        known && member.born > after
            || form == Form::Plain
                && selection.gone().any(|old| {
                    old.variant.name() == variant.name()
                        && old.variant.version(form) == version
                        && old.born <= after
                        && old.changed <= after
                        && old.died > after
                })
    }

    fn collect_tombstone(&mut self, form: Form, selection: &Selection, tombstone: &'a Tombstone) {
        let swapped = selection.shows(tombstone.variant.name());
        if self.query.shape == Shape::Everything {
            if self.query.hold_removals && !swapped {
                let identity = identity(&tombstone.variant, form);
                self.sent.entry(identity).or_insert((&tombstone.variant, form, false));
            }
        } else if !(swapped && form == Form::Plain) && (swapped || !self.query.hold_removals) {
            let key = tombstone.variant.key();
            self.removed.insert(match form {
                Form::Located if !key.constraints.is_unconstrained() => Removed::Variant(key.clone()),
                _ => Removed::Name(key.name.clone()),
            });
        }
    }

    /// Upstream has answered, and there is nothing.
    fn collect_absence(&mut self, form: Form, selection: &Selection) {
        let name = &selection.locator.name;
        if selection.live().next().is_some() || !selection.is_settled() {
            return;
        }
        match form {
            // For a plain wildcard, nothing is an empty response.
            Form::Plain if selection.locator.is_wildcard() => {}
            _ => self.say_absent(name, form, selection.absence),
        }
    }

    fn say_absent(&mut self, name: &Name, form: Form, absence: Absence) {
        if self.query.known.is_some_and(|known| known.contains(name)) {
            // Silence is no proof against a client that holds it, and what is proved is a removal.
            if absence == Absence::TimedOut || self.query.hold_removals {
                return;
            }
        }
        self.removed.insert(match form {
            Form::Plain => Removed::Name(name.clone()),
            Form::Located => Removed::Locator(name.clone()),
        });
    }

    fn collect_owed(&mut self, owed: &'a Selector) {
        let name = &owed.locator.name;
        if let Some(id) = self.view.selections.get(owed) {
            let selection = &self.core.selections[id.0];
            for member in selection.live() {
                self.changed = true;
                self.send(&member.variant, owed.form, !owed.locator.is_wildcard());
            }
            if self.query.shape == Shape::Changes && !owed.locator.is_wildcard() {
                self.collect_absence(owed.form, selection);
            }
            return;
        }
        let wildcard = Selector {
            locator: weir_types::ResourceLocator::new(WILDCARD, owed.locator.parameters.clone()),
            form: owed.form,
        };
        let covering = self.view.selections.get(&wildcard).map(|id| &self.core.selections[id.0]);
        match covering.and_then(|selection| selection.member(name)) {
            Some(member) => self.send(&member.variant, owed.form, false),
            None => {
                self.removed.insert(match owed.form {
                    Form::Plain => Removed::Name(name.clone()),
                    Form::Located => Removed::Locator(name.clone()),
                });
            }
        }
    }

    /// What the client holds of a wildcard from an earlier stream and what has gone meanwhile.
    fn collect_forgotten(&mut self) {
        let Some(known) = self.query.known.filter(|_| self.query.after.removals == Commit::NONE) else { return };
        if self.query.hold_removals || self.query.shape == Shape::Everything {
            return;
        }
        let wildcards: Vec<_> = self.view.selections.iter().filter(|(s, _)| s.locator.is_wildcard()).collect();
        let Some(form) = wildcards.first().map(|(selector, _)| selector.form) else { return };
        for name in known.names() {
            let named = self.view.selections.keys().any(|s| s.locator.name == *name);
            if !named && !wildcards.iter().any(|(_, id)| self.core.selections[id.0].shows(name)) {
                self.removed.insert(match form {
                    Form::Plain => Removed::Name(name.clone()),
                    Form::Located => Removed::Locator(name.clone()),
                });
            }
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
        let still_shown = |name: &Name| {
            let mut others = view.selections.iter().filter(|(selector, _)| selector.form == Form::Plain);
            view.selections.len() > 1 && others.any(|(_, id)| core.selections[id.0].shows(name))
        };
        removed.retain(|gone| match gone {
            Removed::Name(name) => !sent.contains_key(&(name.clone(), None)) && !still_shown(name),
            Removed::Variant(key) => !sent.contains_key(&(key.name.clone(), Some(key.clone()))),
            Removed::Locator(_) => true,
        });
        let twice = |variant: &Variant, form| {
            form == Form::Plain
                && sent.contains_key(&(variant.name().clone(), Some(variant.key().clone())))
        };
        let resources = sent.values().filter(|(variant, form, _)| !twice(variant, *form));
        let resources = resources.map(|(variant, form, _)| (Arc::clone(variant), *form)).collect();
        (resources, removed.into_iter().collect())
    }
}
