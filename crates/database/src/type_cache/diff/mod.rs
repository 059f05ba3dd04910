//! What a stream has to be sent: the difference between its cursor and now.

mod errors;
mod finish;
mod missing;
mod query;
mod reasons;
mod resend;
mod siblings;
mod snapshot;
mod tombstone_transfer;
mod visible_set;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use weir_types::{Absence, Breadth, Commit, Form, Name, Selector, Variant, VariantKey, Version};

pub use self::query::{Diff, Errors, Failing, News, Query, Refresh, RemovalDelivery, Removed, Shape};
pub(crate) use self::snapshot::{Copying, assemble};

use self::finish::Finished;
use self::visible_set::VisibleSet;
use super::TypeCache;
use crate::selection::{Failure, Member, Selection, Tombstone};
use crate::view::{SelectionId, View, ViewId};

impl TypeCache {
    /// What a stream of view `id` has to be sent.
    pub(crate) fn diff(&self, id: ViewId, query: &Query<'_>) -> Diff {
        let view = &self.views[id];
        let mut builder = DiffBuilder::new(self, view, query);
        builder.collect();
        let news = match query.shape {
            Shape::Changes => builder.news.max(News::Changed),
            Shape::Everything => builder.news,
        };
        let waiting = std::mem::take(&mut builder.waiting).into_iter().collect();
        let new_endpoints = std::mem::take(&mut builder.new_endpoints).into_iter().collect();
        let Finished { resources, heartbeats, removed, errors } = builder.finish();
        let version = match query.shape {
            Shape::Everything => version_of(resources.iter().map(|(variant, form)| (variant, *form))),
            Shape::Changes => Version(view.sum),
        };
        Diff {
            to: view.shared.head().newest(),
            news,
            resources,
            heartbeats,
            removed,
            errors,
            waiting,
            new_endpoints,
            version,
            disputed: self.is_disputed(view, query),
        }
    }

    fn is_disputed(&self, view: &View, query: &Query<'_>) -> bool {
        // While something is not answered, the statement is remembered anyway.
        query.known.filter(|_| view.shared.unsettled().is_settled()).is_some_and(|known| {
            let mut claimed = view.selections.iter().filter(|(s, _)| known.contains(&s.locator.name));
            claimed.any(|(_, id)| self.selections[*id].resolution().absence() == Absence::TimedOut)
        })
    }
}

fn version_of<'a>(resources: impl Iterator<Item = (&'a Arc<Variant>, Form)>) -> Version {
    Version::of_all(resources.map(|(variant, form)| (&**variant, form)))
}

/// What a client distinguishes resources by: the name, and the constraints where they are sent.
type Identity = (Name, Option<VariantKey>);

pub(super) fn identity(variant: &Variant, form: Form) -> Identity {
    (variant.name().clone(), (form == Form::Located).then(|| variant.key().clone()))
}

/// A resource that is sent.
struct Sent<'a> {
    variant: &'a Arc<Variant>,
    form: Form,
    /// The narrowest that asked for it.
    asked: Breadth,
    /// Whether it is sent, rather than stated to live on.
    whole: bool,
}

pub(super) struct DiffBuilder<'a> {
    pub(super) cache: &'a TypeCache,
    pub(super) view: &'a View,
    pub(super) query: &'a Query<'a>,
    sent: BTreeMap<Identity, Sent<'a>>,
    pub(super) removed: BTreeSet<Removed>,
    /// What is sent as a resource without a body.
    pub(super) missing: BTreeSet<&'a Name>,
    pub(super) errors: BTreeMap<Selector, &'a Failure>,
    news: News,
    new_endpoints: BTreeSet<Name>,
    pub(super) waiting: BTreeSet<Selector>,
    /// Of which names some located selections are not answered, as far as was looked.
    pub(super) unanswered: HashMap<Name, bool>,
    /// Everything that the view shows, once that was needed.
    pub(super) shown: OnceCell<Rc<VisibleSet<'a>>>,
}

impl<'a> DiffBuilder<'a> {
    fn new(cache: &'a TypeCache, view: &'a View, query: &'a Query<'a>) -> Self {
        let (sent, removed, missing, errors, new_endpoints) = Default::default();
        let (waiting, unanswered) = Default::default();
        let news = if query.after.is_start() { News::Changed } else { News::None };
        Self {
            cache,
            view,
            query,
            sent,
            removed,
            missing,
            errors,
            news,
            new_endpoints,
            waiting,
            unanswered,
            shown: OnceCell::new(),
        }
    }

    fn collect(&mut self) {
        let first = self.query.after.removals == Commit::NONE;
        let touched: BTreeSet<SelectionId> = match first {
            true => self.view.selections.values().copied().collect(),
            false => self.view.touched_since(self.query.after.removals).collect(),
        };
        if self.query.shape == Shape::Everything {
            let mut selections = touched.iter().map(|id| &self.cache.selections[*id]);
            if selections.clone().any(|selection| self.has_refreshed(selection)) {
                self.note(News::Refreshed);
            } else if selections.any(|selection| self.has_news(selection)) {
                self.note(News::Changed);
            }
            for (selector, id) in &*self.view.selections {
                self.collect_selection(selector.form, &self.cache.selections[*id]);
            }
        } else {
            for id in &touched {
                let selection = &self.cache.selections[*id];
                for form in [Form::Plain, Form::Located] {
                    let selector = Selector { locator: selection.locator.clone(), form };
                    if self.view.selections.get(&selector) == Some(id) {
                        self.collect_selection(form, selection);
                    }
                }
            }
        }
        for owed in self.query.resend {
            self.collect_resent(owed);
        }
        self.collect_pending_errors();
        self.collect_forgotten();
    }

    /// Notes that there is something new.
    pub(super) fn note(&mut self, news: News) {
        self.news = self.news.max(news);
    }

    /// Whether what `selection` shows changed after the cursor.
    fn has_news(&self, selection: &Selection) -> bool {
        let additions = self.query.after.additions;
        // A collection is answered even if there is nothing.
        let answered = || selection.is_collection() && selection.resolution().is_news_after(additions);
        answered()
            || selection.members.live().any(|member| member.changed > additions)
            || selection.members.gone().any(|old| self.is_unsent(old))
    }

    /// Whether something of `selection` lives longer than the client knows.
    fn has_refreshed(&self, selection: &Selection) -> bool {
        let after = self.query.after.additions;
        self.query.refresh == Refresh::Whole
            && selection
                .members
                .renewed_since(after)
                .iter()
                .any(|member| member.variant.content().ttl.is_some())
    }

    /// Notes the endpoints of a cluster that the client does not have yet.
    fn note_new(&mut self, member: &Member, selection: &Selection) {
        let Some(endpoints) = &member.variant.content().eds_name else { return };
        let name = member.variant.name();
        let replaces = || selection.members.gone_of(name).iter().any(|old| self.is_unsent(old));
        if member.born > self.query.after.additions && !self.is_claimed(name) && !replaces() {
            self.new_endpoints.insert(endpoints.clone());
        }
    }

    fn collect_selection(&mut self, form: Form, selection: &'a Selection) {
        let (after, breadth) = (self.query.after, selection.breadth());
        let by_name = breadth == Breadth::Name;
        if self.query.shape == Shape::Everything {
            for member in selection.members.live() {
                self.note_new(member, selection);
                self.send(&member.variant, form, breadth);
            }
        } else {
            for member in selection.members.renewed_since(after.additions) {
                if self.is_answered_by_narrower(&member.variant, form, selection) {
                    continue;
                }
                if member.changed > after.additions && !self.is_held(member, form, selection) {
                    self.note_new(member, selection);
                    self.send(&member.variant, form, breadth);
                } else if member.variant.content().ttl.is_some() {
                    self.refresh(member, form, breadth);
                }
            }
        }
        let mut tombstoned = false;
        for tombstone in selection.members.gone() {
            if self.is_unsent(tombstone) {
                tombstoned |= by_name && !tombstone.inherited;
                self.collect_tombstone(form, selection, tombstone);
            }
        }
        // What a client states to hold may be another variant than those that have tombstones.
        if by_name && (!tombstoned || self.is_claimed(&selection.locator.name)) {
            self.collect_absence(form, selection);
        }
        self.collect_error(form, selection);
        self.collect_emptiness(form, selection, after.additions);
    }

    /// A glob is sent that it was answered with nothing (TP1), and so is a wildcard by locator: on a stream
    /// with several of them, an empty response would not show to which.
    pub(super) fn collect_emptiness(&mut self, form: Form, collection: &Selection, after: Commit) {
        let sent = match collection.breadth() {
            Breadth::Wildcard => form == Form::Located,
            Breadth::Glob => true,
            Breadth::Name => false,
        };
        let empty = collection.members.is_empty();
        let news = collection.resolution().is_news_after(after);
        if self.query.shape == Shape::Changes && sent && empty && news {
            self.removed.insert(Removed::absent(&collection.locator.name, form));
        }
    }

    /// Whether the client has this member already: it stated so and was sent nothing else since, or it had the
    /// same content before, from this variant or (under a plain name) another one.
    fn is_held(&self, member: &Member, form: Form, selection: &Selection) -> bool {
        let (variant, after) = (&member.variant, self.query.after.additions);
        if variant.content().ttl.is_some() && self.query.refresh != Refresh::None {
            // Nobody knows when the client drops it.
            return false;
        }
        let version = variant.version(form);
        let known = self.query.known.is_some_and(|known| known.is_current(variant.name(), version));
        let unsent = selection.resolution().is_news_after(after);
        let was_held = |old: &Tombstone| {
            (form == Form::Plain || old.variant.key() == variant.key())
                && old.variant.version(form) == version
                && !old.inherited
                && old.born <= after
                && old.changed <= after
                && old.died > after
        };
        known && unsent || selection.members.gone_of(variant.name()).iter().any(was_held)
    }

    fn collect_tombstone(&mut self, form: Form, selection: &Selection, tombstone: &'a Tombstone) {
        let key = tombstone.variant.key();
        let swapped = selection.members.shows(&key.name);
        if selection.members.has(key) || swapped && form == Form::Plain {
            return;
        }
        if self.query.shape == Shape::Everything {
            if self.query.defers_removals() && !swapped && self.is_last_life(selection, tombstone) {
                let identity = identity(&tombstone.variant, form);
                let (variant, asked) = (&tombstone.variant, Breadth::Wildcard);
                let sent = Sent { variant, form, asked, whole: true };
                self.sent.entry(identity).or_insert(sent);
            }
            return;
        }
        let same = |other: &Variant| identity(other, form) == identity(&tombstone.variant, form);
        let other = self.answer_below(&key.name, form, &selection.locator.parameters, None);
        if let Some((other, breadth)) = other.filter(|(other, _)| same(other)) {
            // What a narrower one answers, the client has anyway.
            let is_news = breadth <= selection.breadth();
            if is_news && other.version(form) != tombstone.variant.version(form) {
                self.send(other, form, breadth);
            }
        } else if swapped || !self.query.defers_removals() {
            self.removed.insert(Removed::variant(key, form));
        }
    }

    /// Whether the client was sent nothing later that took the place of `tombstone`.
    fn is_last_life(&self, selection: &Selection, tombstone: &Tombstone) -> bool {
        let mut lives = selection.members.gone_of(tombstone.variant.name()).iter().rev();
        let last = lives.find(|old| !old.inherited && self.is_unsent(old));
        last.is_some_and(|last| std::ptr::eq(last, tombstone))
    }

    /// Upstream has answered a name, and there is nothing.
    fn collect_absence(&mut self, form: Form, selection: &'a Selection) {
        let (after, name) = (self.query.after, &selection.locator.name);
        // Against a client that holds it from an earlier stream, silence is no proof, and what is proved is a
        // removal.
        let resolution = selection.resolution();
        let news = match self.is_claimed(name) {
            true => {
                !self.query.defers_removals() && resolution.proved().is_some_and(|at| at > after.removals)
            }
            false if self.knows_missing(name, form) => false,
            false => resolution.absent_since().is_some_and(|at| at > after.additions),
        };
        if news {
            self.note(News::Changed);
            self.answer_with_nothing(form, selection);
            let is_refused = selection.refusal.is_some();
            if form == Form::Located && !is_refused && self.is_claimed(name) && !self.is_unanswered(name) {
                self.remove_claimed(name);
            }
        }
    }

    /// Whether the client states to hold something of `name` from an earlier stream.
    pub(super) fn is_claimed(&self, name: &Name) -> bool {
        self.query.known.is_some_and(|known| known.contains(name))
    }

    /// Whether the client may have this one still.
    pub(super) fn is_unsent(&self, old: &Tombstone) -> bool {
        old.is_unsent(self.query.after)
    }

    pub(super) fn send(&mut self, variant: &'a Arc<Variant>, form: Form, asked: Breadth) {
        self.put(Sent { variant, form, asked, whole: true });
    }

    /// Sends that what the client has lives on.
    fn refresh(&mut self, member: &'a Member, form: Form, asked: Breadth) {
        let whole = self.query.refresh == Refresh::Whole;
        if whole {
            self.note(News::Refreshed);
        }
        if self.query.refresh != Refresh::None {
            let dropped = self.query.at.is_some_and(|now| member.is_over(self.query.after.additions, now));
            self.put(Sent { variant: &member.variant, form, asked, whole: whole || dropped });
        }
    }

    fn put(&mut self, mut sent: Sent<'a>) {
        let identity = identity(sent.variant, sent.form);
        match self.sent.get_mut(&identity) {
            None => drop(self.sent.insert(identity, sent)),
            Some(slot) if sent.asked > slot.asked => {
                sent.whole |= slot.whole;
                *slot = sent;
            }
            Some(slot) => slot.whole |= sent.whole,
        }
    }
}
