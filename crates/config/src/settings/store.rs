//! `[store]`

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::findings::Findings;
use crate::sections::Section;
use crate::settings::resolve;
use crate::values::{ByteSize, text};

/// Less holds next to nothing.
const MIN_SIZE: usize = 1 << 20;

/// What outlives the process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// The file.
    pub path: PathBuf,
    /// How large it may become.
    #[serde(default = "gibibyte")]
    pub max_size: ByteSize<MIN_SIZE>,
    /// How long something is kept after nobody wants it any more.
    #[serde(default = "week", with = "text")]
    pub keep_unwanted: Duration,
    /// Whether secrets are stored, encrypted.
    #[serde(default)]
    pub persist_secrets: bool,
    /// The file with the key that they are encrypted with; there if they are stored.
    pub key_file: Option<PathBuf>,
}

fn gibibyte() -> ByteSize<MIN_SIZE> {
    ByteSize::mib::<1024>()
}

fn week() -> Duration {
    Duration::from_secs(7 * 24 * 60 * 60)
}

impl Section for Store {
    fn check(&self, findings: &mut Findings) {
        if self.path.file_name().is_none() {
            let message =
                format!("must be a file, in a directory that outlives the process (got {:?})", self.path);
            findings.add("path", message);
        }
        match (self.persist_secrets, &self.key_file) {
            (true, None) => {
                findings.add("persist_secrets", "needs a key_file: secrets are stored encrypted only")
            }
            (false, Some(_)) => findings.add("key_file", "applies only with persist_secrets = true"),
            (true, Some(_)) | (false, None) => {}
        }
    }
}

impl Store {
    /// The file at `path`, with the defaults.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            max_size: gibibyte(),
            keep_unwanted: week(),
            persist_secrets: false,
            key_file: None,
        }
    }

    pub(crate) fn resolve(&mut self, directory: &Path) {
        resolve(directory, [&mut self.path].into_iter().chain(&mut self.key_file));
    }
}
