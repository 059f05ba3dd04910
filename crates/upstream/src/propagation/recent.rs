//! The newest changes that were followed, for those who look.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use weir_types::{Newest, TypeUrl};

/// A change that has reached everybody whom it concerns, or was followed for long enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Propagated {
    /// Counts all that were followed since the start.
    pub number: u64,
    /// When the response came.
    pub at: SystemTime,
    /// The authority of the control plane that it came from.
    pub authority: String,
    /// The type.
    pub type_url: TypeUrl,
    /// How many streams it concerned.
    pub streams: usize,
    /// How long it took to the last answer.
    pub took: Duration,
    /// What became of it: `accepted`, `rejected` by at least one client, or `late`: not everybody has answered.
    pub outcome: &'static str,
}

/// The newest of them. Cheap to clone; all clones show the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent(Arc<Mutex<Newest<Propagated>>>);

impl Recent {
    /// Remembers one; its number is given here.
    pub(super) fn add(&self, change: Propagated) {
        self.0.lock().add(|number| Propagated { number, ..change });
    }

    /// All that are remembered, the newest first.
    pub(crate) fn all(&self) -> Vec<Propagated> {
        self.0.lock().iter().cloned().collect()
    }
}
