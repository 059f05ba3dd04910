//! What kinds of clients get.

use serde::Serialize;

use crate::values::ColdStart;

/// By kind of client.
#[derive(Clone, Copy, Debug, Serialize)]
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
