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
            match refusal {
                Refusal::TooManyParameterSets { parameters, .. } => _ = sets.insert(parameters),
                Refusal::SharedNodeId { holder, .. } => _ = holders.insert(holder),
                Refusal::TooManyOfClient { .. }
                | Refusal::TooManySubscriptions { .. }
                | Refusal::TooFast { .. } => {
                    continue;
                }
            }
            // Sets of other authorities have their turn with the next attempt.
            of.get_or_insert_with(|| authority(&selector.locator.name));
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
        true
    }

    /// How many locators of each set of an authority nobody subscribes to.
    fn idle_sets(&self, of: &str) -> HashMap<DynamicParameters, usize> {
        let mut idle = HashMap::new();
        self.each_type(|cache| {
            for id in slices::due(cache, Instant::now(), &IdleTimes::default()) {
                let Some(set) = cache.wanted_by(id).and_then(|locator| self.0.demand.set_of(of, locator))
                else {
                    continue;
                };
                *idle.entry(set).or_default() += 1;
            }
        });
        idle
    }

    fn give_up_sets(&self, of: &str, sets: &HashMap<DynamicParameters, usize>) {
        self.each_type(|cache| {
            let (now, demand) = (Instant::now(), &self.0.demand);
            let at_once = IdleTimes::default();
            let mut due = slices::due(cache, now, &at_once);
            due.retain(|id| {
                let set = cache.wanted_by(*id).and_then(|locator| demand.set_of(of, locator));
                set.is_some_and(|set| sets.contains_key(&set))
            });
            for slice in due.chunks(slices::SLICE) {
                cache.pause();
                let touched = cache.give_up_idle(slice, (now, &at_once), demand, || self.next_commit());
                cache.unlocked(|| touched.iter().for_each(|view| view.wake_all()));
            }
        });
    }
}
