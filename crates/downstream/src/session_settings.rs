//! What holds for the streams of all clients.

use std::sync::Arc;

use weir_protocol::server::Patience;

use crate::cold::ColdStarts;
use crate::limits::Limits;

/// What holds for the streams of all clients.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    /// How much a client may ask for.
    pub limits: Limits,
    /// What becomes of clients of whose questions nothing is cached, while there is nobody to ask.
    pub cold_start: ColdStarts,
    /// For how long streams wait for what may never come.
    pub patience: Arc<Patience>,
}
