//! Applies what upstream sent: first the variants, then whatever is selected of them, then the views.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use weir_types::{
    Absence, Absent, Answered, Batch, Commit, Failed, Name, Provenance, Undecided, Variant, VariantKey,
};

use super::TypeCache;
use super::transaction::{State, Transaction, Unresolved};
use crate::view::{SelectionId, Shared};

/// A batch that is committed slice by slice: the variants that it brings, then the selections of them, then its answers.
pub(crate) struct Committing {
    /// Without what it brings.
    batch: Batch,
    upserts: std::vec::IntoIter<Variant>,
    /// The selections with an error to which something that it brings may be the answer.
    returned: Vec<(SelectionId, VariantKey)>,
    state: State,
    /// None before all that it brings is in its place.
    unresolved: Option<Unresolved>,
    /// It has something that must not be cached, which is for those who are here when it comes: there is one slice.
    is_whole: bool,
}

impl Committing {
    pub(crate) fn new(mut batch: Batch) -> Self {
        let upserts = std::mem::take(&mut batch.upserts);
        let is_whole = upserts.iter().any(|variant| variant.content().do_not_cache);
        if !batch.removals.is_empty() {
            // What is removed and brought is brought.
            let brought: HashSet<_> = upserts.iter().map(Variant::key).collect();
            batch.removals.retain(|key| !brought.contains(key));
        }
        let (returned, state, unresolved) = Default::default();
        Self { batch, upserts: upserts.into_iter(), returned, state, unresolved, is_whole }
    }

    /// The views that were touched since this was last asked.
    pub(crate) fn take_touched(&mut self) -> Vec<Arc<Shared>> {
        std::mem::take(&mut self.state.touched).into_values().collect()
    }
}

impl TypeCache {
    /// Applies `batch` as commit `at` and returns the views that it touched.
    pub(crate) fn commit(&mut self, batch: Batch, at: Commit) -> Vec<Arc<Shared>> {
        let mut committing = Committing::new(batch);
        while !self.go_on(&mut committing, at, usize::MAX) {}
        committing.take_touched()
    }

    /// Goes on with a batch as commit `at`, which is a later one than that of the last slice: with about `count` variants,
    /// or selections. Whether all is done.
    pub(crate) fn go_on(&mut self, committing: &mut Committing, at: Commit, count: usize) -> bool {
        let count = if committing.is_whole { usize::MAX } else { count };
        let mut transaction = Transaction::resume(self, at, std::mem::take(&mut committing.state));
        let done = transaction.go_on(committing, count);
        committing.state = transaction.suspend();
        done
    }

    /// The selections of collections of which all has been sent.
    fn answered(&self, answered: &[Answered]) -> Vec<(SelectionId, Absence)> {
        let mut ids = Vec::new();
        for Answered { collection, scope, absence } in answered {
            let one = collection.as_ref().map(|name| self.selections.of_collection(name).into_iter());
            let all = collection.is_none().then(|| self.selections.collections());
            let asked = one.into_iter().flatten().chain(all.into_iter().flatten());
            let asked = asked.flat_map(|set| set.covered_by(scope));
            ids.extend(asked.map(|id| (id, *absence)));
        }
        ids
    }

    /// Whether there is something for a locator that came by asking for just it.
    fn selects_named(&mut self, id: SelectionId) -> bool {
        let locator = &self.selections[id].locator;
        let there = self.variants.answer(&locator.name, &locator.parameters);
        there.is_some_and(|variant| self.variants.has(&variant, Provenance::Named))
    }

    /// The selections of names that upstream has yet to decide on.
    fn undecided(&self, undecided: &[Undecided]) -> Vec<SelectionId> {
        let asked = |Undecided { name, scope }: &Undecided| {
            let set = self.selections.of_name(name);
            set.map_or_else(Vec::new, |set| set.covered_by(scope))
        };
        undecided.iter().flat_map(asked).collect()
    }
}

impl Transaction<'_> {
    fn go_on(&mut self, committing: &mut Committing, count: usize) -> bool {
        if committing.unresolved.is_none() {
            for variant in committing.upserts.by_ref().take(count) {
                committing.returned.extend(self.cache.selections.failing(&variant));
                self.bring(variant, &committing.batch);
            }
            if committing.upserts.len() > 0 {
                return false;
            }
            self.change_variants(&committing.batch);
        }
        let unresolved = committing.unresolved.get_or_insert_with(|| self.unresolved());
        let done = self.resolve_some(unresolved, count);
        if done {
            self.settle(&committing.batch, &committing.returned);
        }
        done
    }

    /// Puts a variant that `batch` brings into its place.
    fn bring(&mut self, variant: Variant, batch: &Batch) {
        let variant = match batch.received {
            Some(at) => variant.leased(at),
            None => variant,
        };
        if variant.content().do_not_cache {
            self.receive_uncacheable(&variant);
        }
        self.put(variant, batch.provenance);
    }

    /// Changes the variants that are here as `batch` states.
    fn change_variants(&mut self, batch: &Batch) {
        self.keep_undecided(&batch.undecided);
        for key in &batch.removals {
            self.take(key, batch.provenance);
        }
        for heartbeat in &batch.heartbeats {
            self.refresh(heartbeat, batch.provenance, batch.received);
        }
        if batch.provenance == Provenance::Named {
            self.note_absences_by_name(&batch.absent);
        }
    }

    /// Settles what locators are answered with, where that is not a variant.
    fn settle(&mut self, batch: &Batch, returned: &[(SelectionId, VariantKey)]) {
        self.release_decided(&batch.undecided);
        let at = self.at;
        for (id, key) in returned {
            if self.cache.selections.contains(*id) {
                self.update(
                    *id,
                    |selection| if selection.members.has(key) { selection.recover(at) } else { None },
                );
            }
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

    /// Keeps what locators select that upstream has yet to decide on, whatever is removed.
    fn keep_undecided(&mut self, undecided: &[Undecided]) {
        for id in self.cache.undecided(undecided) {
            self.cache.selections[id].keep(true);
        }
    }

    /// What a locator selects for another reason need not be kept.
    fn release_decided(&mut self, undecided: &[Undecided]) {
        for id in self.cache.undecided(undecided) {
            let locator = self.cache.selections[id].locator.clone();
            let gone = self.cache.variants.answer(&locator.name, &locator.parameters).is_none();
            self.cache.selections[id].keep(gone);
        }
    }

    /// Notes the absence of names that upstream was asked for by name: what a wildcard brought need not stand in any
    /// more, and without its wildcard it would not be kept up to date.
    fn note_absences_by_name(&mut self, absent: &[Absent]) {
        let mut concerned: BTreeSet<Name> = self.changed.names().cloned().collect();
        for Absent { name, scope, absence } in absent {
            if *absence != Absence::Known {
                continue;
            }
            let asked = self.cache.selections.of_name(name).map(|set| set.covered_by(scope));
            for id in asked.into_iter().flatten() {
                // Absent and brought, perhaps by another name, is brought.
                let brought = self.cache.selects_named(id);
                self.cache.selections[id].set_absent_by_name(!brought);
            }
            concerned.extend(self.cache.variants.listing(name).chain([name]).cloned());
        }
        self.evict_unreachable(&concerned, Provenance::Wildcard);
    }

    fn mark_absent(&mut self, absent: &Absent) {
        let at = self.at;
        let Some(asked) = self.cache.selections.of_name(&absent.name) else { return };
        for id in asked.covered_by(&absent.scope) {
            self.update(id, |selection| selection.mark_absent(absent.absence, at));
        }
        debug_assert_ne!(absent.absence, Absence::Unknown, "a source states what it knows");
    }

    /// Gives an error to the selections that it concerns.
    fn fail(&mut self, failed: &Failed) {
        let (selections, at) = (&self.cache.selections, self.at);
        let named = selections.of_name(&failed.name);
        let asked = named.into_iter().chain(selections.of_collection(&failed.name));
        let asked: Vec<SelectionId> = asked.flat_map(|sets| sets.covered_by(&failed.scope)).collect();
        for id in asked {
            self.update(id, |selection| selection.fail(&failed.error, at));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;
    use weir_types::constraints::Expr;
    use weir_types::{
        Breadth, Constraints, Content, Cursor, DynamicParameters, Name, Selector, Subscription,
        SubscriptionChange, TypeUrl,
    };

    use super::super::{Patch, Standing};
    use super::*;
    use crate::demand::{Asking, Demand, Limits};
    use crate::idle::IdleTimes;

    const KINDS: usize = 3;

    /// What happens between two slices, by small numbers.
    #[derive(Clone, Debug)]
    enum Step {
        Join(usize),
        Leave,
        Sweep,
        Commit(Changes),
    }

    /// Variants of two names that are brought or removed, each for one of the parameter sets or for all.
    type Changes = Vec<(bool, usize, usize)>;

    struct World {
        cache: TypeCache,
        demand: Demand,
        streams: Vec<Standing>,
        commits: u64,
        now: Instant,
    }

    fn env(kind: usize) -> DynamicParameters {
        [("env", kind.to_string())].into_iter().collect()
    }

    fn key(name: usize, kind: usize) -> VariantKey {
        let expr = if kind == KINDS { Expr::All(Vec::new()) } else { Expr::value("env", kind.to_string()) };
        VariantKey::new(["a", "b"][name], Constraints::new(expr))
    }

    impl World {
        fn new() -> Self {
            let cache = TypeCache::new(TypeUrl::new("cds"), Commit(1));
            let demand = Demand::new(Limits::default());
            Self { cache, demand, streams: Vec::new(), commits: 1, now: Instant::now() }
        }

        fn next(&mut self) -> Commit {
            self.commits += 1;
            Commit(self.commits)
        }

        fn batch(&mut self, changes: &Changes, provenance: Provenance) -> Batch {
            let mut batch = Batch::new(TypeUrl::new("cds"), provenance);
            let version = self.next().0.to_string();
            for (brings, name, kind) in changes {
                let content = Content { upstream_version: version.as_str().into(), ..Content::default() };
                match brings {
                    true => batch.upserts.push(Variant::new(key(*name, *kind), content)),
                    false => batch.removals.push(key(*name, *kind)),
                }
            }
            batch
        }

        fn step(&mut self, step: &Step) {
            match step {
                Step::Join(kind) => {
                    let name = ["a", "b", "*"][kind / KINDS % 3];
                    let add = [Selector::plain(name, env(kind % KINDS))];
                    let patch = Patch::of(&Subscription::default(), SubscriptionChange::adding(&add));
                    let asking = Asking { demand: &self.demand, quota: None, again: false };
                    let serial = || self.commits;
                    let joined =
                        self.cache.attach(None, patch, &asking, serial).expect("there are no limits");
                    self.streams.push(Standing { view: joined.0, cursor: Cursor::default() });
                }
                Step::Leave => {
                    if let Some(standing) = self.streams.pop()
                        && self.cache.detach(standing)
                    {
                        for id in self.cache.empty_view(standing.view).values() {
                            self.cache.leave_selection(standing.view, *id);
                        }
                        self.cache.remove_view(standing.view);
                    }
                }
                Step::Sweep => {
                    self.now += Duration::from_secs(1);
                    let idle = &IdleTimes::new(Duration::from_secs(1), Default::default());
                    let (mut due, at) = (Vec::new(), self.next());
                    self.cache.find_idle(None, usize::MAX, (self.now, idle), &mut due);
                    self.cache.give_up_idle(&due, (self.now, idle), &self.demand, || at);
                }
                Step::Commit(changes) => {
                    let (batch, at) = (self.batch(changes, Provenance::Local), self.next());
                    self.cache.commit(batch, at);
                }
            }
        }

        /// Whether every locator selects what there is for it.
        fn check(&mut self) -> Result<(), String> {
            self.cache.audit()?;
            let all: Vec<_> = self.cache.selections.iter().map(|(id, of)| (id, of.locator.clone())).collect();
            for (id, locator) in all {
                for name in ["a", "b"].map(Name::from) {
                    let found = match locator.breadth() {
                        Breadth::Name if locator.name != name => continue,
                        Breadth::Name => self.cache.variants.answer(&name, &locator.parameters),
                        collection => self.cache.variants.lookup(&name, &locator.parameters, collection),
                    };
                    let shown = self.cache.selections[id].members.shown(&name);
                    if shown.map(|variant| variant.content()) != found.as_ref().map(|found| found.content()) {
                        return Err(format!(
                            "{locator:?} selects {shown:?} of {name}, and there is {found:?}"
                        ));
                    }
                }
            }
            Ok(())
        }
    }

    fn changes() -> impl Strategy<Value = Changes> {
        prop::collection::vec((prop::bool::weighted(0.7), 0..2usize, 0..=KINDS), 1..6)
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..3 * KINDS).prop_map(Step::Join),
            1 => Just(Step::Leave),
            1 => Just(Step::Sweep),
            2 => changes().prop_map(Step::Commit),
        ]
    }

    proptest! {
        #[test]
        fn d14_whatever_happens_between_two_slices_each_locator_selects_what_there_is_for_it(
            rounds in prop::collection::vec((changes(), prop::collection::vec(step(), 0..12)), 1..6),
        ) {
            let mut world = World::new();
            for (changes, steps) in rounds {
                let mut committing = Committing::new(world.batch(&changes, Provenance::Local));
                let (mut steps, mut at) = (steps.iter(), world.next());
                while !world.cache.go_on(&mut committing, at, 1) {
                    steps.by_ref().take(2).for_each(|step| world.step(step));
                    at = world.next();
                }
                steps.for_each(|step| world.step(step));
                prop_assert_eq!(world.check(), Ok(()));
            }
        }
    }
}
