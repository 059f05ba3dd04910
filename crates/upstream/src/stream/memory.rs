//! What a stream remembers of an earlier process.
//!
//! What is subscribed while no server answers is looked up in the store. Where a server has answered already, what the
//! store has does not count any more.

use std::collections::BTreeMap;

use weir_protocol::client;
use weir_store::Past;
use weir_types::{ResourceLocator, TypeUrl};

use super::{Event, EventSink, UpstreamStream};

/// What a stream remembers.
#[derive(Debug)]
pub(super) struct Memory {
    /// Whether versions from before mean something to the server.
    versions: bool,
    /// What is subscribed, and was not looked up.
    undecided: Vec<(TypeUrl, ResourceLocator)>,
    /// How much of each type was restored, and not confirmed at the last report.
    unconfirmed: BTreeMap<TypeUrl, usize>,
}

impl Memory {
    pub(super) fn new(versions: bool) -> Self {
        Self { versions, undecided: Vec::new(), unconfirmed: BTreeMap::new() }
    }

    /// Whether versions from before mean something to the server.
    pub(super) fn rely_on_versions(&mut self, versions: bool) {
        self.versions = versions;
    }
}

impl<S: EventSink> UpstreamStream<S> {
    /// Notes that `locator` is subscribed, or no longer.
    pub(super) fn note_wanted(&mut self, type_url: &TypeUrl, locator: &ResourceLocator, wanted: bool) {
        let Some(memory) = &mut self.memory else { return };
        if wanted {
            memory.undecided.push((type_url.clone(), locator.clone()));
        }
        let (type_url, locator) = (type_url.clone(), locator.clone());
        self.sink.note(Event::Wanted { type_url, locator, wanted });
    }

    /// What is to be looked up in the store for [`Self::restore`], where that is of use.
    pub(crate) fn poll_look_up(&mut self) -> Vec<(TypeUrl, ResourceLocator)> {
        let Some(memory) = &mut self.memory else { return Vec::new() };
        let mut welcome = Vec::new();
        for (type_url, locator) in std::mem::take(&mut memory.undecided) {
            match self.session.may_remember(&type_url, &locator) {
                None => {}
                Some(client::Memory::Welcome) => welcome.push((type_url, locator)),
                Some(client::Memory::Undecided) => memory.undecided.push((type_url, locator)),
                Some(client::Memory::Outdated) => {
                    let held = self.session.held_of(&type_url, &locator);
                    self.sink.note(Event::Outdated { type_url, locator, held });
                }
            }
        }
        welcome
    }

    /// Takes in what an earlier process left.
    pub(crate) fn restore(&mut self, past: Vec<Past>) {
        let Some(memory) = &mut self.memory else { return };
        for Past { type_url, variants, known } in past {
            memory.unconfirmed.entry(type_url.clone()).or_default();
            let batch = self.session.remember(&type_url, variants, known, memory.versions);
            batch.into_iter().for_each(|batch| self.sink.note(Event::Remembered(batch)));
        }
        self.report_unconfirmed();
    }

    /// Reports how much of what was restored is unconfirmed, when that has changed.
    pub(super) fn report_unconfirmed(&mut self) {
        let Some(memory) = &mut self.memory else { return };
        memory.unconfirmed.retain(|type_url, reported| {
            let before = std::mem::replace(reported, self.session.unconfirmed(type_url));
            if before != *reported {
                self.sink.note(Event::Unconfirmed(type_url.clone(), *reported));
            }
            *reported > 0
        });
    }

    /// A type with all that is cached of it comes from another stream.
    pub(super) fn expect_unconfirmed(&mut self, type_url: &TypeUrl) {
        if let Some(memory) = &mut self.memory {
            memory.unconfirmed.entry(type_url.clone()).or_default();
        }
    }
}
