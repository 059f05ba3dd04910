//! `[drain]`

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::sections::Section;
use crate::values::text;

/// How clients are moved elsewhere, when the program is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Drain {
    /// How long clients are still accepted, so that load balancers can notice.
    #[serde(with = "text")]
    pub delay: Duration,
    /// Over how long the clients are spread as they are asked to go.
    #[serde(with = "text")]
    pub over: Duration,
    /// How long a client's streams go on after that.
    #[serde(with = "text")]
    pub grace: Duration,
}

impl Default for Drain {
    fn default() -> Self {
        Self { delay: Duration::ZERO, over: Duration::from_secs(15), grace: Duration::from_secs(1) }
    }
}

impl Section for Drain {}

impl Drain {
    /// The longest that a drain takes, if no client has to be cut off.
    pub fn longest(&self) -> Duration {
        self.delay + self.over + self.grace
    }
}
