//! `[[access]]`

use serde::{Deserialize, Serialize};
use weir_types::{Pattern, TypeUrl};

use super::downstream_tls::NO_IDENTITIES;
use crate::findings::Findings;
use crate::sections::Section;
use crate::values::text;

/// What some clients may have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRule {
    /// Whom it is for, by the names in their certificates; without it, everybody.
    #[serde(default, with = "text")]
    pub identities: Option<Vec<Pattern>>,
    /// The types of resources; where there is none, all but secrets.
    #[serde(default, with = "text")]
    pub types: Vec<TypeUrl>,
    /// Their names; where there is none, all.
    #[serde(default, with = "text")]
    pub names: Vec<Pattern>,
}

impl Section for AccessRule {}

impl AccessRule {
    /// Reports the rules for identities, which no client has.
    pub(crate) fn check_identities(rules: &[Self], findings: &mut Findings) {
        for (i, _) in rules.iter().enumerate().filter(|(_, rule)| rule.identities.is_some()) {
            findings.add(format!("access[{i}].identities"), NO_IDENTITIES);
        }
    }
}
