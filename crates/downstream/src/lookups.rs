//! How often frames were there already. Counted for each step of each stream, so at the price of one addition.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use moka::notification::RemovalCause;
use opentelemetry::KeyValue;

/// What became of lookups, and of what was kept.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    hits: AtomicU64,
    misses: AtomicU64,
    idle: AtomicU64,
    full: AtomicU64,
}

impl Lookups {
    /// A frame was looked up, and had to be `made`, or was there.
    pub(crate) fn count(&self, made: bool) {
        if made { &self.misses } else { &self.hits }.fetch_add(1, Ordering::Relaxed);
    }

    /// A frame is kept no longer.
    pub(crate) fn evicted(&self, cause: RemovalCause) {
        match cause {
            RemovalCause::Expired => self.idle.fetch_add(1, Ordering::Relaxed),
            RemovalCause::Size => self.full.fetch_add(1, Ordering::Relaxed),
            RemovalCause::Explicit | RemovalCause::Replaced => 0,
        };
    }

    /// Shows the counts from now on.
    pub(crate) fn observe(self: &Arc<Self>) {
        let (lookups, evictions) = (Arc::clone(self), Arc::clone(self));
        weir_metrics::RESPONSE_CACHE_LOOKUPS.observe(move |observer| {
            for (result, count) in [("hit", &lookups.hits), ("miss", &lookups.misses)] {
                observer.observe(count.load(Ordering::Relaxed), &[KeyValue::new("result", result)]);
            }
        });
        weir_metrics::RESPONSE_CACHE_EVICTIONS.observe(move |observer| {
            for (cause, count) in [("idle", &evictions.idle), ("full", &evictions.full)] {
                observer.observe(count.load(Ordering::Relaxed), &[KeyValue::new("cause", cause)]);
            }
        });
    }
}
