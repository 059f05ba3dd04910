//! The error that upstream has for a name, beside whatever there is of it.

use std::sync::Arc;

use weir_types::{Absence, Commit, ErrorKind, ResourceError};

use super::{Change, Selection};

/// The last error that upstream reported, while it lasts.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) error: Arc<ResourceError>,
    /// When it was reported.
    pub(crate) since: Commit,
}

impl Selection {
    /// What is wrong with the name, if upstream reported that something is.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Whether nothing is known but a transient error.
    pub(crate) fn is_failing(&self) -> bool {
        let failure = self.failure().filter(|failure| !failure.error.is_unavailable());
        let transient = failure.is_some_and(|failure| failure.error.code.is_transient());
        transient && self.members.is_empty() && self.resolution.absence() == Absence::Unknown
    }

    /// Whether nothing is known, and there is nobody to ask. That is no answer: it is settled no more than before.
    pub(crate) fn is_unavailable(&self) -> bool {
        !self.is_settled() && self.failure().is_some_and(|failure| failure.error.is_unavailable())
    }

    /// Notes an error. It answers whoever has nothing else; beside content it waits for what others need more,
    /// as a removal does.
    pub(crate) fn fail(&mut self, error: &Arc<ResourceError>, at: Commit) -> Option<Change> {
        if self.failure().is_some_and(|failure| failure.error == *error) {
            return None;
        }
        match error.kind {
            ErrorKind::Available => {
                self.is_unavailable().then(|| self.failure = None)?;
                return Some(Change::Refreshed);
            }
            ErrorKind::Unavailable if self.is_settled() => return None,
            ErrorKind::Unavailable | ErrorKind::Undeliverable => {}
        }
        self.failure = Some(Failure { error: Arc::clone(error), since: at });
        if self.let_go(at) {
            return Some(Change::Moved);
        }
        if !self.members.is_empty() {
            return Some(Change::Removed);
        }
        if error.kind == ErrorKind::Undeliverable {
            self.resolution.receive_error(at);
        }
        Some(Change::Added)
    }

    /// Notes that upstream has sent the resource after all. For clients, an error is over when they are sent the
    /// resource, changed or not. That of a glob is over with anything that it brings.
    pub(crate) fn recover(&mut self, at: Commit) -> Option<Change> {
        if self.is_collection() && self.is_unavailable() {
            return None;
        }
        self.failure.take()?;
        if self.is_collection() {
            return None;
        }
        self.members.renew_all(at);
        Some(Change::Added)
    }
}
