//! Files as an upstream.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::values::PositiveDuration;

/// Resource files.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// The directory or file; relative to where the program runs.
    #[serde(rename = "files")]
    pub path: PathBuf,
    /// How often they are read although nothing reports a change.
    pub poll_interval: Option<PositiveDuration>,
}

impl Files {
    pub(super) fn resolve(&mut self, directory: &Path) {
        self.path = directory.join(&self.path);
    }
}
