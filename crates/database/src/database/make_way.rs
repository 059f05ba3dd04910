//! Idle parameter sets give way to those that would be too many, or have their node id.
//!
//! A set is idle when nobody subscribes to anything of it: it is kept for the idle time, as long as nobody else needs the
//! room.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use weir_types::{DynamicParameters, authority};

use super::{Database, slices};
use crate::idle::IdleTimes;
use crate::limits::{Refusal, Refused};
use crate::view::SelectionId;

/// How often idle sets are looked for on behalf of one change: for the number of sets, and for their ids.
const ATTEMPTS: usize = 3;

impl Database {
    /// Does what may be refused, and may have been refused before where nobody asks for it `again`. Where idle sets can give
    /// way to it, they do, and it is done again.
    pub(super) fn making_way<T>(
        &self,
        again: bool,
        mut attempt: impl FnMut() -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let mut outcome = attempt();
        for _ in 0..ATTEMPTS {
            match &outcome {
                Err(refused) if self.make_way(refused) => {
                    if !again {
                        self.0.demand.take_back(refused);
                    }
                    outcome = attempt();
                }
                _ => break,
            }
        }
        outcome
    }

    /// Gives up idle sets where what is refused needs their room. Returns whether there were any.
    fn make_way(&self, Refused(refused): &Refused) -> bool {
        let (mut sets, mut holders) = (HashSet::new(), HashSet::new());
        let mut of = None;
        for (selector, refusal) in refused {
            let authority = authority(&selector.locator.name);
            // Sets of other authorities have their turn with the next attempt.
            if of.is_some_and(|of| of != authority) {
                continue;
            }
            match refusal {
                Refusal::TooManyParameterSets { parameters, .. } => _ = sets.insert(parameters),
                Refusal::SharedNodeId { holder, .. } => _ = holders.insert(holder),
                Refusal::TooManyOfClient { .. }
                | Refusal::TooManySubscriptions { .. }
                | Refusal::TooFast { .. } => {
                    continue;
                }
            }
            of = Some(authority);
        }
        let Some(of) = of else { return false };
        if !self.0.demand.may_look_for_idle_sets() {
            return false;
        }
        let mut idle = self.idle_sets(of);
        idle.retain(|set, count| self.0.demand.count_of_set(of, set) == *count);
        let mut room = sets.len();
        idle.retain(|set, _| {
            let holds = holders.contains(set);
            let gives_way = holds || room > 0;
            room -= usize::from(gives_way && !holds);
            gives_way
        });
        if idle.is_empty() {
            self.0.demand.note_no_idle_sets();
            return false;
        }
        self.give_up_sets(of, &idle);
        self.0.demand.note_displaced(of, idle.len());
        for parameters in idle.keys() {
            tracing::debug!(authority = of, %parameters, "idle parameter set gave way to a new one");
        }
        true
    }

    /// How many locators of each set of an authority nobody subscribes to.
    fn idle_sets(&self, of: &str) -> HashMap<DynamicParameters, usize> {
        let mut idle = HashMap::new();
        self.each_type(|cache| {
            let due = slices::due(cache, Instant::now(), &IdleTimes::default());
            for slice in due.chunks(slices::SLICE) {
                cache.pause();
                let locators = slice.iter().filter_map(|id| cache.wanted_by(*id));
                let sets = locators.filter_map(|locator| self.0.demand.set_of(of, locator));
                sets.for_each(|set| *idle.entry(set).or_default() += 1);
            }
        });
        idle
    }

    fn give_up_sets(&self, of: &str, sets: &HashMap<DynamicParameters, usize>) {
        let (demand, at_once) = (&self.0.demand, &IdleTimes::default());
        self.each_type(|cache| {
            let now = Instant::now();
            for slice in slices::due(cache, now, at_once).chunks(slices::SLICE) {
                cache.pause();
                let is_of = |id: &SelectionId| {
                    let set = cache.wanted_by(*id).and_then(|locator| demand.set_of(of, locator));
                    set.is_some_and(|set| sets.contains_key(&set))
                };
                let due: Vec<_> = slice.iter().copied().filter(is_of).collect();
                let touched = cache.give_up_idle(&due, (now, at_once), demand, || self.next_commit());
                cache.unlocked(|| touched.iter().for_each(|view| view.wake_all()));
            }
        });
    }
}
