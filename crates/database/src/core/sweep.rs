//! Giving up what nobody has subscribed to for a while, and what upstream does not vouch for any more.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_types::{Commit, Name, Reach, VariantKey};

use super::Core;
use super::generations::Generations;
use crate::demand::Demand;
use crate::view::{SelectionId, Shared};

impl Core {
    /// Drops the selections that have been idle for `idle` at `now`, with the variants that only they
    /// reached, the variants whose time to live is over, and the tombstones that no stream needs any more.
    ///
    /// Returns the views that this touches, and how many variants have expired.
    pub(crate) fn sweep(
        &mut self,
        now: Instant,
        idle: Duration,
        demand: &Demand,
        at: impl Fn() -> Commit,
    ) -> (Vec<Arc<Shared>>, usize) {
        let mut names = BTreeSet::new();
        let mut touched = HashMap::new();
        let expired = self.expire(now, &at, &mut touched);
        let mut due = Vec::new();
        for (id, since) in &mut self.idle {
            if now.saturating_duration_since(*since.get_or_insert(now)) >= idle {
                due.push(*id);
            }
        }
        for id in due {
            self.idle.remove(&id);
            self.give_up(id, demand, &mut names);
        }
        if !names.is_empty() {
            self.last = at();
            self.reselect_names(names, self.last, &mut touched);
        }
        let with_tombstones: Vec<SelectionId> =
            self.selections.iter().filter(|(_, s)| s.graves() > 0).map(|(i, _)| SelectionId(i)).collect();
        for id in with_tombstones {
            self.prune(id);
        }
        (touched.into_values().collect(), expired)
    }

    fn give_up(&mut self, id: SelectionId, demand: &Demand, changed: &mut BTreeSet<Name>) {
        let selection = self.selections.remove(id.0);
        let locator = &selection.locator;
        if locator.parameters.is_withheld() {
            self.withheld.remove(locator);
            return;
        }
        let generations = match locator.is_collection() {
            true => self.collections.get_mut(&locator.name),
            false => self.names.get_mut(&locator.name).map(|entry| &mut entry.selections),
        };
        if generations.is_some_and(|generations| generations.remove(&locator.parameters, id)) {
            demand.drop(&self.type_url, locator);
        }
        if locator.is_collection() {
            if self.collections.get(&locator.name).is_some_and(Generations::is_empty) {
                self.collections.remove(&locator.name);
            }
            // What has expired, or must not be cached, is here without being selected.
            let names = match locator.is_wildcard() {
                true => self.names.keys().cloned().collect(),
                false => self.directories.members(&locator.name).cloned().collect(),
            };
            let reach = if locator.is_wildcard() { Reach::Wildcard } else { Reach::Named };
            return self.evict_unreachable(&names, reach, changed);
        }
        let aliased = self.aliases.get(&locator.name).into_iter().flatten().cloned();
        let names = aliased.chain([locator.name.clone()]).collect();
        self.evict_unreachable(&names, Reach::Named, changed);
        self.evict_unreachable(&names, Reach::Wildcard, changed);
        self.tidy_name(&locator.name);
    }

    /// Forgets the variants of `names` that nobody's subscription reaches any more: upstream will not keep
    /// them up to date.
    pub(super) fn evict_unreachable(
        &mut self,
        names: &BTreeSet<Name>,
        reach: Reach,
        changed: &mut BTreeSet<Name>,
    ) {
        for name in names {
            let Some(entry) = self.names.get_mut(name) else { continue };
            let variants: Vec<_> = entry.set(reach).held().cloned().collect();
            let stale: Vec<VariantKey> =
                variants.iter().filter(|v| !self.is_wanted(v, reach)).map(|v| v.key().clone()).collect();
            for key in stale {
                self.take_out(&key, reach, changed);
            }
            self.tidy_name(name);
        }
    }
}
