//! `[[upstream.prefetch]]`

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_types::{NODE_KEY, TypeUrl, authority};

use super::RESERVED;
use crate::findings::Findings;
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

impl Prefetch {
    /// Reports what breaks a rule of the prefetch number `i` of an upstream.
    pub(crate) fn check(&self, i: usize, of: &str, findings: &mut Findings) {
        if self.parameter_sets.is_empty() {
            let message = "must have at least one set: leave it out for one without parameters (got [])";
            findings.add(format!("prefetch[{i}].parameter_sets"), message);
        }
        for (j, _) in self.parameter_sets.iter().enumerate().filter(|(_, set)| set.contains_key(NODE_KEY)) {
            findings.add(format!("prefetch[{i}].parameter_sets[{j}]"), format!("{NODE_KEY:?} {RESERVED}"));
        }
        if self.names.is_empty() && !of.is_empty() {
            let message =
                format!("must name resources or globs of {of:?}: [] is the wildcard, which has no authority");
            findings.add(format!("prefetch[{i}].names"), message);
        }
        for (j, name) in self.names.iter().enumerate().filter(|(_, name)| authority(name) != of) {
            let message = format!("must have this upstream's authority, which is {of:?} (got {name:?})");
            findings.add(format!("prefetch[{i}].names[{j}]"), message);
        }
    }
}
