//! `[downstream.cold_start]`

use serde::{Deserialize, Serialize};

use crate::values::ColdStart;

/// By kind of client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ColdStarts {
    /// Envoys.
    pub envoy: ColdStart,
    /// gRPC's own clients.
    pub grpc: ColdStart,
    /// Other Weirs.
    pub weir: ColdStart,
    /// All others.
    pub other: ColdStart,
}

impl Default for ColdStarts {
    fn default() -> Self {
        use ColdStart::{Close, Hold};
        Self { envoy: Hold, grpc: Close, weir: Close, other: Hold }
    }
}
