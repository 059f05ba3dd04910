//! The keys of streams, and of polls.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::values::{Count, LoadReports, PositiveDuration, Transport, text};

/// How requests and responses are exchanged with a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Exchange {
    /// Over gRPC streams.
    Streaming(Streaming),
    /// By polls.
    Polling(Polling),
}

impl Exchange {
    /// Whether load reports of clients are passed on.
    pub fn relays_load_reports(&self) -> bool {
        matches!(self, Self::Streaming(streaming) if streaming.load_reports == LoadReports::Relay)
    }
}

/// Streams of a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Streaming {
    /// The generation of the API whose names the services have.
    pub transport: Transport,
    /// How often an idle connection is pinged.
    pub keepalive_interval: PositiveDuration,
    /// How long the answer to a ping may take.
    pub keepalive_timeout: PositiveDuration,
    /// Whether the node goes with the first request of a stream only.
    pub node_on_first_message_only: bool,
    /// How many streams share a connection at most.
    pub streams_per_connection: Count,
    /// What becomes of the load reports of clients; passed on to one upstream at most.
    pub load_reports: LoadReports,
}

impl Default for Streaming {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            keepalive_interval: PositiveDuration::seconds::<30>(),
            keepalive_timeout: PositiveDuration::seconds::<10>(),
            node_on_first_message_only: true,
            streams_per_connection: Count::of::<100>(),
            load_reports: LoadReports::default(),
        }
    }
}

/// Polls of a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Polling {
    /// How long to wait after an answer before the next poll.
    pub refresh_interval: PositiveDuration,
    /// How much longer at most, by chance.
    #[serde(with = "text")]
    pub refresh_jitter: Duration,
    /// How long an answer may take. The control plane is sent this, so that it can hold its answer back until there is
    /// something new.
    pub request_timeout: PositiveDuration,
}

impl Default for Polling {
    fn default() -> Self {
        Self {
            refresh_interval: PositiveDuration::seconds::<5>(),
            refresh_jitter: Duration::from_millis(500),
            request_timeout: PositiveDuration::seconds::<15>(),
        }
    }
}
