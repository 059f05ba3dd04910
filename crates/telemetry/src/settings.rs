//! Settings of exports to a collector.

use std::collections::BTreeMap;

/// The protocol of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over gRPC.
    Grpc,
    /// OTLP as protobuf over HTTP.
    #[default]
    HttpProtobuf,
}

impl Protocol {
    pub(crate) const ALL: [Self; 2] = [Self::Grpc, Self::HttpProtobuf];

    /// As the specification of OpenTelemetry spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::HttpProtobuf => "http/protobuf",
        }
    }

    /// Where a collector is by convention.
    pub(crate) fn local(self) -> &'static str {
        match self {
            Self::Grpc => "http://localhost:4317",
            Self::HttpProtobuf => "http://localhost:4318",
        }
    }
}

/// What is exported to a collector, unless the environment overrides it (`OTEL_*`).
#[derive(Clone, Debug)]
pub struct Collector {
    /// The endpoint; none where nothing is exported.
    pub endpoint: Option<String>,
    /// In which protocol.
    pub protocol: Protocol,
    /// Whether traces are exported.
    pub traces: bool,
    /// Whether metrics are exported.
    pub metrics: bool,
    /// The share of traces that are exported, of those that begin here: 0 to 1. A span of a foreign trace follows its parent.
    pub sample_ratio: f64,
    /// `service.name`
    pub service_name: String,
    /// Further attributes of the resource.
    pub attributes: BTreeMap<String, String>,
}

impl Default for Collector {
    fn default() -> Self {
        Self {
            endpoint: None,
            protocol: Protocol::default(),
            traces: true,
            metrics: true,
            sample_ratio: 0.01,
            service_name: "weir".to_owned(),
            attributes: BTreeMap::new(),
        }
    }
}
