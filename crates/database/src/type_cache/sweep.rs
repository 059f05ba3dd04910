//! Giving up what nobody has subscribed to for a while, and what upstream does not vouch for any more.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Instant;

use weir_types::{Commit, DynamicParameters, Name, Provenance, ResourceLocator};

use super::TypeCache;
use super::transaction::Transaction;
use crate::demand::Demand;
use crate::idle::IdleTimes;
use crate::view::{SelectionId, Shared};

impl TypeCache {
    /// Ends the life of the variants whose time is over at `now`. Returns the views that this touches, and how many
    /// variants it was.
    pub(crate) fn expire_overdue(
        &mut self,
        now: Instant,
        at: impl FnOnce() -> Commit,
    ) -> (Vec<Arc<Shared>>, usize) {
        let mut transaction = Transaction::unnumbered(self);
        let expired = transaction.expire(now);
        transaction.resolve_numbered(at);
        (transaction.finish(), expired)
    }

    /// Finds those of the next `count` idle selections after one that have been so for `idle` at `now`, and are to be
    /// given up. Returns the last one that was looked at, if there may be more.
    pub(crate) fn find_idle(
        &mut self,
        after: Option<SelectionId>,
        count: usize,
        (now, idle): (Instant, &IdleTimes),
        due: &mut Vec<SelectionId>,
    ) -> Option<SelectionId> {
        self.selections.find_idle(after, count, (now, idle), due)
    }

    /// What is wanted of upstream for a selection.
    pub(crate) fn wanted_by(&self, id: SelectionId) -> Option<&ResourceLocator> {
        self.selections
            .get(id)
            .filter(|selection| selection.refusal.is_none())
            .map(|selection| &selection.locator)
    }

    /// Drops those of `due` that are idle still, with the variants that only they reached. Returns the views that this
    /// touches.
    pub(crate) fn give_up_idle(
        &mut self,
        due: &[SelectionId],
        (now, idle): (Instant, &IdleTimes),
        demand: &Demand,
        at: impl FnOnce() -> Commit,
    ) -> Vec<Arc<Shared>> {
        let mut unreached = Unreached::default();
        for id in due {
            if self.selections.is_idle_for(*id, (now, idle)) {
                self.give_up(*id, demand, &mut unreached);
            }
        }
        let mut transaction = Transaction::unnumbered(self);
        transaction.evict_all(unreached);
        transaction.resolve_numbered(at);
        transaction.finish()
    }

    /// Drops the tombstones that no stream needs any more, of `count` selections from a place on. Returns the next place,
    /// if there is one.
    pub(crate) fn prune_from(&mut self, place: usize, count: usize) -> Option<usize> {
        let next = place.saturating_add(count).min(self.selections.places());
        for place in place..next {
            if self
                .selections
                .get(SelectionId(place))
                .is_some_and(|selection| selection.members.tombstone_count() > 0)
            {
                self.prune(SelectionId(place));
            }
        }
        (next < self.selections.places()).then_some(next)
    }

    /// Drops a selection, and notes the names of which its end may leave variants that nobody selects.
    fn give_up(&mut self, id: SelectionId, demand: &Demand, unreached: &mut Unreached) {
        let (selection, last) = self.selections.remove(id);
        let locator = &selection.locator;
        if selection.refusal.is_some() {
            return;
        }
        if last {
            demand.drop(&self.type_url, locator);
        }
        unreached.left.insert(locator.parameters.clone());
        if locator.is_collection() {
            // What has expired, or must not be cached, is here without being selected.
            unreached.everything |= locator.is_wildcard();
            if !locator.is_wildcard() {
                unreached.globs.insert(locator.name.clone());
            }
            return;
        }
        unreached.names.extend(self.variants.listing(&locator.name).chain([&locator.name]).cloned());
    }
}

impl Transaction<'_> {
    fn evict_all(&mut self, unreached: Unreached) {
        let Unreached { left, names: mut named, globs, everything } = unreached;
        let wildcard =
            if everything { self.cache.variants.names().cloned().collect() } else { named.clone() };
        let members = globs.iter().flat_map(|glob| self.cache.variants.members(glob));
        named.extend(members.cloned());
        self.evict_unreachable_by(&left, &named, Provenance::Named);
        self.evict_unreachable_by(&left, &wildcard, Provenance::Wildcard);
    }
}

/// Where variants may be left that no subscription reaches. They are looked at when all selections of a slice are
/// dropped: those of one hot name would each look at all of the others.
#[derive(Default)]
struct Unreached {
    /// The parameters of what was dropped.
    left: HashSet<DynamicParameters>,
    names: BTreeSet<Name>,
    globs: BTreeSet<Name>,
    /// A wildcard was dropped.
    everything: bool,
}
