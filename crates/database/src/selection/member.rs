//! What is selected, and what was: the lives of one variant.

use std::sync::Arc;
use std::time::Instant;

use weir_types::{Commit, Cursor, Variant};

use super::terms::Terms;

/// A variant that is selected now.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) variant: Arc<Variant>,
    /// When it came to be selected.
    pub(crate) born: Commit,
    /// When it was selected or its content last changed.
    pub(crate) changed: Commit,
    /// When that happened, or upstream last vouched for it. Never before `changed`.
    pub(crate) refreshed: Commit,
    /// What clients were sent of its time to live, if it has one.
    terms: Option<Box<Terms>>,
}

impl Member {
    pub(super) fn new(variant: &Arc<Variant>, at: Commit) -> Self {
        let terms = Terms::begin(variant, at);
        Self { variant: Arc::clone(variant), born: at, changed: at, refreshed: at, terms }
    }

    /// Notes that it changed, or (else) was vouched for.
    pub(super) fn renew(&mut self, at: Commit, changed: bool) {
        self.refreshed = at;
        if changed {
            self.changed = at;
            self.terms = Terms::begin(&self.variant, at);
        } else if let Some(terms) = &mut self.terms {
            terms.renew(&self.variant, at);
        }
    }

    /// Whether a client that has it as of `after` may have dropped it by itself at `now`.
    pub(crate) fn is_over(&self, after: Commit, now: Instant) -> bool {
        self.terms.as_ref().is_some_and(|terms| terms.are_over(after, now))
    }

    /// Its end.
    pub(super) fn into_tombstone(self, died: Commit) -> Tombstone {
        let Self { variant, born, changed, .. } = self;
        Tombstone { variant, born, changed, died, inherited: false }
    }
}

/// A variant that was selected once and that some stream may still hold.
#[derive(Clone, Debug)]
pub(crate) struct Tombstone {
    pub(crate) variant: Arc<Variant>,
    pub(crate) born: Commit,
    pub(crate) changed: Commit,
    pub(crate) died: Commit,
    /// Whether it was another locator that selected it, which some stream has given up: others never had it.
    pub(crate) inherited: bool,
}

impl Tombstone {
    /// Whether a stream with this cursor may hold it, and has not been sent its removal.
    pub(crate) fn is_unsent(&self, cursor: Cursor) -> bool {
        self.died > cursor.removals && self.born <= cursor.additions
    }

    /// The same for a locator that goes on where this one's is given up.
    pub(crate) fn inherited_copy(&self) -> Self {
        Self { variant: Arc::clone(&self.variant), inherited: true, ..*self }
    }
}
