//! What is counted of clients. Labels are bounded: never a node id, never a resource name.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, UpDownCounter};
use weir_tls::HandshakeError;
use weir_types::{Dialect, TypeUrl};
use weir_wire::services::Service;

use crate::admission::Shortage;
use crate::drain::Reason;

/// The dialect of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Speech {
    Sotw,
    Delta,
    /// REST-JSON.
    Rest,
}

impl Speech {
    pub(crate) const ALL: [Self; 3] = [Self::Sotw, Self::Delta, Self::Rest];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Sotw => Dialect::Sotw.as_str(),
            Self::Delta => Dialect::Delta.as_str(),
            Self::Rest => "rest",
        }
    }

    pub(crate) fn label(self) -> KeyValue {
        KeyValue::new("dialect", self.as_str())
    }
}

impl From<Dialect> for Speech {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Sotw => Self::Sotw,
            Dialect::Delta => Self::Delta,
        }
    }
}

/// The instruments of this crate.
pub(crate) struct Metrics {
    connections: UpDownCounter<i64>,
    turned_away: Counter<u64>,
    moved: Counter<u64>,
    streams: UpDownCounter<i64>,
    admitted: Counter<u64>,
    refused: Counter<u64>,
    denied: Counter<u64>,
    nodes_refused: Counter<u64>,
    closed_cold: Counter<u64>,
    stalled: Counter<u64>,
    removal_timeouts: Counter<u64>,
    warming_timeouts: Counter<u64>,
    first_response_timeouts: Counter<u64>,
    handshakes: Counter<u64>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            connections: weir_metrics::DOWNSTREAM_CONNECTIONS.up_down_counter(),
            turned_away: weir_metrics::DOWNSTREAM_ADMISSION_REJECTIONS.counter(),
            moved: weir_metrics::DOWNSTREAM_RECONNECTS_REQUESTED.counter(),
            streams: weir_metrics::DOWNSTREAM_STREAMS.up_down_counter(),
            admitted: weir_metrics::DOWNSTREAM_ADMITTED.counter(),
            refused: weir_metrics::DOWNSTREAM_STREAMS_REJECTED.counter(),
            denied: weir_metrics::DOWNSTREAM_DENIED.counter(),
            nodes_refused: weir_metrics::DOWNSTREAM_NODES_REFUSED.counter(),
            closed_cold: weir_metrics::DOWNSTREAM_CLOSED_UNAVAILABLE.counter(),
            stalled: weir_metrics::DOWNSTREAM_STALLED.counter(),
            removal_timeouts: weir_metrics::DOWNSTREAM_REMOVAL_TIMEOUTS.counter(),
            warming_timeouts: weir_metrics::DOWNSTREAM_WARMING_TIMEOUTS.counter(),
            first_response_timeouts: weir_metrics::DOWNSTREAM_FIRST_RESPONSE_TIMEOUTS.counter(),
            handshakes: weir_metrics::DOWNSTREAM_HANDSHAKES.counter(),
        }
    }

    /// A TLS handshake is over, and why it came to nothing if it did.
    pub(crate) fn shaken(&self, error: Option<&HandshakeError>) {
        let outcome = match error {
            None => "accepted",
            Some(HandshakeError::Timeout(_)) => "late",
            Some(HandshakeError::Failed(_)) => "rejected",
        };
        self.handshakes.add(1, &[KeyValue::new("outcome", outcome)]);
    }

    /// A TLS handshake has made room for another one.
    pub(crate) fn evicted(&self) {
        self.handshakes.add(1, &[KeyValue::new("outcome", "evicted")]);
    }

    /// A client has connected.
    pub(crate) fn connected(&self) {
        self.connections.add(1, &[]);
    }

    pub(crate) fn disconnected(&self) {
        self.connections.add(-1, &[]);
    }

    /// There was no room for a connection or a stream.
    pub(crate) fn turned_away(&self, shortage: Shortage) {
        self.turned_away.add(1, &[KeyValue::new("reason", shortage.as_str())]);
    }

    /// A client was asked to connect anew.
    pub(crate) fn moved(&self, reason: Reason) {
        self.moved.add(1, &[KeyValue::new("reason", reason.as_str())]);
    }

    /// A stream of a service, or a poll, which is of none.
    pub(crate) fn opened(&self, speech: impl Into<Speech>, service: Option<&Service>) {
        let labels = stream_labels(speech, service);
        self.streams.add(1, &labels);
        self.admitted.add(1, &labels);
    }

    pub(crate) fn closed(&self, speech: impl Into<Speech>, service: Option<&Service>) {
        self.streams.add(-1, &stream_labels(speech, service));
    }

    /// A client that does not read is cut off.
    pub(crate) fn stalled(&self) {
        self.stalled.add(1, &[]);
    }

    /// A stream is closed, since nothing that it asks for is cached and there is nobody to ask.
    pub(crate) fn closed_cold(&self, speech: impl Into<Speech>) {
        self.closed_cold.add(1, &[speech.into().label()]);
    }

    /// A first response has waited for names for long enough.
    pub(crate) fn first_response_timeout(&self, speech: impl Into<Speech>) {
        self.first_response_timeouts.add(1, &[speech.into().label()]);
    }

    /// Listeners and routes no longer wait for clusters.
    pub(crate) fn warming_timeout(&self, speech: impl Into<Speech>) {
        self.warming_timeouts.add(1, &[speech.into().label()]);
    }

    /// A client is sent removals of what it has not given up by name in time.
    pub(crate) fn removal_timeout(&self, speech: impl Into<Speech>) {
        self.removal_timeouts.add(1, &[speech.into().label()]);
    }

    /// A request asks for so many names that its client may not have.
    pub(crate) fn denied(&self, type_url: &TypeUrl, count: usize) {
        self.denied.add(count as u64, &[KeyValue::new("type", type_url.short_name())]);
    }

    /// A node is not forwarded.
    pub(crate) fn node_refused(&self, reason: &'static str) {
        self.nodes_refused.add(1, &[KeyValue::new("reason", reason)]);
    }

    pub(crate) fn refused(&self, speech: impl Into<Speech>) {
        self.refused.add(1, &[speech.into().label()]);
    }
}

fn stream_labels(speech: impl Into<Speech>, service: Option<&Service>) -> [KeyValue; 3] {
    let (service, transport) =
        service.map_or(("rest", "v3"), |service| (service.short_name(), service.version.as_str()));
    [speech.into().label(), KeyValue::new("service", service), KeyValue::new("transport", transport)]
}
