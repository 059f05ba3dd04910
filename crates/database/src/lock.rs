//! The lock of one type: held for a short time, and measured.
//!
//! Long work is cut into slices: between two of them, [`Held::pause`] lets those go first who wait.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::type_cache::TypeCache;

/// Holds that are shorter are not worth a measurement.
const SHORTEST: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_micros(100) };

/// Receives how long a lock was held.
type Record = Box<dyn Fn(Duration) + Send + Sync>;

/// Where the hold times of all locks go.
#[derive(Clone, Default)]
pub(crate) struct HoldTimes(Arc<OnceLock<Record>>);

impl HoldTimes {
    /// Sends every hold of 0.1 ms or longer to `record`, which runs under the lock. Only the first one counts.
    pub(crate) fn record(&self, record: Record) {
        _ = self.0.set(record);
    }

    fn add(&self, held: Duration) {
        if held >= SHORTEST
            && let Some(record) = self.0.get()
        {
            record(held);
        }
    }
}

/// The database of one type, behind its lock.
pub(crate) struct Locked {
    cache: Mutex<TypeCache>,
    times: HoldTimes,
}

impl Locked {
    pub(crate) fn new(cache: TypeCache, times: HoldTimes) -> Self {
        Self { cache: Mutex::new(cache), times }
    }

    pub(crate) fn lock(&self) -> Held<'_> {
        let cache = self.cache.lock();
        Held { cache, since: Instant::now(), times: &self.times }
    }
}

/// A lock that is held.
pub(crate) struct Held<'a> {
    cache: MutexGuard<'a, TypeCache>,
    since: Instant,
    times: &'a HoldTimes,
}

impl Held<'_> {
    /// Does something without the lock. Everything may have changed after it.
    pub(crate) fn unlocked<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.times.add(self.since.elapsed());
        let result = MutexGuard::unlocked_fair(&mut self.cache, work);
        self.since = Instant::now();
        result
    }

    /// Lets one that waits have the lock in between. Everything may have changed meanwhile.
    pub(crate) fn pause(&mut self) {
        self.times.add(self.since.elapsed());
        MutexGuard::bump(&mut self.cache);
        self.since = Instant::now();
    }
}

impl Deref for Held<'_> {
    type Target = TypeCache;

    fn deref(&self) -> &TypeCache {
        &self.cache
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut TypeCache {
        &mut self.cache
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.times.add(self.since.elapsed());
    }
}
