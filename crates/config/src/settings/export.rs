//! `[[export]]`

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_types::{NODE_KEY, TypeUrl};

use super::RESERVED;
use crate::findings::Findings;
use crate::sections::Section;
use crate::values::names::names;
use crate::values::{ExportFile, text};

/// A subscription that is written to a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// The type of the resources.
    #[serde(rename = "type", with = "text")]
    pub type_url: TypeUrl,
    /// Their names; none is the wildcard.
    #[serde(default, deserialize_with = "names")]
    pub names: Vec<String>,
    /// For which dynamic parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The file. Different from all others.
    pub to: ExportFile,
}

impl Section for Export {
    fn check(&self, findings: &mut Findings) {
        if self.parameters.contains_key(NODE_KEY) {
            findings.add(format!("parameters.{NODE_KEY}"), format!("{NODE_KEY:?} {RESERVED}"));
        }
    }
}

impl Export {
    /// Reports exports to one file.
    pub(crate) fn check_all(exports: &[Self], findings: &mut Findings) {
        let targets =
            exports.iter().enumerate().map(|(i, export)| (format!("export[{i}].to"), export.to.path()));
        findings
            .add_duplicates(targets, |to, other| format!("must be another file than {other} (got {to:?})"));
    }
}
