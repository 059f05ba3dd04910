//! The store, as one upstream stream uses it.

use std::sync::Arc;

use weir_store::{Origin, Past, Store};
use weir_types::{Batch, ResourceLocator, TypeUrl};

use crate::stream::Event;

/// The store, as one upstream stream uses it.
#[derive(Clone, Debug)]
pub(crate) struct Archive {
    pub(crate) store: Store,
    pub(crate) origin: Arc<Origin>,
}

impl Archive {
    /// Leaves what `batch` changes to the next process.
    pub(super) fn note_batch(&self, batch: &Batch) {
        self.store.note(&self.origin, batch);
    }

    /// Leaves what `event` changes to the next process.
    pub(super) fn note(&self, event: &Event) {
        match event {
            Event::Known(batch) => self.note_batch(batch),
            Event::Wanted { type_url, locator, wanted } => {
                self.store.want(&self.origin, type_url, locator, *wanted);
            }
            Event::Outdated { type_url, locator, held } => {
                self.store.forget(&self.origin, type_url, locator, held.clone());
            }
            _ => {}
        }
    }

    /// Looks up what was known of locators: waits for the disk, on a thread that may.
    pub(super) async fn look_up(&self, locators: Vec<(TypeUrl, ResourceLocator)>) -> Vec<Past> {
        let Self { store, origin } = self.clone();
        let looking = tokio::task::spawn_blocking(move || store.look_up(&origin, locators));
        looking.await.unwrap_or_default()
    }
}
