//! What is counted of the store.

use opentelemetry::metrics::{Counter, Gauge};
use opentelemetry::{KeyValue, global};
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
        let meter = global::meter("weir");
        let counter = |name, about| meter.u64_counter(name).with_description(about).build();
        let gauge = |name, about| meter.u64_gauge(name).with_description(about).build();
        Self {
            writes: counter("weir.store.writes", "Transactions that the store has written"),
            rows: counter("weir.store.rows", "Rows in them"),
            failures: counter("weir.store.failures", "What the store could not do, by what it was"),
            refused: counter("weir.store.refused", "Resources that were not kept, since the store is full"),
            unreadable: counter("weir.store.unreadable", "Rows of the store that could not be read"),
            recalled: counter("weir.store.recalled", "Resources that were taken from the store"),
            size: meter
                .u64_gauge("weir.store.size")
                .with_description("How much of the store's file is in use")
                .with_unit("By")
                .build(),
            pending: gauge("weir.store.pending", "Rows that are still to be written"),
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
