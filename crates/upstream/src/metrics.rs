//! What is counted of upstream streams. Labels are bounded: configured authorities, two dialects and REST, known types,
//! canonical codes.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, UpDownCounter};
use weir_protocol::client::{Applied, Shrink};
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
    unconfirmed: UpDownCounter<i64>,
    held: UpDownCounter<i64>,
    hold_time: Histogram<f64>,
    errors: Counter<u64>,
    endpoints: UpDownCounter<i64>,
    moves: Counter<u64>,
    unfit: Counter<u64>,
    shrinks: Counter<u64>,
    debounced: Counter<u64>,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new(authority: &str, speech: &'static str) -> Self {
        Self {
            labels: [KeyValue::new("authority", authority.to_owned()), KeyValue::new("dialect", speech)],
            connects: weir_metrics::UPSTREAM_CONNECTS.counter(),
            disconnects: weir_metrics::UPSTREAM_DISCONNECTS.counter(),
            responses: weir_metrics::UPSTREAM_RESPONSES.counter(),
            rejected: weir_metrics::UPSTREAM_REJECTED.counter(),
            heartbeats: weir_metrics::UPSTREAM_HEARTBEATS.counter(),
            unconfirmed: weir_metrics::UPSTREAM_UNCONFIRMED.up_down_counter(),
            nacks: weir_metrics::UPSTREAM_NACKS.counter(),
            held: weir_metrics::UPSTREAM_HELD_ACKNOWLEDGEMENTS.up_down_counter(),
            hold_time: weir_metrics::UPSTREAM_ACKNOWLEDGEMENT_HOLD_TIME.histogram(),
            errors: weir_metrics::UPSTREAM_RESOURCE_ERRORS.counter(),
            endpoints: weir_metrics::UPSTREAM_ENDPOINTS.up_down_counter(),
            moves: weir_metrics::UPSTREAM_MOVES.counter(),
            unfit: weir_metrics::UPSTREAM_UNFIT.counter(),
            shrinks: weir_metrics::UPSTREAM_SHRINKS.counter(),
            debounced: weir_metrics::UPSTREAM_DEBOUNCED.counter(),
        }
    }

    /// A stream is on this endpoint now, by order of preference; before, it was on another one, or on none.
    pub(crate) fn connected(&self, index: usize, before: Option<usize>) {
        self.connects.add(1, &self.labels);
        self.closed(before);
        self.endpoints.add(1, &self.on(index));
        let [authority, dialect] = self.labels.clone();
        let direction = match before {
            Some(before) if before < index => "fallback",
            None if index > 0 => "fallback",
            Some(before) if before > index => "return",
            _ => return,
        };
        self.moves.add(1, &[authority, dialect, KeyValue::new("direction", direction)]);
    }

    /// There is no stream any more that was on this endpoint.
    pub(crate) fn closed(&self, index: Option<usize>) {
        if let Some(index) = index {
            self.endpoints.add(-1, &self.on(index));
        }
    }

    /// An endpoint was tried beside the one in use, in vain.
    pub(crate) fn unfit(&self) {
        self.unfit.add(1, &self.labels);
    }

    /// Losses were withheld, or are not any more.
    pub(crate) fn shrunk(&self, shrink: &Shrink) {
        let [authority, dialect, type_label] = self.of_type(&shrink.type_url);
        let loss = KeyValue::new("loss", shrink.loss.as_str());
        let outcome = KeyValue::new("outcome", shrink.outcome.as_str());
        self.shrinks.add(shrink.count as u64, &[authority, dialect, type_label, loss, outcome]);
    }

    /// A response has become part of a burst.
    pub(crate) fn debounced(&self, type_url: &TypeUrl) {
        self.debounced.add(1, &self.of_type(type_url));
    }

    fn on(&self, index: usize) -> [KeyValue; 3] {
        let [authority, dialect] = self.labels.clone();
        [authority, dialect, KeyValue::new("endpoint", i64::try_from(index).unwrap_or(i64::MAX))]
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

    /// So many resources of a type are from the store and not vouched for, where there were others before.
    pub(crate) fn unconfirmed(&self, type_url: &TypeUrl, before: usize, now: usize) {
        let [before, now] = [before, now].map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        self.unconfirmed.add(now - before, &self.of_type(type_url));
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
