//! Virtual time: what is on its way, and when it arrives.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_protocol::server::Inbound;

use crate::model::Response;

/// Something on its way, or due.
#[derive(Debug)]
pub(super) enum Event {
    /// A request from Weir arrives at the origin.
    Asked(usize, Inbound),
    /// A response of the origin arrives at Weir.
    Answered(usize, Response),
    /// A stream to the origin breaks.
    Cut(usize),
    /// A stream to the origin is open again.
    Opened(usize),
    /// A request of a client arrives at Weir.
    Subscribed(usize, Inbound),
    /// A response of Weir arrives at a client.
    Delivered(usize, Response),
    /// A client's stream breaks, and it opens another.
    Reconnect(usize),
    /// The origin's content changes.
    Change,
    /// A client subscribes to something else.
    Act(usize),
    /// A second has passed.
    Tick,
}

impl Event {
    /// Whether it is part of a conversation rather than of the script.
    fn is_traffic(&self) -> bool {
        !matches!(self, Self::Tick | Self::Change | Self::Act(_))
    }
}

/// Everything that will happen, in order of time.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    now: Duration,
    serial: u64,
    /// With the generation of the stream that it travels on, where it does.
    due: BTreeMap<(Duration, u64), (u64, Event)>,
}

impl Agenda {
    pub(super) fn now(&self) -> Duration {
        self.now
    }

    pub(super) fn at(&mut self, when: Duration, generation: u64, event: Event) {
        self.serial += 1;
        self.due.insert((when.max(self.now), self.serial), (generation, event));
    }

    pub(super) fn after(&mut self, delay: Duration, event: Event) {
        self.at(self.now + delay, 0, event);
    }

    pub(super) fn next(&mut self) -> Option<(u64, Event)> {
        let ((when, _), event) = self.due.pop_first()?;
        self.now = when;
        Some(event)
    }

    /// Whether nothing travels.
    pub(super) fn is_quiet(&self) -> bool {
        !self.due.values().any(|(_, event)| event.is_traffic())
    }
}

/// One direction of a stream: in order, each thing later than the one before.
#[derive(Debug, Default)]
pub(super) struct Lane {
    free: Duration,
}

impl Lane {
    /// When something that is sent now arrives.
    pub(super) fn arrival(&mut self, now: Duration, rng: &mut fastrand::Rng) -> Duration {
        let delay = match rng.u32(0..50) {
            0 => rng.u64(500..4_000),
            1..10 => rng.u64(20..200),
            _ => rng.u64(1..20),
        };
        self.free = self.free.max(now) + Duration::from_millis(delay);
        self.free
    }
}
