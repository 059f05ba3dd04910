//! Errors of the exporters.

use opentelemetry_otlp::ExporterBuildError;

use crate::metrics::MetricsError;

/// Why telemetry cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A variable of the environment.
    #[error("{variable}={value:?}: {wanted}")]
    Variable {
        /// Which one.
        variable: String,
        /// What it holds.
        value: String,
        /// What it should hold.
        wanted: &'static str,
    },
    /// An endpoint that cannot be reached as it should be.
    #[error("{0}: TLS to a collector needs protocol = \"grpc\"")]
    Encrypted(String),
    /// There is no exporter for an endpoint.
    #[error("export to {endpoint}: {source}")]
    Exporter {
        /// Which one.
        endpoint: String,
        /// What is wrong.
        source: ExporterBuildError,
    },
    /// There are no metrics.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
}
