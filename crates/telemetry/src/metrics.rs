//! Metrics: what is counted through `opentelemetry::global`, in the text format of Prometheus.

use std::time::Duration;

use opentelemetry::global;
use opentelemetry_otlp::MetricExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use prometheus::{Registry, TextEncoder};

use crate::exporter_health::MonitoredExporter;

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The exporter does not start.
    #[error("start the metrics exporter: {0}")]
    Exporter(#[from] OTelSdkError),
    /// What was counted cannot be written.
    #[error("render metrics: {0}")]
    Render(#[from] prometheus::Error),
}

/// Everything that is counted in this process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    provider: Option<SdkMeterProvider>,
}

impl Metrics {
    /// Makes this the place where meters of `opentelemetry::global` count. Instruments made before are lost.
    pub fn install() -> Result<Self, MetricsError> {
        Self::install_for(&Resource::builder().build(), None)
    }

    /// As [`Self::install`], of `resource`, and for a collector too.
    pub(crate) fn install_for(
        resource: &Resource,
        collector: Option<PeriodicReader<MonitoredExporter<MetricExporter>>>,
    ) -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let exporter = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .without_target_info()
            .scope_info_enabled(false)
            .build()?;
        let mut provider = SdkMeterProvider::builder().with_reader(exporter).with_resource(resource.clone());
        if let Some(collector) = collector {
            provider = provider.with_reader(collector);
        }
        let provider = provider.build();
        global::set_meter_provider(provider.clone());
        crate::process::observe();
        Ok(Self { registry, provider: Some(provider) })
    }

    /// Nothing is counted.
    pub(crate) fn disabled() -> Self {
        Self { registry: Registry::new(), provider: None }
    }

    /// The current values, as Prometheus reads them.
    pub fn render(&self) -> Result<String, MetricsError> {
        Ok(TextEncoder::new().encode_to_string(&self.registry.gather())?)
    }

    /// Exports the last values, and stops counting.
    pub(crate) fn shut_down(&self, within: Duration) -> OTelSdkResult {
        self.provider.as_ref().map_or(Ok(()), |provider| provider.shutdown_with_timeout(within))
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::KeyValue;

    use super::*;

    #[test]
    fn what_is_counted_globally_is_rendered() {
        let metrics = Metrics::install().unwrap();
        assert!(metrics.render().unwrap().contains("process_memory_usage_bytes "));
        let counter = global::meter("weir").u64_counter("weir_nacks").with_description("Rejections").build();
        counter.add(2, &[KeyValue::new("type", "cds")]);
        let text = metrics.render().unwrap();
        assert!(text.contains("# HELP weir_nacks_total Rejections\n"), "{text}");
        assert!(text.contains("weir_nacks_total{type=\"cds\"} 2\n"), "{text}");
    }
}
