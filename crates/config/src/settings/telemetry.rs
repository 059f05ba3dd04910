//! What is told to collectors.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::values::CollectorProtocol;
use crate::written::written;

/// What is told to a collector of traces and metrics, over OTLP.
#[derive(Clone, Debug, Serialize)]
pub struct Telemetry {
    /// Where it is; none where nothing is told.
    pub endpoint: Option<String>,
    /// In which protocol.
    pub protocol: CollectorProtocol,
    /// Whether it is told traces.
    pub traces: bool,
    /// Whether it is told metrics.
    pub metrics: bool,
    /// How many of the traces that begin here are told: 0 to 1.
    pub sample_ratio: f64,
    /// What this service is called; not empty.
    pub service_name: String,
    /// More about it.
    pub resource_attributes: BTreeMap<String, String>,
    /// How long it is followed whether clients accept a change; not zero.
    #[serde(serialize_with = "written")]
    pub propagation_deadline: Duration,
}
