//! `[telemetry]`

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::findings::Findings;
use crate::sections::Section;
use crate::values::{CollectorEndpoint, CollectorProtocol, NonEmptyString, PositiveDuration, Ratio, text};

/// Traces and metrics for an OTLP collector.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Telemetry {
    /// The collector; nothing is exported without one.
    #[serde(with = "text")]
    pub endpoint: Option<CollectorEndpoint>,
    /// The protocol of the collector.
    pub protocol: CollectorProtocol,
    /// Whether traces are exported.
    pub traces: bool,
    /// Whether metrics are exported.
    pub metrics: bool,
    /// How many of the traces that begin here are exported.
    pub sample_ratio: Ratio,
    /// The name of this service.
    pub service_name: NonEmptyString,
    /// More attributes of this service.
    pub resource_attributes: BTreeMap<String, String>,
    /// How long the answers of clients to a change are waited for.
    pub propagation_deadline: PositiveDuration,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            endpoint: None,
            protocol: CollectorProtocol::default(),
            traces: true,
            metrics: true,
            sample_ratio: Ratio::percent::<1>(),
            service_name: NonEmptyString::weir(),
            resource_attributes: BTreeMap::new(),
            propagation_deadline: PositiveDuration::seconds::<30>(),
        }
    }
}

impl Section for Telemetry {
    fn check(&self, findings: &mut Findings) {
        if self.resource_attributes.contains_key("") {
            findings.add("resource_attributes", "must have names that are not empty (got \"\")");
        }
        let encrypted = self.endpoint.as_ref().map(CollectorEndpoint::as_str);
        if let Some(endpoint) = encrypted.filter(|endpoint| endpoint.starts_with("https:"))
            && self.protocol == CollectorProtocol::HttpProtobuf
        {
            let message = format!(
                "needs protocol = \"grpc\": TLS to a collector is not supported over HTTP (got {endpoint:?})"
            );
            findings.add("endpoint", message);
        }
    }
}
