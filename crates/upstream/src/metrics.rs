//! What is counted of upstream streams. Labels are bounded: configured authorities, two dialects and REST, known types,
//! canonical codes.

use std::time::Duration;

use opentelemetry::metrics::{Counter, Histogram, UpDownCounter};
use opentelemetry::{KeyValue, global};
use weir_protocol::client::Applied;
use weir_types::{Code, TypeUrl};

/// The counters of one authority.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    labels: [KeyValue; 2],
    connects: Counter<u64>,
    disconnects: Counter<u64>,
    responses: Counter<u64>,
    rejected: Counter<u64>,
    nacks: Counter<u64>,
    heartbeats: Counter<u64>,
    held: UpDownCounter<i64>,
    hold_time: Histogram<f64>,
    errors: Counter<u64>,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new(authority: &str, speech: &'static str) -> Self {
        let meter = global::meter("weir");
        let counter = |name, about| meter.u64_counter(name).with_description(about).build();
        Self {
            labels: [KeyValue::new("authority", authority.to_owned()), KeyValue::new("dialect", speech)],
            connects: counter("weir.upstream.connects", "Connections made to control planes"),
            disconnects: counter("weir.upstream.disconnects", "Streams to control planes that ended"),
            responses: counter("weir.upstream.responses", "Responses of control planes"),
            rejected: counter("weir.upstream.rejected", "Resources of control planes that were not accepted"),
            heartbeats: counter("weir.upstream.heartbeats", "Resources refreshed without being sent"),
            nacks: counter(
                "weir.upstream.nacks",
                "Responses of control planes that were rejected, for Weir's own reasons or its subscribers'",
            ),
            held: meter
                .i64_up_down_counter("weir.upstream.held_acknowledgements")
                .with_description("Responses of control planes whose acknowledgement waits for subscribers")
                .build(),
            hold_time: meter
                .f64_histogram("weir.upstream.acknowledgement_hold_time")
                .with_description("How long acknowledgements waited for subscribers")
                .with_unit("s")
                .build(),
            errors: counter(
                "weir.upstream.resource_errors",
                "Errors of single resources that control planes reported",
            ),
        }
    }

    pub(crate) fn connected(&self) {
        self.connects.add(1, &self.labels);
    }

    pub(crate) fn disconnected(&self) {
        self.disconnects.add(1, &self.labels);
    }

    pub(crate) fn responded(&self, applied: &Applied) {
        let type_url = &applied.batch.type_url;
        let labels = self.of_type(type_url);
        let (rejected, heartbeats) = (applied.rejected.len(), applied.batch.heartbeats.len());
        self.responses.add(1, &labels);
        if heartbeats > 0 {
            self.heartbeats.add(heartbeats as u64, &labels);
        }
        if rejected > 0 {
            self.rejected.add(rejected as u64, &labels);
            self.nack(type_url, "weir");
        }
    }

    /// So many more acknowledgements wait.
    pub(crate) fn held(&self, more: i64) {
        self.held.add(more, &self.labels);
    }

    /// An acknowledgement has waited for so long, for longer than it should, and has become a NACK, or not.
    pub(crate) fn released(&self, type_url: &TypeUrl, held: Duration, late: bool, nack: bool) {
        let [authority, dialect, type_label] = self.of_type(type_url);
        let labels = [authority, dialect, type_label, KeyValue::new("late", late)];
        self.hold_time.record(held.as_secs_f64(), &labels);
        if nack {
            self.nack(type_url, "subscribers");
        }
    }

    fn nack(&self, type_url: &TypeUrl, by: &'static str) {
        let [authority, dialect, type_label] = self.of_type(type_url);
        self.nacks.add(1, &[authority, dialect, type_label, KeyValue::new("by", by)]);
    }

    fn of_type(&self, type_url: &TypeUrl) -> [KeyValue; 3] {
        let [authority, dialect] = self.labels.clone();
        [authority, dialect, KeyValue::new("type", type_url.short_name())]
    }

    pub(crate) fn reported(&self, type_url: &TypeUrl, code: Code) {
        let [authority, dialect, type_label] = self.of_type(type_url);
        self.errors.add(1, &[authority, dialect, type_label, KeyValue::new("code", code.as_str())]);
    }
}
