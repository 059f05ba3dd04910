//! How long what nobody subscribes to is still wanted from upstream.

use std::collections::HashMap;
use std::time::Duration;

use weir_types::{ResourceLocator, authority};

/// For how long a locator is still wanted after its last subscriber.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdleTimes {
    usual: Duration,
    /// Where an authority has a time of its own.
    by_authority: HashMap<String, Duration>,
}

impl IdleTimes {
    /// The time `usual`, but for those of `by_authority`.
    pub(crate) fn new(usual: Duration, by_authority: HashMap<String, Duration>) -> Self {
        Self { usual, by_authority }
    }

    /// Sets the time of an authority; none is the usual one.
    pub(crate) fn set(&mut self, authority: &str, time: Option<Duration>) {
        match time {
            Some(time) => _ = self.by_authority.insert(authority.to_owned(), time),
            None => _ = self.by_authority.remove(authority),
        }
    }

    /// The time of a locator.
    pub(crate) fn of(&self, locator: &ResourceLocator) -> Duration {
        match self.by_authority.is_empty() {
            true => self.usual,
            false => self.by_authority.get(authority(&locator.name)).copied().unwrap_or(self.usual),
        }
    }
}
