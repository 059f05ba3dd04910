//! The store: the last known good resources on disk, for a warm start.
//!
//! Owns one SQLite file in which the resources of upstream streams outlive the process, with what else was known
//! of what was asked for: a stream that is opened in a later process looks up there what it has held in an earlier
//! one. Commits never wait for it: changes are gathered in memory, the newest of each row, and a thread writes them
//! in transactions that leave the file as it was after some commit, wherever the process is killed.
//!
//! Never decides what is true, connects to an upstream or stops a start: a file that cannot be used is set aside,
//! and what cannot be written is counted and logged.

mod file;
mod key;
mod lookup;
mod metrics;
mod pairs;
mod partition;
mod pending;
mod rows;
mod shared;
mod status;
mod store;
mod upkeep;
mod writer;

pub use key::{Key, KeyError};
pub use lookup::Past;
pub use partition::{Origin, Partition};
pub use status::Status;
pub use store::Store;
