//! State of one wanted locator.

use std::sync::Arc;
use std::time::Instant;

use weir_types::{Absence, ResourceError};

/// How a locator stands.
#[derive(Clone, Debug, Default)]
pub(super) struct LocatorState {
    /// The server believes it to be wanted.
    pub(super) told: bool,
    /// It was sent to the server on this stream, since it is wanted.
    pub(super) requested: bool,
    /// It was part of the first request of its type on this stream.
    pub(super) in_first: bool,
    /// The number of the request of its type, on this stream, with which it was first sent.
    pub(super) request: u32,
    /// Something is known of it: a variant came, or it is known or taken to be absent.
    pub(super) answered: bool,
    /// What is known of it came on this stream for others, and the server has not spoken of it since it was asked.
    pub(super) borrowed: bool,
    /// What that is, while nothing matches.
    pub(super) absence: Absence,
    /// What the server last said to be wrong with it, while it is.
    pub(super) error: Option<Arc<ResourceError>>,
    /// When it will be taken to be absent.
    pub(super) deadline: Option<Instant>,
    /// Of a collection: some of it has come, and there may be more.
    pub(super) partial: bool,
    /// When all that has come of it is taken for all there is.
    pub(super) completes: Option<Instant>,
}

impl LocatorState {
    /// Whether the server has not spoken of it, though its silence may have been taken for an answer.
    pub(super) fn is_open(&self) -> bool {
        !self.answered || self.absence == Absence::TimedOut
    }
}
