//! Long changes of a subscription, in slices.
//!
//! A stream may subscribe to 100,000 names. The view for them grows, and the view that is left goes, so many at a time;
//! in between, others have the lock. Nobody finds a view that is not complete, but what is committed meanwhile reaches
//! what it has already.

use std::sync::Arc;
use std::time::Instant;

use weir_types::Subscription;

use super::Database;
use crate::demand::Asking;
use crate::idle::IdleTimes;
use crate::limits::{MOST_REFUSED, Refused};
use crate::lock::Held;
use crate::type_cache::{Patch, Standing, Statistics, TypeCache};
use crate::view::{SelectionId, Shared, ViewId};

/// How many selectors are dealt with at a time: about a millisecond's worth. Few in debug builds, so that whatever tests
/// do there goes this way.
pub(super) const SLICE: usize = if cfg!(debug_assertions) { 2 } else { 500 };

impl Database {
    /// Attaches a stream to the view that `base` becomes with `patch`, and leaves `base` to the caller.
    pub(super) fn join(
        &self,
        cache: &mut Held<'_>,
        base: Option<Standing>,
        patch: Patch<'_>,
        asking: &Asking<'_>,
    ) -> Result<(ViewId, Arc<Shared>), Refused> {
        let from = base.map(|base| cache.shared(base.view));
        let size = from.as_ref().map_or(0, |from| from.subscription.len()) + patch.change.add.len();
        if size > SLICE && !cache.makes_at_once(patch) {
            let nothing = Subscription::default();
            let from = from.as_ref().map_or(&nothing, |from| &from.subscription);
            // Both take long for a large subscription, and need nothing of what the lock guards.
            let patched = cache.unlocked(|| from.patched(patch.change));
            if let Some(grown) = self.grow(cache, patched, asking)? {
                return Ok(cache.join_view(base, patch, grown));
            }
        }
        cache.attach(base, patch, asking, || self.next_serial())
    }

    /// A new view of `subscription`; none where it has to be made in one go, or another stream has made it meanwhile.
    fn grow(
        &self,
        cache: &mut Held<'_>,
        subscription: Subscription,
        asking: &Asking<'_>,
    ) -> Result<Option<ViewId>, Refused> {
        let view = cache.begin_view(subscription, self.next_serial());
        let shared = cache.shared(view);
        let mut refused = Vec::new();
        for (count, selector) in shared.subscription.iter().enumerate() {
            if count % SLICE == 0 {
                self.make_room(cache);
            }
            let reason = shared.subscription.refusal(selector);
            if let Err(refusal) = cache.grow_view(view, selector, reason, asking) {
                refused.push((selector.clone(), refusal));
            }
            if refused.len() > MOST_REFUSED {
                break;
            }
        }
        if refused.is_empty() && cache.complete_view(view) {
            return Ok(Some(view));
        }
        take_down(cache, view);
        if refused.is_empty() { Ok(None) } else { Err(Refused(refused)) }
    }

    /// Lets others have the lock, and makes room for a slice.
    fn make_room(&self, cache: &mut Held<'_>) {
        cache.unlocked(|| self.0.demand.make_room(SLICE));
        while cache.make_room(SLICE) {
            cache.pause();
        }
    }
}

/// Does the steps from `from` on, each of which returns where the next one begins. In between, others have the lock.
pub(super) fn in_steps<P>(
    cache: &mut Held<'_>,
    from: P,
    mut step: impl FnMut(&mut TypeCache, P) -> Option<P>,
) {
    let mut next = step(cache, from);
    while let Some(from) = next {
        cache.pause();
        next = step(cache, from);
    }
}

/// Adds what there is of a type to `statistics`. What comes and goes meanwhile may count or not.
pub(super) fn count(cache: &mut Held<'_>, statistics: &mut Statistics) {
    in_steps(cache, 0, |cache, place| cache.count_from(place, SLICE, statistics));
}

/// Takes a stream off its view, which goes with its last stream.
pub(super) fn leave(cache: &mut Held<'_>, standing: Standing) {
    if cache.detach(standing) {
        take_down(cache, standing.view);
    }
}

/// The selections that nobody has asked for since their times of `idle` before `now`.
pub(super) fn due(cache: &mut Held<'_>, now: Instant, idle: &IdleTimes) -> Vec<SelectionId> {
    let mut due = Vec::new();
    in_steps(cache, None, |cache, after| cache.find_idle(after, SLICE, (now, idle), &mut due).map(Some));
    due
}

/// Removes a view that nobody finds any more.
fn take_down(cache: &mut Held<'_>, view: ViewId) {
    let selections = cache.empty_view(view);
    for (count, id) in selections.values().enumerate() {
        if count % SLICE == SLICE - 1 {
            cache.pause();
        }
        cache.leave_selection(view, *id);
    }
    let removed = cache.remove_view(view);
    if selections.len() > SLICE {
        // To drop what is left takes long, too.
        cache.unlocked(|| drop((selections, removed)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use weir_types::{DynamicParameters, Selector, SubscriptionChange, TypeUrl};

    use super::*;
    use crate::view::ViewListener;
    use crate::{Database, Settings};

    struct Nobody;

    impl ViewListener for Nobody {
        fn wake(&self) {}
    }

    fn names(prefix: &str, count: usize) -> Vec<Selector> {
        let name = |i| format!("{prefix}{i}");
        (0..count).map(|i| Selector::plain(name(i), DynamicParameters::empty())).collect()
    }

    #[test]
    fn d14_many_names_are_subscribed_to_and_given_up_in_slices() {
        let database = Database::new(Settings::default());
        let holds = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&holds);
        database.on_lock_hold(move |_| _ = counted.fetch_add(1, Ordering::Relaxed));
        let slices = |work: &mut dyn FnMut()| {
            let before = holds.load(Ordering::Relaxed);
            work();
            holds.load(Ordering::Relaxed) - before
        };
        let type_url = TypeUrl::new("type.googleapis.com/acme.Widget");
        let (all, count) = (names("a", 100 * SLICE), 100);
        let mut place = None;
        let attach =
            || database.attach(&type_url, SubscriptionChange::adding(&all), Arc::new(Nobody)).unwrap();
        assert!(slices(&mut || place = Some(attach())) >= count, "subscribing");
        let mut place = place.unwrap();
        let (more, less) = (names("b", 1), &all[..1]);
        assert!(
            slices(&mut || place.change(SubscriptionChange::new(&more, less)).unwrap()) >= 2 * count,
            "moving to the next view"
        );
        let mut last = Some(place);
        assert!(slices(&mut || drop(last.take())) >= count, "going away");
        database.audit().unwrap();
    }
}
