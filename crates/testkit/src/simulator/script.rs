//! What will happen by itself, worked out from the seed beforehand.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_types::TypeUrl;

use super::agenda::{Agenda, Event};
use super::types;

/// How long things happen by themselves. Streams are whole from then on.
pub(super) const SCRIPT: Duration = Duration::from_secs(60);

/// How long after it everything is refreshed that has a time to live. All else has come to rest then.
pub(super) const STEADY: Duration = Duration::from_secs(75);

/// Long enough after it for every timeout of every hop.
pub(super) const REST: Duration = Duration::from_secs(140);

/// How a type is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// By explicit names only.
    Names,
    /// By wildcards only.
    Wildcards,
    /// By either. They travel on different streams, one of which may be ahead of the other.
    Both,
}

/// How each type is asked for, by all clients.
#[derive(Debug)]
pub(super) struct Asking(BTreeMap<TypeUrl, Asked>);

impl Asking {
    pub(super) fn new(rng: &mut fastrand::Rng) -> Self {
        let asked = |type_url: TypeUrl| {
            let any = [Asked::Names, Asked::Wildcards, Asked::Both, Asked::Both][rng.usize(0..4)];
            let asked = if type_url.has_legacy_wildcard() { any } else { Asked::Names };
            (type_url, asked)
        };
        Self(types().into_iter().map(asked).collect())
    }

    pub(super) fn of(&self, type_url: &TypeUrl) -> Asked {
        self.0[type_url]
    }
}

/// Writes the script for so many clients and proxies.
pub(super) fn write(agenda: &mut Agenda, clients: usize, proxies: usize, rng: &mut fastrand::Rng) {
    let length = SCRIPT.as_millis() as u64;
    let mut add = |event: Event, rng: &mut fastrand::Rng| {
        agenda.at(Duration::from_millis(rng.u64(0..length)), event);
    };
    for _ in 0..rng.usize(5..60) {
        add(Event::Change, rng);
    }
    for who in 0..clients {
        for _ in 0..rng.usize(3..30) {
            add(Event::Act(who), rng);
        }
    }
    let faults = clients + proxies;
    for _ in 0..rng.usize(0..4 * faults) {
        add(Event::Cut, rng);
    }
    for _ in 0..rng.usize(0..2 * faults) {
        add(Event::Stall, rng);
    }
    for _ in 0..rng.usize(0..4).saturating_sub(1) {
        let which = rng.usize(0..=proxies);
        add(Event::Restart(which.checked_sub(1)), rng);
    }
    for second in 0..(SCRIPT + REST).as_secs() {
        agenda.at(Duration::from_secs(second), Event::Tick);
    }
}
