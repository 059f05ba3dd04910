//! The handle: one short lock per type, never held while waiting.

mod long_diff;
mod make_way;
mod parts;
mod slices;
mod sources;
mod view_handle;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use weir_types::{Batch, Commit, Cursor, Subscription, SubscriptionChange, TypeUrl};

use crate::demand::{Asking, Demand, DemandChange, Limits};
use crate::idle::IdleTimes;
use crate::introspect::Ambiguities;
use crate::limits::Refused;
use crate::lock::{Held, HoldTimes, Locked};
use crate::settings::Settings;
use crate::type_cache::{Ambiguity, Committing, Patch, Statistics, TypeCache};
use crate::view::{Shared, ViewListener};
use crate::watch::{Answers, Observer, Watch};

pub use view_handle::ViewHandle;

/// Variants, what is subscribed of them, and what is wanted from upstream. Cheap to clone.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    idle: RwLock<IdleTimes>,
    demand: Demand,
    types: RwLock<HashMap<TypeUrl, Arc<Locked>>>,
    hold_times: HoldTimes,
    commits: AtomicU64,
    serials: AtomicU64,
    ambiguities: AtomicU64,
    ambiguous: Ambiguities,
    expired: AtomicU64,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Its number.
    pub commit: Commit,
    /// How many views it touched.
    pub views: usize,
}

/// A commit whose streams sleep still.
#[must_use = "streams learn of a commit by being woken"]
pub struct Applied {
    commit: Commit,
    touched: Vec<Arc<Shared>>,
}

impl Applied {
    /// Wakes the streams of every view that the commit touched.
    pub fn wake(&self) {
        self.touched.iter().for_each(|view| view.wake_all());
    }
}

impl Database {
    /// An empty database.
    pub fn new(settings: Settings) -> Self {
        let demand = Demand::new(Limits {
            parameter_sets: settings.parameter_sets.clone(),
            demand: settings.demand.clone(),
            per_client: settings.per_client,
        });
        Self(Arc::new(Inner {
            idle: RwLock::new(IdleTimes::new(settings.idle, settings.idle_by_authority)),
            demand,
            types: RwLock::default(),
            hold_times: HoldTimes::default(),
            commits: AtomicU64::new(1),
            serials: AtomicU64::new(0),
            ambiguities: AtomicU64::new(0),
            ambiguous: Ambiguities::default(),
            expired: AtomicU64::new(0),
        }))
    }

    /// Has `record` called with how long the lock of a type was held, where that was 0.1 ms or longer. There is one such
    /// callback, and it has to be short.
    pub fn on_lock_hold(&self, record: impl Fn(Duration) + Send + Sync + 'static) {
        self.0.hold_times.record(Box::new(record));
    }

    fn of_type(&self, type_url: &TypeUrl) -> Arc<Locked> {
        if let Some(cache) = self.0.types.read().get(type_url) {
            return Arc::clone(cache);
        }
        let first = Commit(self.0.commits.load(Ordering::Acquire));
        let times = || self.0.hold_times.clone();
        let new = || Arc::new(Locked::new(TypeCache::new(type_url.clone(), first), times()));
        Arc::clone(self.0.types.write().entry(type_url.clone()).or_insert_with(new))
    }

    /// Applies a batch and wakes the streams that it concerns: atomically for each locator, and for the streams of one
    /// view where neither the batch ([`Self::divides`]) nor the number of locators that ask for it is large.
    pub fn commit(&self, batch: Batch) -> Committed {
        let applied = self.apply(batch);
        applied.wake();
        Committed { commit: applied.commit, views: applied.touched.len() }
    }

    /// As [`Self::commit`], but the streams that it concerns are to be woken afterwards.
    pub fn apply(&self, batch: Batch) -> Applied {
        let cache = self.of_type(&batch.type_url);
        let parts = parts::of(batch);
        let mut cache = cache.lock();
        let mut touched = HashMap::new();
        let mut commit = cache.last();
        for (count, part) in parts.into_iter().enumerate() {
            if count > 0 {
                cache.pause();
            }
            commit = self.next_commit();
            let mut committing = Committing::new(part);
            while !cache.go_on(&mut committing, commit, slices::SLICE) {
                // Whom this concerns need not wait for the rest.
                let views = committing.take_touched();
                cache.unlocked(|| views.iter().for_each(|view| view.wake_all()));
                touched.extend(views.into_iter().map(|view| (view.serial, view)));
                commit = self.next_commit();
            }
            touched.extend(committing.take_touched().into_iter().map(|view| (view.serial, view)));
        }
        self.report(&mut cache);
        drop(cache);
        Applied { commit, touched: touched.into_values().collect() }
    }

    /// Whether a batch is committed in parts, so that others do not wait for all of it: each is about other names.
    pub fn divides(batch: &Batch) -> bool {
        parts::is_divided(batch)
    }

    /// As [`Self::commit`], atomically, and watches whether the streams that it concerns answer for it. It is over when
    /// `percent` of them are done; if that is none, at once, and `observer` is not notified.
    pub fn commit_watched(&self, batch: Batch, percent: u8, observer: Arc<dyn Observer>) -> Watch {
        let cache = self.of_type(&batch.type_url);
        let mut cache = cache.lock();
        let commit = self.next_commit();
        let touched = cache.commit(batch, commit);
        self.report(&mut cache);
        let watch = Watch::new(commit, &cache.touched(&touched), percent, observer);
        touched.iter().enumerate().for_each(|(place, view)| view.watches.add(&watch, place));
        drop(cache);
        Applied { commit, touched }.wake();
        watch
    }

    /// Attaches a stream to the view of what `change` adds.
    pub fn attach(
        &self,
        type_url: &TypeUrl,
        change: SubscriptionChange<'_>,
        subscriber: Arc<dyn ViewListener>,
    ) -> Result<ViewHandle, Refused> {
        let cache = self.of_type(type_url);
        let patch = Patch::of(&Subscription::default(), change);
        let (view, shared, answers) = self.making_way(false, || {
            let mut locked = cache.lock();
            let asking = Asking { demand: &self.0.demand, quota: subscriber.quota(), again: false };
            let attached = self.join(&mut locked, None, patch, &asking);
            self.report(&mut locked);
            let (view, shared) = attached?;
            Ok((view, shared, Answers::from(locked.last())))
        })?;
        self.0.demand.announce();
        let slot = shared.enlist(Arc::clone(&subscriber));
        let database = self.clone();
        Ok(ViewHandle { database, cache, view, shared, slot, subscriber, cursor: Cursor::default(), answers })
    }

    /// To be called under the lock of the type that is committed to.
    fn next_commit(&self) -> Commit {
        Commit(self.0.commits.fetch_add(1, Ordering::AcqRel) + 1)
    }

    fn next_serial(&self) -> u64 {
        self.0.serials.fetch_add(1, Ordering::Relaxed)
    }

    /// Drains the changes of what is wanted from upstream.
    pub fn take_demand(&self) -> Vec<DemandChange> {
        self.take_some_demand(usize::MAX).0
    }

    /// Takes about `count` changes of what is wanted from upstream, in turns of those who ask, and returns whether there are
    /// more.
    pub fn take_some_demand(&self, count: usize) -> (Vec<DemandChange>, bool) {
        self.0.demand.take(count)
    }

    /// How many locators are wanted that were not taken yet.
    pub fn demand(&self) -> u64 {
        self.0.demand.waiting()
    }

    /// Has `wake` called whenever there is demand to take. There is one such callback.
    pub fn on_demand(&self, wake: impl Fn() + Send + Sync + 'static) {
        self.0.demand.on_change(Box::new(wake));
    }

    /// Gives up what has been idle for long enough at `now`, and what has outlived its time to live. To be
    /// called about once a second.
    pub fn sweep(&self, now: Instant) {
        self.0.demand.tick(now);
        let caches: Vec<_> = self.0.types.read().values().cloned().collect();
        // Each is let go of before it is asked whether anybody else has it.
        caches.into_iter().for_each(|cache| self.sweep_type(&cache, now));
        // Clients may make up types too.
        let in_use = |cache: &Arc<Locked>| Arc::strong_count(cache) > 1 || !cache.lock().is_empty();
        self.0.types.write().retain(|_, cache| in_use(cache));
        self.0.demand.announce();
    }

    fn sweep_type(&self, cache: &Locked, now: Instant) {
        let (idle, demand) = (&self.0.idle.read().clone(), &self.0.demand);
        let mut cache = cache.lock();
        let (mut touched, expired) = cache.expire_overdue(now, || self.next_commit());
        cache.pause();
        let due = slices::due(&mut cache, now, idle);
        for slice in due.chunks(slices::SLICE) {
            cache.pause();
            touched.extend(cache.give_up_idle(slice, (now, idle), demand, || self.next_commit()));
        }
        cache.pause();
        slices::in_steps(&mut cache, 0, |cache, place| cache.prune_from(place, slices::SLICE));
        drop(cache);
        self.0.expired.fetch_add(expired as u64, Ordering::Relaxed);
        touched.iter().for_each(|view| view.wake_all());
    }

    /// The number of the newest commit.
    pub fn position(&self) -> Commit {
        Commit(self.0.commits.load(Ordering::Acquire))
    }

    /// How much there is. Counts everything: for once in a while.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        self.each_type(|cache| slices::count(cache, &mut statistics));
        statistics
    }

    /// As [`Self::statistics`], each type for itself.
    pub fn statistics_by_type(&self) -> Vec<(TypeUrl, Statistics)> {
        let mut all = Vec::new();
        self.each_type(|cache| {
            let mut statistics = Statistics::default();
            slices::count(cache, &mut statistics);
            all.push((cache.type_url.clone(), statistics));
        });
        all
    }

    /// Locks one type after the other.
    fn each_type(&self, mut look: impl FnMut(&mut Held<'_>)) {
        let caches: Vec<_> = self.0.types.read().values().cloned().collect();
        caches.iter().for_each(|cache| look(&mut cache.lock()));
    }

    /// How often more than one variant matched a parameter set, since the start.
    pub fn ambiguities(&self) -> u64 {
        self.0.ambiguities.load(Ordering::Relaxed)
    }

    /// How many variants have expired since the start: upstream did not refresh them within their time to live.
    pub fn expired(&self) -> u64 {
        self.0.expired.load(Ordering::Relaxed)
    }

    /// How often upstream was to send again what must not be cached, since the start.
    pub fn renewals(&self) -> u64 {
        self.0.demand.renewals()
    }

    pub(crate) fn remembered_ambiguities(&self) -> &Ambiguities {
        &self.0.ambiguous
    }

    pub(crate) fn known_types(&self) -> Vec<TypeUrl> {
        self.0.types.read().keys().cloned().collect()
    }

    /// Looks at a type, if anything is known of it, under its lock.
    pub(crate) fn look_at<T>(&self, type_url: &TypeUrl, look: impl FnOnce(&TypeCache) -> T) -> Option<T> {
        let cache = self.0.types.read().get(type_url).map(Arc::clone)?;
        let cache = cache.lock();
        Some(look(&cache))
    }

    fn report(&self, cache: &mut TypeCache) {
        for ambiguity in cache.take_ambiguities() {
            let Ambiguity { chosen, rival, witness } = &ambiguity;
            self.0.ambiguities.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                type_url = %cache.type_url,
                name = %chosen.name,
                served = %chosen.constraints,
                ignored = %rival.constraints,
                parameters = %witness,
                "more than one variant matches"
            );
            self.0.ambiguous.add(&cache.type_url, ambiguity);
        }
    }
}
