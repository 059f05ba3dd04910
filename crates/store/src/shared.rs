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
    /// The thread was notified that there are some.
    is_notified: bool,
}

impl Shared {
    /// Of a store with these settings, of which nothing is known yet; whether it holds `secrets`.
    pub(crate) fn new(settings: &weir_config::Store, secrets: bool) -> Self {
        let status = Status {
            path: settings.path.clone(),
            failure: None,
            size: 0,
            max_size: settings.max_size.get() as u64,
            pending: 0,
            written: None,
            refused: 0,
            unreadable: 0,
            secrets,
        };
        Self { fresh: Mutex::default(), status: Mutex::new(status) }
    }

    /// Adds a change. Returns whether the thread has to be notified.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Pending)) -> bool {
        let mut fresh = self.fresh.lock();
        change(&mut fresh.pending);
        !std::mem::replace(&mut fresh.is_notified, true)
    }

    /// The changes since the last time.
    pub(crate) fn take(&self) -> Pending {
        std::mem::take(&mut *self.fresh.lock()).pending
    }
}
