//! What holds for the streams of all clients.

use std::sync::Arc;
use std::time::Duration;

use crate::cold::ColdStarts;
use crate::limits::Limits;
use crate::stream::Patience;
use crate::virtual_hosts::VirtualHostWildcard;

/// What holds for the streams of all clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    /// How much a client may ask for.
    pub limits: Limits,
    /// What becomes of clients of whose questions nothing is cached, while there is nobody to ask.
    pub cold_start: ColdStarts,
    /// For how long streams wait for what may never come.
    pub patience: Arc<Patience>,
    /// After how long names beyond the limits are asked for again, at first.
    pub retry_after: Duration,
    /// What a wildcard of virtual hosts asks for.
    pub virtual_hosts: VirtualHostWildcard,
}

impl Default for SessionSettings {
    fn default() -> Self {
        let (limits, cold_start, patience, virtual_hosts) = Default::default();
        Self { limits, cold_start, patience, retry_after: Duration::from_secs(1), virtual_hosts }
    }
}
