//! What a stream remembers of its life in an earlier process, and leaves to the next one.
//!
//! What is wanted while no server answers is looked up in the store. Where a server answers already, what the store
//! has does not count any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_database::Watch;
use weir_protocol::client;
use weir_store::{Origin, Past, Store};
use weir_types::{Batch, ResourceLocator, TypeUrl};

use crate::driver::{Event, Link};

/// The store, as one upstream stream has it.
#[derive(Clone, Debug)]
pub(crate) struct Archive {
    pub(crate) store: Store,
    pub(crate) origin: Arc<Origin>,
}

/// What a stream remembers.
#[derive(Debug)]
pub(crate) struct Memory {
    archive: Archive,
    /// Whether versions from before mean something to the server.
    versions: bool,
    /// What is wanted, and not looked up.
    undecided: Vec<(TypeUrl, ResourceLocator)>,
    /// How much of each type was remembered, and not vouched for at the last report.
    unconfirmed: BTreeMap<TypeUrl, usize>,
}

// === impl Archive ===

impl Archive {
    pub(crate) fn note(&self, batch: &Batch) {
        self.store.note(&self.origin, batch);
    }

    /// What was known of locators: waits for the disk, on a thread that may.
    async fn look_up(&self, locators: Vec<(TypeUrl, ResourceLocator)>) -> Vec<Past> {
        let Self { store, origin } = self.clone();
        let looking = tokio::task::spawn_blocking(move || store.look_up(&origin, locators));
        looking.await.unwrap_or_default()
    }
}

// === impl Memory ===

impl Memory {
    pub(crate) fn new(archive: Archive, versions: bool) -> Self {
        Self { archive, versions, undecided: Vec::new(), unconfirmed: BTreeMap::new() }
    }
}

impl<F: FnMut(Event) -> Option<Watch> + Send> Link<F> {
    /// Whether versions from before mean something to the server.
    pub(crate) fn rely_on_versions(&mut self, versions: bool) {
        self.memory.iter_mut().for_each(|memory| memory.versions = versions);
    }

    /// Notes that `locator` is wanted, or not any more.
    pub(crate) fn note_wanted(&mut self, type_url: &TypeUrl, locator: &ResourceLocator, wanted: bool) {
        let Some(Memory { archive, undecided, .. }) = &mut self.memory else { return };
        archive.store.want(&archive.origin, type_url, locator, wanted);
        if wanted {
            undecided.push((type_url.clone(), locator.clone()));
        }
    }

    /// Looks up what is wanted and was not yet, where that is of use.
    pub(crate) async fn recall(&mut self) {
        let Some(memory) = &mut self.memory else { return };
        if memory.undecided.is_empty() {
            return;
        }
        let mut welcome = Vec::new();
        for (type_url, locator) in std::mem::take(&mut memory.undecided) {
            match self.stream.may_remember(&type_url, &locator) {
                None => {}
                Some(client::Memory::Welcome) => welcome.push((type_url, locator)),
                Some(client::Memory::Undecided) => memory.undecided.push((type_url, locator)),
                Some(client::Memory::Outdated) => {
                    let held = self.stream.held_of(&type_url, &locator);
                    memory.archive.store.forget(&memory.archive.origin, &type_url, &locator, held);
                }
            }
        }
        if welcome.is_empty() {
            return;
        }
        for Past { type_url, variants, known } in memory.archive.look_up(welcome).await {
            memory.unconfirmed.entry(type_url.clone()).or_default();
            let batch = self.stream.remember(&type_url, variants, known, memory.versions);
            batch.into_iter().for_each(|batch| drop((self.on_event)(Event::Remembered(batch))));
        }
        self.report_unconfirmed();
    }

    /// Reports how much of what was remembered is unconfirmed, when that has changed.
    pub(crate) fn report_unconfirmed(&mut self) {
        let Some(memory) = &mut self.memory else { return };
        let mut changed = Vec::new();
        memory.unconfirmed.retain(|type_url, reported| {
            let before = std::mem::replace(reported, self.stream.unconfirmed(type_url));
            if before != *reported {
                changed.push((type_url.clone(), *reported));
            }
            *reported > 0
        });
        for (type_url, count) in changed {
            (self.on_event)(Event::Unconfirmed(type_url, count));
        }
    }

    /// A type with all that is held of it comes from another stream.
    pub(crate) fn expect_unconfirmed(&mut self, type_url: &TypeUrl) {
        if let Some(memory) = &mut self.memory {
            memory.unconfirmed.entry(type_url.clone()).or_default();
        }
    }
}
