//! Responses that are too large for a client: those that are split, and those that cannot be.

use std::collections::HashSet;

use opentelemetry::KeyValue;
use opentelemetry::metrics::Counter;
use parking_lot::Mutex;
use weir_types::TypeUrl;

use weir_session::Encoding;

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

    /// Notes what came of the size of a difference.
    pub(crate) fn record(&self, encoding: &Encoding) {
        let Encoding { type_url, limit, split, oversized, whole_state_fits } = encoding;
        let label = || [KeyValue::new("type", type_url.short_name())];
        if let Some(parts) = split {
            self.splits.add(1, &label());
            tracing::debug!(%type_url, parts, "splits a response");
        }
        for bytes in oversized {
            self.oversized.add(1, &label());
            if self.reported.lock().insert(type_url.clone()) {
                tracing::warn!(
                    %type_url, bytes, limit,
                    "a response is larger than clients accept (max_response_size), and cannot be split"
                );
            }
        }
        if *whole_state_fits {
            self.reported.lock().remove(type_url);
        }
    }
}
