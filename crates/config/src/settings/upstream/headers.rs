//! `upstream.headers`: what they are filled with.
//!
//! Owns the rule that a header is filled only with what a certificate vouches for, never with what a client states.

use std::collections::BTreeSet;

use weir_types::{IdentityField, NodeField};

use super::General;
use crate::findings::Findings;
use crate::settings::NodeRule;
use crate::settings::downstream_tls::NO_IDENTITIES;

impl General {
    /// The placeholders in headers: what the client has to have a value for. Sorted.
    pub(super) fn header_values(&self) -> Vec<String> {
        let values: BTreeSet<_> = self.placeholders().map(|(_, placeholder)| placeholder).collect();
        values.into_iter().map(str::to_owned).collect()
    }

    /// Each header with each of its placeholders.
    fn placeholders(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().flat_map(|(name, value)| value.reveal().keys().map(|key| (name.as_str(), key)))
    }

    /// Reports placeholders of headers whose streams are for all clients.
    pub(super) fn check_unfilled_headers(&self, findings: &mut Findings) {
        for (name, placeholder) in self.placeholders() {
            let message = format!("{{{placeholder}}} applies only with dynamic_parameters = \"streams\"");
            findings.add(format!("headers.{name}"), message);
        }
    }

    /// Reports subscriptions of no client, where headers are filled.
    pub(super) fn check_prefetch(&self, findings: &mut Findings) {
        if self.placeholders().next().is_some() && !self.prefetch.is_empty() {
            let message = "does not go with placeholders in headers: only a client has values for them";
            findings.add("prefetch", message);
        }
    }

    /// Reports placeholders for keys whose values a client can choose.
    pub(super) fn check_header_keys(&self, rules: &[NodeRule], findings: &mut Findings) {
        for (name, placeholder) in self.placeholders() {
            let problem = match placeholder.parse() {
                Ok(NodeField::Identity(IdentityField::Spiffe)) => continue,
                Ok(NodeField::Identity(_)) => format!(
                    "{{{placeholder}}} may be several names; write {{identity.spiffe}}, or the key of a rule with enforce = true"
                ),
                _ if rules.iter().any(|rule| rule.key == placeholder && rule.enforce) => continue,
                _ => format!(
                    "{{{placeholder}}} needs a [[dynamic_parameters]] rule for {placeholder:?} with enforce = true: a client \
                     chooses it otherwise"
                ),
            };
            findings.add(format!("headers.{name}"), problem);
        }
    }

    /// Reports placeholders for identities, which no client has.
    pub(super) fn check_header_identities(&self, findings: &mut Findings) {
        let is_identity = |placeholder: &str| matches!(placeholder.parse(), Ok(NodeField::Identity(_)));
        for (name, _) in self.placeholders().filter(|(_, placeholder)| is_identity(placeholder)) {
            findings.add(format!("headers.{name}"), NO_IDENTITIES);
        }
    }
}
