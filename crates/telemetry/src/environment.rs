//! The environment variables of OpenTelemetry: as its specification requires, they override the configuration.
//!
//! Owns where each signal goes. Samplers, limits, batching, headers and resource attributes have variables too; the
//! SDK reads those itself.

use std::time::Duration;

use weir_config::{CollectorEndpoint, CollectorProtocol, Telemetry};

use crate::error::TelemetryError;

/// How long a collector may take, unless a variable overrides it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of the exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Traces,
    Metrics,
}

impl Signal {
    fn variable(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
        }
    }

    /// Below an endpoint that is for all signals.
    fn path(self) -> &'static str {
        match self {
            Self::Traces => "v1/traces",
            Self::Metrics => "v1/metrics",
        }
    }
}

/// Where a signal goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) endpoint: String,
    pub(crate) protocol: CollectorProtocol,
    pub(crate) timeout: Duration,
}

/// Where a collector is by convention.
fn local(protocol: CollectorProtocol) -> &'static str {
    match protocol {
        CollectorProtocol::Grpc => "http://localhost:4317",
        CollectorProtocol::HttpProtobuf => "http://localhost:4318",
    }
}

/// The variables that are set. Empty ones are not, by the specification.
pub(crate) struct Environment<F>(F);

impl Environment<fn(&str) -> Option<String>> {
    /// That of this process.
    pub(crate) fn of_process() -> Self {
        Self(|name| std::env::var(name).ok())
    }
}

impl<F: Fn(&str) -> Option<String>> Environment<F> {
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// Of a signal, or else of all.
    fn of_signal(&self, signal: Signal, what: &str) -> Option<(String, String)> {
        let names = [
            format!("OTEL_EXPORTER_OTLP_{}_{what}", signal.variable()),
            format!("OTEL_EXPORTER_OTLP_{what}"),
        ];
        names.into_iter().find_map(|name| self.get(&name).map(|value| (name, value)))
    }

    /// Whether all exports are disabled.
    pub(crate) fn is_disabled(&self) -> bool {
        self.get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Whether traces go on in other processes.
    pub(crate) fn propagates(&self) -> bool {
        let named = self.get("OTEL_PROPAGATORS");
        named.is_none_or(|named| named.split(',').any(|name| name.trim() == "tracecontext"))
    }

    /// Whether the service has a name already.
    pub(crate) fn names_service(&self) -> bool {
        let attributes = self.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let named = attributes.split(',').any(|pair| pair.trim().starts_with("service.name="));
        self.get("OTEL_SERVICE_NAME").is_some() || named
    }

    /// Where a signal goes; none where it goes nowhere.
    pub(crate) fn target(
        &self,
        signal: Signal,
        configured: &Telemetry,
    ) -> Result<Option<Target>, TelemetryError> {
        let specific = self.get(&format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.variable()));
        let key = configured.endpoint.as_ref().map(CollectorEndpoint::as_str);
        let general = self.get("OTEL_EXPORTER_OTLP_ENDPOINT").or_else(|| key.map(str::to_owned));
        let wanted = match signal {
            Signal::Traces => configured.traces,
            Signal::Metrics => configured.metrics,
        };
        let named = specific.is_some() || general.is_some();
        if !self.exporter(signal).unwrap_or(wanted && named) {
            return Ok(None);
        }
        let protocol = self.protocol(signal)?.unwrap_or(configured.protocol);
        let general = general.unwrap_or_else(|| local(protocol).to_owned());
        let endpoint = match (specific, protocol) {
            (Some(endpoint), _) => endpoint,
            (None, CollectorProtocol::Grpc) => general,
            (None, CollectorProtocol::HttpProtobuf) => {
                format!("{}/{}", general.trim_end_matches('/'), signal.path())
            }
        };
        if protocol == CollectorProtocol::HttpProtobuf && endpoint.starts_with("https:") {
            return Err(TelemetryError::Encrypted(endpoint));
        }
        Ok(Some(Target { endpoint, protocol, timeout: self.timeout(signal)? }))
    }

    /// Whether a variable has the signal exported. Prometheus is served in any case.
    fn exporter(&self, signal: Signal) -> Option<bool> {
        let name = format!("OTEL_{}_EXPORTER", signal.variable());
        let value = self.get(&name)?;
        let mut known = value.split(',').map(str::trim).filter(|exporter| {
            let known = ["otlp", "none", "prometheus", "console"].contains(exporter);
            if !known {
                tracing::warn!(variable = name, exporter, "unknown exporter");
            }
            known
        });
        let first = known.next()?;
        Some(first == "otlp" || known.any(|exporter| exporter == "otlp"))
    }

    fn protocol(&self, signal: Signal) -> Result<Option<CollectorProtocol>, TelemetryError> {
        let Some((variable, value)) = self.of_signal(signal, "PROTOCOL") else { return Ok(None) };
        match &*value {
            "grpc" => Ok(Some(CollectorProtocol::Grpc)),
            "http/protobuf" => Ok(Some(CollectorProtocol::HttpProtobuf)),
            _ => Err(TelemetryError::Variable {
                variable,
                value,
                wanted: "allowed are grpc and http/protobuf",
            }),
        }
    }

    /// In milliseconds.
    fn timeout(&self, signal: Signal) -> Result<Duration, TelemetryError> {
        let Some((variable, value)) = self.of_signal(signal, "TIMEOUT") else { return Ok(TIMEOUT) };
        match value.parse() {
            Ok(milliseconds) => Ok(Duration::from_millis(milliseconds)),
            Err(_) => {
                Err(TelemetryError::Variable { variable, value, wanted: "it is a number of milliseconds" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn environment(
        set: &[(&'static str, &'static str)],
    ) -> Environment<impl Fn(&str) -> Option<String> + use<>> {
        let set: HashMap<_, _> = set.iter().copied().collect();
        Environment(move |name: &str| set.get(name).map(|value| (*value).to_owned()))
    }

    fn configured(endpoint: Option<&str>) -> Telemetry {
        let endpoint = endpoint.map(|endpoint| endpoint.parse().unwrap());
        Telemetry { endpoint, ..Telemetry::default() }
    }

    fn endpoint(set: &[(&'static str, &'static str)], key: Option<&str>, signal: Signal) -> Option<String> {
        environment(set).target(signal, &configured(key)).unwrap().map(|target| target.endpoint)
    }

    #[test]
    fn a_signal_goes_where_a_variable_or_the_configuration_sends_it() {
        const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        let key = Some("http://key:4318");
        for (set, key, traces, metrics) in [
            (&[][..], None, None, None),
            (&[], key, Some("http://key:4318/v1/traces"), Some("http://key:4318/v1/metrics")),
            (&[(ALL, "http://all:1/")], key, Some("http://all:1/v1/traces"), Some("http://all:1/v1/metrics")),
            (&[(TRACES, "http://only:1/x")], None, Some("http://only:1/x"), None),
            (&[(ALL, "")], None, None, None),
            (&[("OTEL_TRACES_EXPORTER", "none")], key, None, Some("http://key:4318/v1/metrics")),
            (&[("OTEL_METRICS_EXPORTER", "prometheus")], key, Some("http://key:4318/v1/traces"), None),
            (&[("OTEL_TRACES_EXPORTER", "otlp")], None, Some("http://localhost:4318/v1/traces"), None),
            (
                &[("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
                None,
                Some("http://localhost:4317"),
                None,
            ),
            (&[("OTEL_TRACES_EXPORTER", "zipkin")], None, None, None),
        ] {
            assert_eq!(endpoint(set, key, Signal::Traces).as_deref(), traces, "{set:?}");
            assert_eq!(endpoint(set, key, Signal::Metrics).as_deref(), metrics, "{set:?}");
        }
    }

    #[test]
    fn the_variable_of_a_signal_comes_before_that_of_all() {
        let set = [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "200"),
        ];
        let target = |signal| {
            let target = environment(&set).target(signal, &configured(Some("http://x:1"))).unwrap().unwrap();
            (target.protocol, target.timeout.as_millis())
        };
        assert_eq!(target(Signal::Traces), (CollectorProtocol::Grpc, 200));
        assert_eq!(target(Signal::Metrics), (CollectorProtocol::HttpProtobuf, 1500));
    }

    #[test]
    fn an_invalid_variable_is_named() {
        for (set, key, error) in [
            (
                &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")][..],
                "http://x:1",
                "OTEL_EXPORTER_OTLP_PROTOCOL=\"http/json\": allowed are grpc and http/protobuf",
            ),
            (
                &[("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "10s")],
                "http://x:1",
                "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=\"10s\": it is a number of milliseconds",
            ),
            (&[], "https://x:1", "https://x:1/v1/traces: TLS to a collector needs protocol = \"grpc\""),
        ] {
            let refused = environment(set).target(Signal::Traces, &configured(Some(key))).unwrap_err();
            assert_eq!(refused.to_string(), error);
        }
    }

    #[test]
    fn switches_are_read_as_specified() {
        for (value, disabled) in [("true", true), ("TRUE", true), ("1", false), ("", false)] {
            assert_eq!(environment(&[("OTEL_SDK_DISABLED", value)]).is_disabled(), disabled, "{value}");
        }
        for (value, propagates) in [("", true), ("b3, tracecontext", true), ("none", false), ("b3", false)] {
            assert_eq!(environment(&[("OTEL_PROPAGATORS", value)]).propagates(), propagates, "{value}");
        }
        assert!(environment(&[("OTEL_RESOURCE_ATTRIBUTES", "a=b, service.name=c")]).names_service());
        assert!(environment(&[("OTEL_SERVICE_NAME", "c")]).names_service());
        assert!(!environment(&[("OTEL_RESOURCE_ATTRIBUTES", "service.namespace=c")]).names_service());
    }
}
