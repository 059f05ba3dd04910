//! What is subscribed to before any client asks.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::values::{ResourceType, Text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prefetch {
    #[serde(rename = "type")]
    pub(crate) type_url: Text<ResourceType>,
    #[serde(default)]
    pub(crate) names: Vec<String>,
    #[serde(default = "one_empty_set")]
    pub(crate) parameter_sets: Vec<BTreeMap<String, String>>,
}

fn one_empty_set() -> Vec<BTreeMap<String, String>> {
    vec![BTreeMap::new()]
}
