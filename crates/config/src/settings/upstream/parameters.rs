//! The keys of streams for parameter sets.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use weir_types::NODE_KEY;

use super::NodeTemplate;
use super::forward::RESERVED;
use crate::findings::Findings;
use crate::settings::{Node, Prefetch};
use crate::values::Count;

/// Streams of a control plane, one for each set of dynamic parameters.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ParameterStreams {
    /// The keys that make a difference to the control plane, sorted; those of all rules unless configured.
    parameter_keys: Option<Vec<String>>,
    /// The most sets; more are refused.
    #[serde(rename = "max_parameter_sets")]
    pub max_sets: Count,
    /// How many new sets a second.
    pub new_parameter_sets_per_second: Option<Count<u32>>,
    /// The `Node` for a set.
    pub node: NodeTemplate,
}

impl Default for ParameterStreams {
    fn default() -> Self {
        Self {
            parameter_keys: None,
            max_sets: Count::of::<256>(),
            new_parameter_sets_per_second: None,
            node: NodeTemplate::default(),
        }
    }
}

impl ParameterStreams {
    /// The keys that make a difference to the control plane, sorted.
    pub fn keys(&self) -> &[String] {
        self.parameter_keys.as_deref().unwrap_or_default()
    }

    /// The keys that distinguish sets: [`Self::keys`], and the one that stands for a forwarded node.
    pub fn set_keys(&self) -> impl Iterator<Item = &str> {
        let node = self.node.forwards().then_some(NODE_KEY);
        self.keys().iter().map(String::as_str).chain(node)
    }

    /// Clears what cannot change while the program runs.
    pub(crate) fn clear_fixed(&mut self) {
        (self.parameter_keys, self.node) = Default::default();
    }

    /// Reports keys that are empty, or there twice.
    pub(super) fn check_keys(&self, findings: &mut Findings) {
        let keys = self.keys();
        for (i, key) in keys.iter().enumerate() {
            if key.is_empty() {
                findings.add(format!("parameter_keys[{i}]"), "must not be empty (got \"\")");
            }
            if key == NODE_KEY {
                findings.add(format!("parameter_keys[{i}]"), format!("{key:?} {RESERVED}"));
            }
            if keys[..i].contains(key) {
                findings.add(format!("parameter_keys[{i}]"), format!("{key:?} is there twice"));
            }
        }
    }

    pub(super) fn derive(&mut self, node: &Node, rule_keys: &[String]) {
        let keys = self.parameter_keys.get_or_insert_with(|| rule_keys.to_vec());
        keys.sort_unstable();
        keys.dedup();
        self.node.derive(node, keys);
    }

    /// Reports what does not go with the keys. A parameter that makes no difference to the control plane would be requested
    /// in vain, and so would a set that is one too many.
    pub(super) fn check(&self, prefetch: &[Prefetch], findings: &mut Findings) {
        let keys = self.keys();
        self.node.check(keys, findings);
        self.node.check_unique_id(keys, findings);
        let mut distinct: BTreeSet<&BTreeMap<String, String>> = BTreeSet::new();
        for (i, entry) in prefetch.iter().enumerate() {
            for (j, set) in entry.parameter_sets.iter().enumerate() {
                for key in set.keys().filter(|key| !keys.contains(key)) {
                    let message = format!("{key:?} is none of parameter_keys, which are {keys:?}");
                    findings.add(format!("prefetch[{i}].parameter_sets[{j}]"), message);
                }
                distinct.insert(set);
            }
        }
        let (sets, max) = (distinct.len(), self.max_sets);
        if sets > max.get() {
            let message = format!("must have at most max_parameter_sets sets, which is {max} (got {sets})");
            findings.add("prefetch", message);
        }
    }
}
