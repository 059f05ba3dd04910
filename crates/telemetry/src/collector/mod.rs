//! Exports over OTLP: traces, and metrics beside those that Prometheus fetches.

mod client;

use std::time::Duration;

use opentelemetry::{KeyValue, global};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::PeriodicReader;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use weir_config::CollectorProtocol;

use self::client::Client;
use crate::environment::{Environment, Signal, Target};
use crate::error::TelemetryError;
use crate::exporter_health::MonitoredExporter;
use crate::metrics::Metrics;

/// How long final OTLP export failed may take.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The telemetry of this process, until [`Self::shut_down`].
#[derive(Debug)]
pub struct Telemetry {
    metrics: Metrics,
    tracer: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Has `opentelemetry::global` send its metrics and spans where `configured` and the environment have them go.
    /// Instruments made before are lost. Nothing is traced where no collector is configured.
    ///
    /// To be called in a tokio runtime.
    ///
    /// # Errors
    /// When a variable, or an endpoint, is not as it should be.
    pub fn install(configured: &weir_config::Telemetry) -> Result<Self, TelemetryError> {
        let environment = Environment::of_process();
        if environment.is_disabled() {
            return Ok(Self { metrics: Metrics::disabled(), tracer: None });
        }
        let resource = resource(configured, &environment);
        let metrics = environment.target(Signal::Metrics, configured)?;
        let reader = metrics.map(|target| target.metrics()).transpose()?;
        let metrics = Metrics::install_for(
            &resource,
            reader.map(|exporter| PeriodicReader::builder(exporter).build()),
        )?;
        let traces = environment.target(Signal::Traces, configured)?;
        let exporter = traces.map(|target| target.traces()).transpose()?;
        let tracer = exporter.map(|exporter| {
            let mut provider =
                SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource);
            // Else the SDK reads the variable.
            if environment.get("OTEL_TRACES_SAMPLER").is_none() {
                let ratio = Sampler::TraceIdRatioBased(configured.sample_ratio.get());
                provider = provider.with_sampler(Sampler::ParentBased(Box::new(ratio)));
            }
            let provider = provider.build();
            global::set_tracer_provider(provider.clone());
            if environment.propagates() {
                global::set_text_map_propagator(TraceContextPropagator::new());
            }
            provider
        });
        Ok(Self { metrics, tracer })
    }

    /// Everything that is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Exports what is left, and nothing more after that. Blocks for a few seconds at most:
    /// not to be called in a task, but while their runtime runs.
    pub fn shut_down(&self) {
        let tracer = self.tracer.iter().map(|tracer| tracer.shutdown_with_timeout(LAST_WORDS));
        for error in tracer.chain([self.metrics.shut_down(LAST_WORDS)]).filter_map(Result::err) {
            tracing::debug!(%error, "final OTLP export failed");
        }
    }
}

/// The resource that all telemetry carries. The environment overrides the rest.
fn resource(
    configured: &weir_config::Telemetry,
    environment: &Environment<fn(&str) -> Option<String>>,
) -> Resource {
    let attribute = |(key, value): (&String, &String)| KeyValue::new(key.clone(), value.clone());
    let mut builder = Resource::builder()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("process.pid", i64::from(std::process::id())))
        .with_attribute(KeyValue::new(
            "host.name",
            rustix::system::uname().nodename().to_string_lossy().into_owned(),
        ))
        .with_attributes(configured.resource_attributes.iter().map(attribute));
    if !environment.names_service() {
        builder = builder.with_service_name(configured.service_name.as_str().to_owned());
    }
    builder.with_detector(Box::new(EnvResourceDetector::new())).build()
}

impl Target {
    fn traces(&self) -> Result<MonitoredExporter<SpanExporter>, TelemetryError> {
        let builder = SpanExporter::builder();
        let built = match self.protocol {
            CollectorProtocol::Grpc => self.addressed(builder.with_tonic()).build(),
            CollectorProtocol::HttpProtobuf => self.over_http(builder.with_http()).build(),
        };
        self.monitored("traces", built)
    }

    fn metrics(&self) -> Result<MonitoredExporter<MetricExporter>, TelemetryError> {
        let builder = MetricExporter::builder();
        let built = match self.protocol {
            CollectorProtocol::Grpc => self.addressed(builder.with_tonic()).build(),
            CollectorProtocol::HttpProtobuf => self.over_http(builder.with_http()).build(),
        };
        self.monitored("metrics", built)
    }

    fn monitored<E>(
        &self,
        what: &'static str,
        built: Result<E, ExporterBuildError>,
    ) -> Result<MonitoredExporter<E>, TelemetryError> {
        let exporter = built.map_err(|source| self.failed(source))?;
        Ok(MonitoredExporter::new(exporter, what, &self.endpoint))
    }

    fn addressed<B: WithExportConfig>(&self, builder: B) -> B {
        builder.with_endpoint(&self.endpoint).with_timeout(self.timeout)
    }

    fn over_http<B: WithExportConfig + WithHttpConfig>(&self, builder: B) -> B {
        self.addressed(builder.with_http_client(Client::new(self.timeout)))
    }

    fn failed(&self, source: ExporterBuildError) -> TelemetryError {
        TelemetryError::Exporter { endpoint: self.endpoint.clone(), source }
    }
}
