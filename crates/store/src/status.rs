//! How the store is doing, for operators.

use std::path::PathBuf;
use std::time::SystemTime;

/// How the store is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The file.
    pub path: PathBuf,
    /// What keeps it from being used now, if anything does.
    pub failure: Option<String>,
    /// How much of the file is in use, in bytes.
    pub size: u64,
    /// How much may be, in bytes.
    pub max_size: u64,
    /// How many rows are still to be written.
    pub pending: usize,
    /// When the last transaction was written, if any was.
    pub written: Option<SystemTime>,
    /// How many resources were not kept, since the store is full.
    pub refused: u64,
    /// How many rows could not be read.
    pub unreadable: u64,
    /// Whether secrets are written, encrypted.
    pub secrets: bool,
}
