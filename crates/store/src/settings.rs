//! How the store behaves.

use std::path::PathBuf;
use std::time::Duration;

use crate::Key;

/// How the store behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file. Beside it stand its write-ahead log, and what was set aside.
    pub path: PathBuf,
    /// How large the file may become, in bytes.
    pub max_size: u64,
    /// How long something is kept after nobody wants it any more.
    pub keep_unwanted: Duration,
    /// What secrets are encrypted with; without it, they are not written.
    pub key: Option<Key>,
}

impl Settings {
    /// Up to 1 GiB at `path`, kept for a week, without secrets.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            max_size: 1 << 30,
            keep_unwanted: Duration::from_secs(7 * 24 * 60 * 60),
            key: None,
        }
    }
}
