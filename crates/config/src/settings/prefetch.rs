//! `[[upstream.prefetch]]`

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_types::TypeUrl;

use crate::values::names::names;
use crate::values::text;

/// Subscriptions that are made at the start.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Prefetch {
    /// The type of the resources.
    #[serde(rename = "type", with = "text")]
    pub type_url: TypeUrl,
    /// Their names, all of the upstream's authority; none is the wildcard.
    #[serde(default, deserialize_with = "names")]
    pub names: Vec<String>,
    /// The sets of dynamic parameters, one subscription for each; never empty.
    #[serde(default = "one_empty_set")]
    pub parameter_sets: Vec<BTreeMap<String, String>>,
}

fn one_empty_set() -> Vec<BTreeMap<String, String>> {
    vec![BTreeMap::new()]
}
