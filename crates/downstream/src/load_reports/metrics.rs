//! What is counted of streams of load reports.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, UpDownCounter};
use tonic::Code;
use weir_types::Code as Named;

/// The side that sends a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sender {
    Client,
    ControlPlane,
}

/// The instruments.
pub(super) struct LoadMetrics {
    streams: UpDownCounter<i64>,
    messages: Counter<u64>,
    size: Counter<u64>,
    ends: Counter<u64>,
}

impl LoadMetrics {
    pub(super) fn new() -> Self {
        Self {
            streams: weir_metrics::LOAD_REPORTS_STREAMS.up_down_counter(),
            messages: weir_metrics::LOAD_REPORTS_MESSAGES.counter(),
            size: weir_metrics::LOAD_REPORTS_SIZE.counter(),
            ends: weir_metrics::LOAD_REPORTS_ENDS.counter(),
        }
    }

    pub(super) fn opened(&self) {
        self.streams.add(1, &[]);
    }

    pub(super) fn ended(&self, code: Code) {
        self.streams.add(-1, &[]);
        self.ends.add(1, &[KeyValue::new("code", Named(code as i32).as_str())]);
    }

    /// A message is passed on.
    pub(super) fn passed(&self, sender: Sender, bytes: usize) {
        let sender = match sender {
            Sender::Client => "client",
            Sender::ControlPlane => "control_plane",
        };
        let labels = [KeyValue::new("sender", sender)];
        self.messages.add(1, &labels);
        self.size.add(bytes as u64, &labels);
    }
}
