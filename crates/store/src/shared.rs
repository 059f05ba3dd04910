//! What the handle of the store and its thread share: the changes that the thread has not seen, and how it is doing.

use parking_lot::Mutex;

use crate::Status;
use crate::pending::Pending;

#[derive(Debug)]
pub(crate) struct Shared {
    fresh: Mutex<Fresh>,
    pub(crate) status: Mutex<Status>,
}

/// The changes that the thread has not seen.
#[derive(Debug, Default)]
struct Fresh {
    pending: Pending,
    /// The thread was told that there are some.
    told: bool,
}

impl Shared {
    pub(crate) fn new(status: Status) -> Self {
        Self { fresh: Mutex::default(), status: Mutex::new(status) }
    }

    /// Adds a change. Whether the thread has to be told that there is one.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Pending)) -> bool {
        let mut fresh = self.fresh.lock();
        change(&mut fresh.pending);
        !std::mem::replace(&mut fresh.told, true)
    }

    /// The changes since the last time.
    pub(crate) fn take(&self) -> Pending {
        std::mem::take(&mut *self.fresh.lock()).pending
    }
}
