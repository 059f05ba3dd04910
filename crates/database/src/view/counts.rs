//! How much of a subscription is not answered, or not given.

use weir_types::{Breadth, RefusalReason, Subscription};

/// How much of a subscription upstream has not answered yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// Names that are neither present nor known to be absent.
    pub names: usize,
    /// Collections of which it is not known what there is.
    pub collections: usize,
    /// Names of which upstream has only reported a transient error. Not among `names`.
    pub failing: usize,
    /// Collections that upstream did not answer in time. Not among `collections`.
    pub unproved: usize,
    /// Of the names and collections, those that nobody can be asked for.
    pub unavailable: UnavailableCounts,
}

/// What nothing is known of while no control plane can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnavailableCounts {
    /// Names.
    pub names: usize,
    /// Globs.
    pub globs: usize,
    /// Wildcards.
    pub wildcards: usize,
}

impl Unsettled {
    /// Whether upstream has answered everything, or reported a transient error.
    pub fn is_settled(self) -> bool {
        self.names + self.collections == 0
    }
}

impl UnavailableCounts {
    /// How much it is in all.
    pub fn total(self) -> usize {
        self.names + self.globs + self.wildcards
    }

    pub(crate) fn of(&mut self, breadth: Breadth) -> &mut usize {
        match breadth {
            Breadth::Name => &mut self.names,
            Breadth::Glob => &mut self.globs,
            Breadth::Wildcard => &mut self.wildcards,
        }
    }
}

/// How much of a subscription is not given to its streams, whatever there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Barred {
    /// What is for others.
    pub denied: usize,
    /// What is beyond the limits.
    pub exhausted: usize,
}

impl Barred {
    pub(super) fn of(subscription: &Subscription) -> Self {
        let mut barred = Self::default();
        for reason in subscription.refused().values() {
            match reason {
                RefusalReason::Denied => barred.denied += 1,
                RefusalReason::OverLimit(_) => barred.exhausted += 1,
            }
        }
        barred
    }
}
