//! Files that subscriptions are written to.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_types::FileFormat;

/// A file in a format that is known by the end of its name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "PathBuf", into = "PathBuf")]
pub struct ExportFile {
    path: PathBuf,
    format: FileFormat,
}

impl ExportFile {
    /// The file; relative to where the program runs.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format of the file.
    pub fn format(&self) -> FileFormat {
        self.format
    }

    pub(crate) fn resolve(&mut self, directory: &Path) {
        self.path = directory.join(&self.path);
    }
}

impl TryFrom<PathBuf> for ExportFile {
    type Error = String;

    fn try_from(path: PathBuf) -> Result<Self, String> {
        match FileFormat::of(&path) {
            Some(format) => Ok(Self { path, format }),
            None => Err(format!("must end with {} (got {path:?})", FileFormat::ENDINGS)),
        }
    }
}

impl From<ExportFile> for PathBuf {
    fn from(file: ExportFile) -> Self {
        file.path
    }
}
