//! `[log]`

use serde::{Deserialize, Serialize};

use crate::sections::Section;
use crate::values::{Level, LogFormat};

/// What is logged, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// The least severe messages that are logged.
    pub level: Level,
    /// How they are written.
    pub format: LogFormat,
}

impl Section for Log {}
