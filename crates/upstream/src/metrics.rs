//! What is counted of upstream streams. Labels are bounded: configured authorities, two dialects, known types.

use opentelemetry::metrics::Counter;
use opentelemetry::{KeyValue, global};
use weir_protocol::Dialect;
use weir_types::TypeUrl;

/// The counters of one authority.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    labels: [KeyValue; 2],
    connects: Counter<u64>,
    disconnects: Counter<u64>,
    responses: Counter<u64>,
    rejected: Counter<u64>,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new(authority: &str, dialect: Dialect) -> Self {
        let meter = global::meter("weir");
        let counter = |name, about| meter.u64_counter(name).with_description(about).build();
        Self {
            labels: [
                KeyValue::new("authority", authority.to_owned()),
                KeyValue::new("dialect", dialect.as_str()),
            ],
            connects: counter("weir.upstream.connects", "Connections made to control planes"),
            disconnects: counter("weir.upstream.disconnects", "Streams to control planes that ended"),
            responses: counter("weir.upstream.responses", "Responses of control planes"),
            rejected: counter("weir.upstream.rejected", "Resources of control planes that were not accepted"),
        }
    }

    pub(crate) fn connected(&self) {
        self.connects.add(1, &self.labels);
    }

    pub(crate) fn disconnected(&self) {
        self.disconnects.add(1, &self.labels);
    }

    pub(crate) fn responded(&self, type_url: &TypeUrl, rejected: usize) {
        let [authority, dialect] = self.labels.clone();
        let labels = [authority, dialect, KeyValue::new("type", type_url.short_name())];
        self.responses.add(1, &labels);
        if rejected > 0 {
            self.rejected.add(rejected as u64, &labels);
        }
    }
}
