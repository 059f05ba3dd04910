//! What is counted of clients. Labels are bounded: never a node id, never a resource name.

use opentelemetry::metrics::{Counter, Meter, UpDownCounter};
use opentelemetry::{KeyValue, global};
use weir_database::Database;
use weir_protocol::Dialect;
use weir_types::TypeUrl;

/// The instruments of this crate.
#[derive(Clone)]
pub(crate) struct Metrics {
    streams: UpDownCounter<i64>,
    requests: Counter<u64>,
    responses: Counter<u64>,
    acks: Counter<u64>,
    nacks: Counter<u64>,
    refused: Counter<u64>,
}

impl Metrics {
    pub(crate) fn new(database: &Database) -> Self {
        let meter = global::meter("weir");
        observe(&meter, database);
        let counter = |name, about| meter.u64_counter(name).with_description(about).build();
        Self {
            streams: meter
                .i64_up_down_counter("weir.downstream.streams")
                .with_description("Open streams of clients")
                .build(),
            requests: counter("weir.downstream.requests", "Requests of clients, acknowledgements included"),
            responses: counter("weir.downstream.responses", "Responses sent to clients"),
            acks: counter("weir.downstream.acks", "Responses that clients accepted"),
            nacks: counter("weir.downstream.nacks", "Responses that clients rejected"),
            refused: counter("weir.downstream.refused", "Streams ended because of what the client asked for"),
        }
    }

    pub(crate) fn opened(&self, dialect: Dialect) {
        self.streams.add(1, &[dialect_label(dialect)]);
    }

    pub(crate) fn closed(&self, dialect: Dialect) {
        self.streams.add(-1, &[dialect_label(dialect)]);
    }

    pub(crate) fn request(&self, dialect: Dialect) {
        self.requests.add(1, &[dialect_label(dialect)]);
    }

    pub(crate) fn response(&self, dialect: Dialect, type_url: &TypeUrl) {
        self.responses.add(1, &[dialect_label(dialect), type_label(type_url)]);
    }

    pub(crate) fn ack(&self, dialect: Dialect, type_url: &TypeUrl) {
        self.acks.add(1, &[dialect_label(dialect), type_label(type_url)]);
    }

    pub(crate) fn nack(&self, dialect: Dialect, type_url: &TypeUrl) {
        self.nacks.add(1, &[dialect_label(dialect), type_label(type_url)]);
    }

    pub(crate) fn refused(&self, dialect: Dialect) {
        self.refused.add(1, &[dialect_label(dialect)]);
    }
}

fn observe(meter: &Meter, database: &Database) {
    let database = database.clone();
    let _registered = meter
        .u64_observable_counter("weir.database.ambiguous_matches")
        .with_description("Parameter sets found to match more than one variant of a name")
        .with_callback(move |observer| observer.observe(database.ambiguities(), &[]))
        .build();
}

fn dialect_label(dialect: Dialect) -> KeyValue {
    KeyValue::new("dialect", dialect.as_str())
}

fn type_label(type_url: &TypeUrl) -> KeyValue {
    KeyValue::new("type", type_url.short_name())
}
