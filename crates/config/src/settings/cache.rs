//! `[cache]`

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::sections::Section;
use crate::values::{ByteSize, text};

/// How long things are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cache {
    /// How long a resource stays subscribed upstream after its last subscriber has gone.
    #[serde(with = "text")]
    pub idle_timeout: Duration,
    /// How many bytes of encoded responses are kept for streams that have yet to be sent the same.
    pub max_frames_size: ByteSize<0>,
}

impl Default for Cache {
    fn default() -> Self {
        Self { idle_timeout: Duration::from_secs(60), max_frames_size: ByteSize::mib::<256>() }
    }
}

impl Section for Cache {}
