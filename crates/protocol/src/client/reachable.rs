//! The states that a sequence of operations can lead to, checked in debug builds.

use super::logical::Logical;
use crate::Dialect;

/// The most locators of a type whose states are checked: checking them all would make every operation linear.
const MAX_CHECKED: usize = 64;

impl Logical {
    /// Panics in debug builds where the state contradicts itself. Each operation calls it before it changes the state
    /// that the last one has left.
    pub(super) fn check(&self, dialect: Dialect) {
        if !cfg!(debug_assertions) {
            return;
        }
        self.per_stream.check(dialect);
        for (locator, state) in self.locators().take(MAX_CHECKED) {
            state.check(locator.breadth());
            debug_assert!(
                self.per_stream.exchange.is_started() || !state.request().is_subscribed(),
                "{locator:?} {state:?}"
            );
        }
    }
}
