//! `[[dynamic_parameters]]`

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use weir_types::{NODE_KEY, NodeField};

use super::RESERVED;
use super::downstream_tls::NO_IDENTITIES;
use crate::findings::Findings;
use crate::sections::Section;
use crate::values::{Regex, text};

/// How a client gets one dynamic parameter from its `Node`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NodeRule {
    /// The parameter's key. Of several rules for one key, the first that gives a value counts.
    pub key: String,
    /// The part of the client's `Node` that it is taken from.
    #[serde(with = "text")]
    pub from: NodeField,
    /// Which part of that is the value: the first capture group, or the whole match. Without it, all.
    #[serde(default, with = "text")]
    pub pattern: Option<Regex>,
    /// The value where the node has none, or none that matches.
    pub default: Option<String>,
    /// Whether clients that send locators are given the parameter too, where they omit its key.
    #[serde(default)]
    pub fill_locators: bool,
    /// Whether no client can choose the parameter itself; only for what comes from its certificate.
    #[serde(default)]
    pub enforce: bool,
}

impl Section for NodeRule {
    fn check(&self, findings: &mut Findings) {
        if self.key.is_empty() {
            findings.add("key", "must not be empty (got \"\")");
        }
        if self.key == NODE_KEY {
            findings.add("key", format!("{NODE_KEY:?} {RESERVED}"));
        }
        if self.enforce && !self.is_of_identity() {
            let message = "needs from = \"identity.…\": a client chooses what is in its node";
            findings.add("enforce", message);
        }
    }
}

impl NodeRule {
    fn is_of_identity(&self) -> bool {
        matches!(self.from, NodeField::Identity(_))
    }

    /// Reports what does not go together among `rules`.
    pub(crate) fn check_all(rules: &[Self], findings: &mut Findings) {
        for (i, rule) in rules.iter().enumerate() {
            let key = format!("dynamic_parameters[{i}].key");
            if rules[..i].iter().any(|earlier| earlier.key == rule.key && earlier.default.is_some()) {
                let message =
                    format!("{:?} always has a value already: an earlier rule has a default", rule.key);
                findings.add(&key, message);
            }
            if !rule.enforce && rules.iter().any(|other| other.enforce && other.key == rule.key) {
                let message =
                    format!("another rule for {:?} is enforced, so this one has to be, too", rule.key);
                findings.add(&key, message);
            }
        }
    }

    /// Reports the rules for identities, which no client has.
    pub(crate) fn check_identities(rules: &[Self], findings: &mut Findings) {
        for (i, _) in rules.iter().enumerate().filter(|(_, rule)| rule.is_of_identity()) {
            findings.add(format!("dynamic_parameters[{i}].from"), NO_IDENTITIES);
        }
    }

    /// The keys of `rules`, sorted.
    pub(crate) fn keys(rules: &[Self]) -> Vec<String> {
        let keys: BTreeSet<_> = rules.iter().map(|rule| rule.key.clone()).collect();
        keys.into_iter().collect()
    }
}
