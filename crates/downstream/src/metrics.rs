//! What is counted of clients. Labels are bounded: never a node id, never a resource name.

use opentelemetry::metrics::{Counter, Meter, UpDownCounter};
use opentelemetry::{KeyValue, global};
use weir_database::Database;
use weir_protocol::Dialect;
use weir_types::TypeUrl;
use weir_wire::services::Service;

use crate::drain::Reason;

/// How a client speaks, as a label.
#[derive(Clone, Copy)]
pub(crate) struct Speech(&'static str);

impl Speech {
    /// REST-JSON.
    pub(crate) const REST: Self = Self("rest");
}

impl From<Dialect> for Speech {
    fn from(dialect: Dialect) -> Self {
        Self(dialect.as_str())
    }
}

/// The instruments of this crate.
#[derive(Clone)]
pub(crate) struct Metrics {
    connections: UpDownCounter<i64>,
    moved: Counter<u64>,
    streams: UpDownCounter<i64>,
    requests: Counter<u64>,
    responses: Counter<u64>,
    heartbeats: Counter<u64>,
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
            connections: meter
                .i64_up_down_counter("weir.downstream.connections")
                .with_description("Open connections of clients")
                .build(),
            moved: counter("weir.downstream.moved", "Connections whose clients were asked to connect anew"),
            streams: meter
                .i64_up_down_counter("weir.downstream.streams")
                .with_description("Open streams of clients")
                .build(),
            requests: counter("weir.downstream.requests", "Requests of clients, acknowledgements included"),
            responses: counter("weir.downstream.responses", "Responses sent to clients"),
            heartbeats: counter("weir.downstream.heartbeats", "Responses that told clients what lives on"),
            acks: counter("weir.downstream.acks", "Responses that clients accepted"),
            nacks: counter("weir.downstream.nacks", "Responses that clients rejected"),
            refused: counter("weir.downstream.refused", "Streams ended because of what the client asked for"),
        }
    }

    /// A client has connected.
    pub(crate) fn connected(&self) {
        self.connections.add(1, &[]);
    }

    pub(crate) fn disconnected(&self) {
        self.connections.add(-1, &[]);
    }

    /// A client was asked to connect anew.
    pub(crate) fn moved(&self, reason: Reason) {
        self.moved.add(1, &[KeyValue::new("reason", reason.as_str())]);
    }

    /// A stream of a service, or a poll, which is of none.
    pub(crate) fn opened(&self, speech: impl Into<Speech>, service: Option<&Service>) {
        self.streams.add(1, &stream_labels(speech, service));
    }

    pub(crate) fn closed(&self, speech: impl Into<Speech>, service: Option<&Service>) {
        self.streams.add(-1, &stream_labels(speech, service));
    }

    pub(crate) fn request(&self, speech: impl Into<Speech>) {
        self.requests.add(1, &[speech_label(speech)]);
    }

    pub(crate) fn response(&self, speech: impl Into<Speech>, type_url: &TypeUrl) {
        self.responses.add(1, &[speech_label(speech), type_label(type_url)]);
    }

    /// A response that says what lives on.
    pub(crate) fn heartbeat(&self, speech: impl Into<Speech>, type_url: &TypeUrl) {
        self.heartbeats.add(1, &[speech_label(speech), type_label(type_url)]);
    }

    pub(crate) fn ack(&self, speech: impl Into<Speech>, type_url: &TypeUrl) {
        self.acks.add(1, &[speech_label(speech), type_label(type_url)]);
    }

    pub(crate) fn nack(&self, speech: impl Into<Speech>, type_url: &TypeUrl) {
        self.nacks.add(1, &[speech_label(speech), type_label(type_url)]);
    }

    pub(crate) fn refused(&self, speech: impl Into<Speech>) {
        self.refused.add(1, &[speech_label(speech)]);
    }
}

fn observe(meter: &Meter, database: &Database) {
    let (database, other) = (database.clone(), database.clone());
    let _registered = meter
        .u64_observable_counter("weir.database.expired")
        .with_description("Resources that upstream did not refresh within their time to live")
        .with_callback(move |observer| observer.observe(other.expired(), &[]))
        .build();
    let _registered = meter
        .u64_observable_counter("weir.database.ambiguous_matches")
        .with_description("Parameter sets found to match more than one variant of a name")
        .with_callback(move |observer| observer.observe(database.ambiguities(), &[]))
        .build();
}

fn stream_labels(speech: impl Into<Speech>, service: Option<&Service>) -> [KeyValue; 3] {
    let (service, transport) =
        service.map_or(("rest", "v3"), |service| (service.short_name(), service.version.as_str()));
    [speech_label(speech), KeyValue::new("service", service), KeyValue::new("transport", transport)]
}

fn speech_label(speech: impl Into<Speech>) -> KeyValue {
    KeyValue::new("dialect", speech.into().0)
}

fn type_label(type_url: &TypeUrl) -> KeyValue {
    KeyValue::new("type", type_url.short_name())
}
