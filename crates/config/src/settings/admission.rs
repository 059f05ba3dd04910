//! `[admission]`

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::findings::Findings;
use crate::sections::Section;
use crate::values::{Count, text};

/// How new streams are let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Admission {
    /// How many there may be in a second, in the long run.
    pub new_streams_per_second: Option<Count>,
    /// How many there may be at once; those of a second unless configured.
    pub new_streams_burst: Option<Count>,
    /// How many may be sent their first response at once.
    pub max_first_responses: Count,
    /// The least that a rejected client is asked to wait.
    #[serde(with = "text")]
    pub retry_after: Duration,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            new_streams_per_second: None,
            new_streams_burst: None,
            max_first_responses: Count::of::<1024>(),
            retry_after: Duration::from_secs(1),
        }
    }
}

impl Section for Admission {
    fn check(&self, findings: &mut Findings) {
        if self.new_streams_burst.is_some() && self.new_streams_per_second.is_none() {
            findings.add("new_streams_burst", "applies only with new_streams_per_second");
        }
    }
}

impl Admission {
    pub(crate) fn resolve(&mut self) {
        self.new_streams_burst = self.new_streams_burst.or(self.new_streams_per_second);
    }
}
