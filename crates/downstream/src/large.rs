//! Responses that are too large for a client: those that are split, and those that cannot be.

use std::collections::HashSet;

use opentelemetry::KeyValue;
use opentelemetry::metrics::Counter;
use parking_lot::Mutex;
use weir_types::TypeUrl;

/// What is counted of them, and logged once.
pub(crate) struct Large {
    splits: Counter<u64>,
    oversized: Counter<u64>,
    /// The types of which that was logged, until a whole state fits again.
    reported: Mutex<HashSet<TypeUrl>>,
}

impl Large {
    pub(crate) fn new() -> Self {
        Self {
            splits: weir_metrics::DOWNSTREAM_SPLIT_RESPONSES.counter(),
            oversized: weir_metrics::DOWNSTREAM_OVERSIZED_RESPONSES.counter(),
            reported: Mutex::default(),
        }
    }

    /// A change of this type takes so many responses.
    pub(crate) fn split(&self, type_url: &TypeUrl, parts: usize) {
        self.splits.add(1, &[KeyValue::new("type", type_url.short_name())]);
        tracing::debug!(%type_url, parts, "response split");
    }

    /// A response of this type that cannot be split takes more bytes than clients accept: a whole state, or one
    /// resource.
    pub(crate) fn note(&self, type_url: &TypeUrl, bytes: usize, limit: usize) {
        self.oversized.add(1, &[KeyValue::new("type", type_url.short_name())]);
        if self.reported.lock().insert(type_url.clone()) {
            tracing::warn!(
                %type_url, bytes, limit,
                "response too large to split (max_response_size)"
            );
        }
    }

    /// A response of this type fits; it carries the `whole_state`, or not.
    pub(crate) fn fits(&self, type_url: &TypeUrl, whole_state: bool) {
        if whole_state {
            self.reported.lock().remove(type_url);
        }
    }
}
