//! Telemetry: logs, metrics and traces of a running Weir.
//!
//! Owns the process-wide subscriber of `tracing`, and the process-wide providers and the propagator of OpenTelemetry. The
//! other crates only use `tracing` and `opentelemetry::global`, and work as well without any of this. Never
//! opens a port: the server of the metrics calls [`Metrics::render`].

mod collector;
mod environment;
mod error;
mod exporter_health;
mod level;
mod limiter;
mod lines;
mod logs;
mod metrics;
mod panics;
mod printable;
mod process;
mod queue;

pub use collector::Telemetry;
pub use error::TelemetryError;
pub use level::{ChosenBy, FilterError, LogLevel};
pub use logs::{LogError, install_logs};
pub use metrics::{Metrics, MetricsError};
pub use printable::printable;
pub use queue::flush;
