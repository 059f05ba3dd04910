//! `upstream.debounce`

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::findings::Findings;
use crate::values::{PositiveDuration, text};

/// How bursts of a control plane are recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Debounce {
    /// After how long a silence it is over.
    pub quiet: PositiveDuration,
    /// How long it may last; at least `quiet`.
    #[serde(with = "text")]
    pub max: Duration,
}

impl Default for Debounce {
    fn default() -> Self {
        Self { quiet: PositiveDuration::millis::<100>(), max: Duration::from_secs(1) }
    }
}

impl Debounce {
    pub(crate) fn check(&self, findings: &mut Findings) {
        let Self { quiet, max } = self;
        if *max < quiet.get() {
            let message = format!("must be at least debounce.quiet, which is {quiet} (got {max:?})");
            findings.add("debounce.max", message);
        }
    }
}
