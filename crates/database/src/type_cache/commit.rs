//! Applying what upstream said: first the variants, then whatever is selected of them, then the views.

use std::sync::Arc;

use weir_types::{Absence, Absent, Answered, Batch, Commit, Reach, Undecided};

use super::TypeCache;
use super::transaction::Transaction;
use crate::view::{SelectionId, Shared};

impl TypeCache {
    /// Applies `batch` as commit `at` and returns the views that it touched.
    pub(crate) fn commit(&mut self, batch: Batch, at: Commit) -> Vec<Arc<Shared>> {
        let mut transaction = Transaction::new(self, at);
        transaction.apply(batch);
        transaction.finish()
    }

    /// The selections of collections of which all has been sent.
    fn answered(&self, answered: &[Answered]) -> Vec<(SelectionId, Absence)> {
        let mut ids = Vec::new();
        for Answered { collection, scope, absence } in answered {
            let one = collection.as_ref().map(|name| self.collections.get(name).into_iter());
            let all = collection.is_none().then(|| self.collections.values());
            let asked = one.into_iter().flatten().chain(all.into_iter().flatten());
            let asked = asked.flat_map(|set| set.covered_by(scope));
            ids.extend(asked.map(|id| (id, *absence)));
        }
        ids
    }
}

impl Transaction<'_> {
    fn apply(&mut self, batch: Batch) {
        let mut returned = Vec::new();
        let undecided = self.keep_undecided(&batch.undecided);
        for key in &batch.removals {
            self.take(key, batch.reach);
        }
        for variant in batch.upserts {
            returned.extend(self.cache.failing(&variant));
            let variant = match batch.received {
                Some(at) => variant.leased(at),
                None => variant,
            };
            if variant.content().do_not_cache {
                self.receive_uncacheable(&variant);
            }
            self.put(variant, batch.reach);
        }
        for heartbeat in &batch.heartbeats {
            self.refresh(heartbeat, batch.reach, batch.received);
        }
        if batch.reach == Reach::Named {
            self.hear_by_name(&batch.absent);
        }
        self.resolve();
        self.release_decided(&undecided);
        let at = self.at;
        for (id, key) in returned {
            self.update(id, |selection| if selection.has(&key) { selection.recover(at) } else { None });
        }
        for absent in &batch.absent {
            self.mark_absent(absent);
        }
        for failed in &batch.errors {
            self.fail(failed);
        }
        for (id, absence) in self.cache.answered(&batch.answered) {
            self.update(id, |selection| selection.mark_answered(absence, at));
        }
    }

    /// Keeps what locators select that upstream has yet to decide on, whatever is removed. Returns their selections.
    fn keep_undecided(&mut self, undecided: &[Undecided]) -> Vec<SelectionId> {
        let mut kept = Vec::new();
        for Undecided { name, scope } in undecided {
            let asked = self.cache.names.get(name).into_iter();
            kept.extend(asked.flat_map(|entry| entry.selections.covered_by(scope)));
        }
        kept.iter().for_each(|id| self.cache.selections[id.0].keep(true));
        kept
    }

    /// What a locator selects for another reason need not be kept.
    fn release_decided(&mut self, undecided: &[SelectionId]) {
        for id in undecided {
            let locator = self.cache.selections[id.0].locator.clone();
            let gone = self.cache.answer(&locator.name, &locator.parameters).is_none();
            self.cache.selections[id.0].keep(gone);
        }
    }

    /// Notes what was heard of names by asking for just them: what a wildcard brought need not stand in any
    /// more, and without its wildcard it would not be kept up to date.
    fn hear_by_name(&mut self, absent: &[Absent]) {
        let mut heard = self.changed.clone();
        for Absent { name, scope, absence } in absent {
            let Some(entry) = self.cache.names.get(name).filter(|_| *absence == Absence::Known) else {
                continue;
            };
            for id in entry.selections.covered_by(scope) {
                self.cache.selections[id.0].hear(true);
            }
            heard.extend(self.cache.aliases.get(name).into_iter().flatten().chain([name]).cloned());
        }
        self.evict_unreachable(&heard, Reach::Wildcard);
    }

    fn mark_absent(&mut self, absent: &Absent) {
        let at = self.at;
        let Some(entry) = self.cache.names.get(&absent.name) else { return };
        let covered: Vec<_> = entry.selections.covered_by(&absent.scope).into_iter().collect();
        for id in covered {
            self.update(id, |selection| selection.mark_absent(absent.absence, at));
        }
        debug_assert_ne!(absent.absence, Absence::Unknown, "a source speaks of what it knows");
    }
}
