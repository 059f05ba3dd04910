//! Health of an exporter: logged once when it changes. The libraries report each attempt.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// An exporter whose failures are logged here.
#[derive(Debug)]
pub(crate) struct MonitoredExporter<E> {
    exporter: E,
    /// The signal: `traces`, `metrics`.
    what: &'static str,
    endpoint: String,
    standing: Standing,
}

impl<E> MonitoredExporter<E> {
    pub(crate) fn new(exporter: E, what: &'static str, endpoint: &str) -> Self {
        Self { exporter, what, endpoint: endpoint.to_owned(), standing: Standing::default() }
    }

    /// The outcome, as the library may see it: without the logging above.
    fn note(&self, outcome: OTelSdkResult) -> OTelSdkResult {
        let Self { what, endpoint, .. } = self;
        match (self.standing.turn(outcome.is_err()), outcome) {
            (Some(Turn::Lost), Err(error)) => {
                tracing::warn!(what, endpoint, reason = %error, "OTLP export failing; telemetry is being dropped");
            }
            (Some(Turn::Back), _) => tracing::info!(what, endpoint, "OTLP export resumed"),
            _ => {}
        }
        Ok(())
    }
}

/// Whether the last attempt failed.
#[derive(Debug, Default)]
struct Standing(AtomicBool);

/// That it is not as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Lost,
    Back,
}

impl Standing {
    fn turn(&self, fails: bool) -> Option<Turn> {
        match (self.0.swap(fails, Ordering::Relaxed), fails) {
            (false, true) => Some(Turn::Lost),
            (true, false) => Some(Turn::Back),
            _ => None,
        }
    }
}

impl<E: SpanExporter> SpanExporter for MonitoredExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.note(self.exporter.export(batch).await)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl<E: PushMetricExporter> PushMetricExporter for MonitoredExporter<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.note(self.exporter.export(metrics).await)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_logged() {
        let standing = Standing::default();
        let turns = [false, true, true, false, false, true].map(|fails| standing.turn(fails));
        assert_eq!(turns, [None, Some(Turn::Lost), None, Some(Turn::Back), None, Some(Turn::Lost)]);
    }
}
