//! What is counted of files. The labels are the places in the configuration that files are for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opentelemetry::KeyValue;
use opentelemetry::metrics::Counter;

/// The counters of the files of one place.
#[derive(Clone)]
pub(crate) struct Metrics {
    place: KeyValue,
    reloads: Counter<u64>,
}

/// Until when a certificate is valid, in seconds since 1970; 0 while that is not known.
pub(crate) type ValidUntil = Arc<AtomicU64>;

impl Metrics {
    pub(crate) fn new(place: &str) -> Self {
        let reloads = weir_metrics::TLS_RELOADS.counter();
        Self { place: KeyValue::new("place", place.to_owned()), reloads }
    }

    pub(crate) fn reloaded(&self, taken: bool) {
        let outcome = KeyValue::new("outcome", if taken { "taken" } else { "refused" });
        self.reloads.add(1, &[self.place.clone(), outcome]);
    }

    /// Has the end of a certificate's life observed, for as long as somebody uses it.
    pub(crate) fn observe(&self, until: &ValidUntil) {
        let (until, place) = (Arc::downgrade(until), self.place.clone());
        weir_metrics::TLS_CERTIFICATE_VALID_UNTIL.observe(move |observer| {
            match until.upgrade().map(|until| until.load(Ordering::Relaxed)) {
                None | Some(0) => {}
                Some(at) => observer.observe(at, std::slice::from_ref(&place)),
            }
        });
    }
}
