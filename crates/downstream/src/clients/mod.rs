//! What operators see of clients: who is connected, what each has been sent, and what it answered.
//!
//! Owns a list of what is there to be looked at, and the newest rejections. What a stream has been sent is read from
//! its machine when somebody asks, so that streams pay for it with [`DeliveryStatus`] alone, which changes with responses and
//! verdicts. Never holds up a stream for longer than it takes to copy a few numbers.

mod delivery_status;
mod interned;
mod nacks;
mod registry;
mod snapshot;

use std::time::{SystemTime, UNIX_EPOCH};

pub use nacks::Nack;
pub use registry::Registry;
pub use snapshot::{Condition, Held, Sent, Snapshot, Standing, TypeStatus};

pub(crate) use delivery_status::DeliveryStatus;
pub(crate) use interned::Interned;
pub(crate) use registry::{Entry, Observed};

/// Milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Millis(u64);

impl Millis {
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl From<Millis> for SystemTime {
    fn from(Millis(millis): Millis) -> Self {
        UNIX_EPOCH + std::time::Duration::from_millis(millis)
    }
}
