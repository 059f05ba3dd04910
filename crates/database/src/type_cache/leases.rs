//! Times to live: what upstream has to vouch for again and again.
//!
//! A variant whose time is over is gone for everybody, but its body is kept: upstream believes that it is
//! held, and a heartbeat that comes after all brings none. Then it is as if it had just been sent.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use weir_types::xdstp::collections_of;
use weir_types::{Form, Heartbeat, Lease, Name, Reach, Variant, VariantKey};

use super::TypeCache;
use super::diff::identity;
use super::transaction::Transaction;
use crate::selection::Selection;
use crate::view::View;

/// Whose time is over when.
#[derive(Debug, Default)]
pub(super) struct Leases(BTreeSet<(Instant, Reach, VariantKey)>);

impl Leases {
    /// Notes that `new` is held in place of `old`.
    pub(super) fn replace(&mut self, reach: Reach, old: Option<&Variant>, new: Option<&Variant>) {
        let entry = |variant: &Variant| Some((variant.lease()?.until(), reach, variant.key().clone()));
        old.and_then(entry).map(|entry| self.0.remove(&entry));
        self.0.extend(new.and_then(entry));
    }

    /// One whose time is over at `now`.
    pub(super) fn take_over(&mut self, now: Instant) -> Option<(Reach, VariantKey)> {
        self.0.first().filter(|(until, ..)| *until <= now)?;
        self.0.pop_first().map(|(_, reach, key)| (reach, key))
    }
}

impl Transaction<'_> {
    /// Lets a variant live on that upstream vouches for. One that is not held stays unknown.
    pub(super) fn refresh(&mut self, Heartbeat { key, ttl }: &Heartbeat, reach: Reach, at: Option<Instant>) {
        let held = self.cache.variants.of(&key.name).and_then(|all| all.of(reach).get(&key.constraints));
        let Some((held, at)) = held.zip(at) else { return };
        let refreshed = Arc::new(held.refreshed(at, *ttl));
        if self.is_wanted(&refreshed, reach) {
            self.store(refreshed, reach);
        } else {
            self.take(key, reach);
        }
    }

    /// Ends what upstream has not vouched for in time. Returns how much that was.
    pub(super) fn expire(&mut self, now: Instant) -> usize {
        let mut expired = 0;
        while let Some(key) = self.cache.variants.expire(now, &mut self.changed) {
            tracing::info!(
                type_url = %self.cache.type_url, name = %key.name, constraints = %key.constraints,
                "a resource was not refreshed within its time to live, and expires"
            );
            expired += 1;
        }
        expired
    }
}

/// What a view asks for, by name, to find what it shows for several reasons. For the client that is one resource,
/// which lives for as long as it was told last.
pub(super) struct Reasons<'a> {
    cache: &'a TypeCache,
    asked: HashMap<&'a Name, Vec<(Form, &'a Selection)>>,
}

impl<'a> Reasons<'a> {
    pub(super) fn of(cache: &'a TypeCache, view: &'a View) -> Self {
        let mut asked: HashMap<&Name, Vec<_>> = HashMap::new();
        for (selector, id) in &*view.selections {
            let of_name = asked.entry(&selector.locator.name).or_default();
            of_name.push((selector.form, &cache.selections[*id]));
        }
        Self { cache, asked }
    }

    /// Of what is shown in `form` and is what `variant` is: that which lives longest.
    pub(super) fn longest(&self, variant: &'a Arc<Variant>, form: Form) -> &'a Arc<Variant> {
        let name = variant.name();
        let same = |other: &&Arc<Variant>| {
            identity(other, form) == identity(variant, form) && other.version(form) == variant.version(form)
        };
        let names = self.cache.variants.aliases_of(name).chain([name]).cloned().chain(collections_of(name));
        let asking = names.filter_map(|asked| self.asked.get(&asked)).flatten();
        let shown = asking.filter(|(asked, _)| *asked == form).filter_map(|(_, s)| s.shown(name));
        shown.filter(same).max_by_key(|other| other.lease().as_ref().map(Lease::until)).unwrap_or(variant)
    }
}
