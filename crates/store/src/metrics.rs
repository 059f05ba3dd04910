//! What is counted of the store.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Gauge};
use weir_types::TypeUrl;

#[derive(Debug)]
pub(crate) struct Metrics {
    writes: Counter<u64>,
    rows: Counter<u64>,
    failures: Counter<u64>,
    refused: Counter<u64>,
    unreadable: Counter<u64>,
    recalled: Counter<u64>,
    size: Gauge<u64>,
    pending: Gauge<u64>,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            writes: weir_metrics::STORE_WRITES.counter(),
            rows: weir_metrics::STORE_ROWS.counter(),
            failures: weir_metrics::STORE_FAILURES.counter(),
            refused: weir_metrics::STORE_REFUSED.counter(),
            unreadable: weir_metrics::STORE_UNREADABLE.counter(),
            recalled: weir_metrics::STORE_RECALLED.counter(),
            size: weir_metrics::STORE_SIZE.gauge(),
            pending: weir_metrics::STORE_PENDING.gauge(),
        }
    }

    pub(crate) fn written(&self, rows: usize, refused: u64) {
        self.writes.add(1, &[]);
        self.rows.add(rows as u64, &[]);
        if refused > 0 {
            self.refused.add(refused, &[]);
        }
    }

    /// What has failed is one of `open`, `write` and `read`.
    pub(crate) fn failed(&self, what: &'static str) {
        self.failures.add(1, &[KeyValue::new("operation", what)]);
    }

    pub(crate) fn recalled(&self, type_url: &TypeUrl, variants: usize) {
        self.recalled.add(variants as u64, &[KeyValue::new("type", type_url.short_name())]);
    }

    pub(crate) fn unreadable(&self, rows: u64) {
        if rows > 0 {
            self.unreadable.add(rows, &[]);
        }
    }

    pub(crate) fn stands(&self, size: u64, pending: usize) {
        self.size.record(size, &[]);
        self.pending.record(pending as u64, &[]);
    }
}
