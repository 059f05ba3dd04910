//! The resources that a client states to hold from an earlier stream, until all of them are confirmed or corrected.
//!
//! ```text
//!             subscription changed
//!  Stated ───────────────────────────> Recheck
//!    │ ^                                │   │
//!    │ └──── a response with removals ──┘   │
//!    │                                      │
//!    └──> None <── the same, and everything subscribed is resolved
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use weir_types::xdstp::collections_of;
use weir_types::{KnownVersions, Name, Selector, Subscription};

/// The resources that a client states to hold from an earlier stream.
#[derive(Debug, Default)]
pub(super) enum InitialVersions {
    /// None, or all of them are confirmed or corrected.
    #[default]
    None,
    /// To be compared with what changes.
    Stated(Arc<KnownVersions>),
    /// The subscription has changed since they were compared with it: removals may be due.
    Recheck(Arc<KnownVersions>),
}

impl InitialVersions {
    pub(super) fn new(stated: Option<Arc<KnownVersions>>) -> Self {
        stated.map_or(Self::None, Self::Stated)
    }

    /// What is stated and neither confirmed nor corrected yet.
    pub(super) fn get(&self) -> Option<&Arc<KnownVersions>> {
        match self {
            Self::None => None,
            Self::Stated(known) | Self::Recheck(known) => Some(known),
        }
    }

    /// Whether they have to be compared with a changed subscription.
    pub(super) fn needs_recheck(&self) -> bool {
        matches!(self, Self::Recheck(_))
    }

    /// A client no longer holds what it unsubscribes from, except what it also subscribes to with other parameters or by
    /// another collection.
    pub(super) fn unsubscribe(&mut self, removed: &[Selector], subscription: &Subscription) {
        let Some(known) = self.get() else { return };
        let asked: HashSet<&Name> = subscription.iter().map(|s| &s.locator.name).collect();
        let gone = removed.iter().map(|gone| &gone.locator.name).filter(|name| !asked.contains(name));
        let gone: HashSet<&Name> = gone.collect();
        if gone.is_empty() {
            *self = Self::Recheck(Arc::clone(known));
            return;
        }
        let collected = |name: &Name, by: &HashSet<&Name>| {
            collections_of(name).any(|collection| by.contains(&collection))
        };
        let keeps = |name: &Name| match collected(name, &gone) {
            true => asked.contains(name) || collected(name, &asked),
            false => !gone.contains(name),
        };
        *self = Self::Recheck(Arc::new(known.filtered(keeps)));
    }

    /// A client that subscribes once more to what it states to hold is to be sent it, also if it is not there yet.
    pub(super) fn subscribe_again(&mut self, again: &[Selector]) {
        let again: HashSet<&Name> = again.iter().map(|selector| &selector.locator.name).collect();
        let collected = |name: &Name| collections_of(name).any(|collection| again.contains(&collection));
        let asked = |name: &Name| again.contains(name) || collected(name);
        if let Self::Stated(known) | Self::Recheck(known) = self
            && known.stated().any(asked)
        {
            *known = Arc::new(known.doubting(asked));
        }
    }

    /// A step was made with all removals that are due; everything that is subscribed is `resolved` or not.
    pub(super) fn compare(&mut self, resolved: bool) {
        *self = match std::mem::take(self) {
            _ if resolved => Self::None,
            Self::Recheck(known) => Self::Stated(known),
            other => other,
        };
    }
}
