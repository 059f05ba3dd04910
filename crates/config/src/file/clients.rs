//! What kinds of clients get.

use serde::Deserialize;

use crate::settings::ColdStarts as Settings;
use crate::values::ColdStart;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ColdStarts {
    pub(crate) envoy: ColdStart,
    pub(crate) grpc: ColdStart,
    pub(crate) weir: ColdStart,
    pub(crate) other: ColdStart,
}

impl Default for ColdStarts {
    fn default() -> Self {
        use ColdStart::{Close, Hold};
        Self { envoy: Hold, grpc: Close, weir: Close, other: Hold }
    }
}

impl From<ColdStarts> for Settings {
    fn from(file: ColdStarts) -> Self {
        let ColdStarts { envoy, grpc, weir, other } = file;
        Self { envoy, grpc, weir, other }
    }
}
