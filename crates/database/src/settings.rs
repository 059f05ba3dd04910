//! How the database behaves.

use std::collections::HashMap;
use std::time::Duration;

use crate::demand::ParameterSets;
use crate::limits::{ClientLimits, DemandLimits};

/// How the database behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a locator is still wanted from upstream after its last subscriber has gone.
    pub idle: Duration,
    /// Per authority with a time of its own: the same of its locators.
    pub idle_by_authority: HashMap<String, Duration>,
    /// Per authority for which each distinct parameter set costs an upstream stream: the limit on them.
    pub parameter_sets: HashMap<String, ParameterSets>,
    /// Per authority: how much may be wanted of it.
    pub demand: HashMap<String, DemandLimits>,
    /// How much each client may be the first to ask for.
    pub per_client: ClientLimits,
}

impl Default for Settings {
    fn default() -> Self {
        let (idle_by_authority, parameter_sets, demand, per_client) = Default::default();
        Self { idle: Duration::from_secs(60), idle_by_authority, parameter_sets, demand, per_client }
    }
}
