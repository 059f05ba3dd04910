//! The states that a sequence of operations can lead to, checked in debug builds.

use super::logical::Logical;
use super::per_stream::PerStreamState;
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
                self.per_stream.opened || !state.request().is_subscribed(),
                "{locator:?} {state:?}"
            );
        }
    }
}

impl PerStreamState {
    fn check(&self, dialect: Dialect) {
        let list = (self.named, self.implicit, self.lingers);
        let known = match dialect {
            Dialect::Sotw => {
                [(false, false, false), (true, false, false), (false, true, false), (false, true, true)]
                    .contains(&list)
            }
            Dialect::Delta => list == (false, false, false),
        };
        debug_assert!(known, "{self:?}");
        debug_assert!(self.opened || !(self.heard || self.exhausted || self.changed), "{self:?}");
        debug_assert_eq!(self.opened, self.requests > 0, "{self:?}");
        match dialect {
            Dialect::Sotw => debug_assert!(self.subscribe.is_empty(), "{self:?}"),
            Dialect::Delta => debug_assert!(
                self.unheard.is_empty() && self.nonce.is_empty() && self.version.is_empty(),
                "{self:?}"
            ),
        }
        debug_assert!(self.unheard.is_empty() || self.verdicts.is_held(), "{self:?}");
        let sets = [&self.subscribe, &self.unsubscribe, &self.unheard];
        debug_assert!(self.opened || sets.iter().all(|set| set.is_empty()), "{self:?}");
    }
}
