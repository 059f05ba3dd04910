//! What happens by time: the does-not-exist timeout ("Knowing When a Requested Resource Does Not Exist"), the end
//! of what is withheld, and of the deferral of rejections.

use std::collections::VecDeque;
use std::time::Instant;

use weir_types::{Absence, Batch, ResourceLocator, TypeUrl, VariantKey};

use super::locator_state::LocatorState;
use super::upstream_type::UpstreamType;
use super::{Naming, Types, UpstreamSession};

/// When a locator will be taken to be absent, or complete. All wait equally long for either, so that they lie in order
/// of time; one that was answered is left where it is and passed over.
#[derive(Debug)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    pub(super) type_url: TypeUrl,
    pub(super) locator: ResourceLocator,
}

impl UpstreamSession {
    /// Takes the locators whose time is up to be absent, one batch for each type, and removals whose time is up for
    /// what they are. Requests may be due afterwards.
    pub fn handle_timeout(&mut self, now: Instant) -> Vec<Batch> {
        self.end_deferral(now);
        let mut batches = self.take_absent(now);
        batches.extend(self.complete_collections(now));
        batches.extend(self.accept_overdue(now));
        self.check();
        batches
    }

    fn take_absent(&mut self, now: Instant) -> Vec<Batch> {
        let mut batches: Vec<Batch> = Vec::new();
        while self.next_deadline().is_some_and(|at| at <= now) {
            let Some(Deadline { type_url, locator, .. }) = self.deadlines.pop_front() else { break };
            let Some(upstream_type) = self.types.get_mut(&type_url) else { continue };
            let Some(state) = upstream_type.locator_state(&locator) else { continue };
            let silence = state.time_out(locator.is_collection());
            let unconfirmed = upstream_type.drop_unconfirmed(&self.settings.naming, &locator);
            let naming = &self.settings.naming;
            let batch = batch_of(&mut batches, type_url, upstream_type);
            batch.removals.extend(unconfirmed);
            if locator.is_collection() {
                batch.answered.push(naming.answered(&locator, silence));
            } else {
                batch.absent.push(naming.absent(&locator.name, &locator.parameters, Absence::TimedOut));
            }
        }
        batches
    }

    /// Takes what has come of collections for all there is of them, when nothing more has come for a time.
    fn complete_collections(&mut self, now: Instant) -> Vec<Batch> {
        let mut batches = Vec::new();
        while self.next_completion().is_some_and(|at| at <= now) {
            let Some(Deadline { type_url, locator, .. }) = self.completions.pop_front() else { break };
            let Some(upstream_type) = self.types.get_mut(&type_url) else { continue };
            let Some(state) = upstream_type.locator_state(&locator) else { continue };
            state.receive_whole();
            let batch = batch_of(&mut batches, type_url, upstream_type);
            batch.answered.push(self.settings.naming.answered(&locator, Absence::Known));
        }
        batches
    }

    /// When the first collection is complete, of those that are not yet.
    pub(super) fn next_completion(&mut self) -> Option<Instant> {
        first_that_counts(&mut self.completions, &mut self.types, LocatorState::completes)
    }

    /// The first deadline that still counts.
    pub(super) fn next_deadline(&mut self) -> Option<Instant> {
        first_that_counts(&mut self.deadlines, &mut self.types, LocatorState::deadline)
    }
}

/// When the first of a queue is due, without those whose locator has another time, or none, by now.
fn first_that_counts(
    queue: &mut VecDeque<Deadline>,
    types: &mut Types,
    time: fn(&LocatorState) -> Option<Instant>,
) -> Option<Instant> {
    while let Some(Deadline { at, type_url, locator }) = queue.front() {
        let state = types.get_mut(type_url).and_then(|upstream_type| upstream_type.locator_state(locator));
        if state.is_some_and(|state| time(state) == Some(*at)) {
            return Some(*at);
        }
        queue.pop_front();
    }
    None
}

/// The batch of a type, of which there is one.
fn batch_of<'a>(
    batches: &'a mut Vec<Batch>,
    type_url: TypeUrl,
    upstream_type: &UpstreamType,
) -> &'a mut Batch {
    let known = batches.iter().position(|batch| batch.type_url == type_url);
    let index = known.unwrap_or_else(|| {
        batches.push(Batch::new(type_url, upstream_type.provenance()));
        batches.len() - 1
    });
    &mut batches[index]
}

impl UpstreamType {
    /// Forgets what an earlier stream has brought for a locator, and the server was asked for and did not send again.
    fn drop_unconfirmed(&mut self, naming: &Naming, locator: &ResourceLocator) -> Vec<VariantKey> {
        if locator.is_collection() {
            return Vec::new();
        }
        let held = self.cache.answering(&locator.name).filter(|(_, held)| held.is_from_before());
        let matching = held.filter(|(_, held)| naming.matches(&held.constraints, &locator.parameters));
        let keys: Vec<VariantKey> = matching.map(|(name, held)| held.key(name)).collect();
        self.forget(&keys);
        keys
    }
}
