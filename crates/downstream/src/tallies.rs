//! What is counted of every request and response of every stream: at the price of an addition each.
//!
//! As the instruments are, the counts are those of the process, whatever serves within it.

use std::sync::atomic::{AtomicU64, Ordering};

use opentelemetry::KeyValue;
use weir_metrics::Instrument;
use weir_types::{Kind, TypeUrl};

use crate::metrics::Speech;

/// With a place for each of the labels' values: both are bounded.
static TALLIES: [ProtocolTally; Speech::ALL.len()] = [const { ProtocolTally::new() }; Speech::ALL.len()];

/// In one dialect.
struct ProtocolTally {
    requests: AtomicU64,
    types: [Tally; Kind::ALL.len()],
}

/// Of one kind of resources.
pub(crate) struct Tally {
    responses: AtomicU64,
    sent: AtomicU64,
    heartbeats: AtomicU64,
    acks: AtomicU64,
    nacks: AtomicU64,
}

impl ProtocolTally {
    const fn new() -> Self {
        Self { requests: AtomicU64::new(0), types: [const { Tally::new() }; Kind::ALL.len()] }
    }
}

impl Tally {
    const fn new() -> Self {
        Self {
            responses: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            heartbeats: AtomicU64::new(0),
            acks: AtomicU64::new(0),
            nacks: AtomicU64::new(0),
        }
    }

    /// A response of so many bytes.
    pub(crate) fn response(&self, bytes: usize) {
        add(&self.responses, 1);
        add(&self.sent, bytes as u64);
    }

    /// A response that states what lives on.
    pub(crate) fn heartbeat(&self) {
        add(&self.heartbeats, 1);
    }

    pub(crate) fn ack(&self) {
        add(&self.acks, 1);
    }

    pub(crate) fn nack(&self) {
        add(&self.nacks, 1);
    }
}

/// Counts a request.
pub(crate) fn request(speech: impl Into<Speech>) {
    add(&TALLIES[speech.into() as usize].requests, 1);
}

/// What is counted of a type.
pub(crate) fn of(speech: impl Into<Speech>, type_url: &TypeUrl) -> &'static Tally {
    &TALLIES[speech.into() as usize].types[type_url.kind() as usize]
}

/// Shows the counts from now on.
pub(crate) fn observe() {
    weir_metrics::DOWNSTREAM_REQUESTS.observe(|observer| {
        for speech in Speech::ALL {
            let count = TALLIES[speech as usize].requests.load(Ordering::Relaxed);
            if count > 0 {
                observer.observe(count, &[speech.label()]);
            }
        }
    });
    observe_each(&weir_metrics::DOWNSTREAM_RESPONSES, |tally| &tally.responses);
    observe_each(&weir_metrics::DOWNSTREAM_SENT, |tally| &tally.sent);
    observe_each(&weir_metrics::DOWNSTREAM_HEARTBEATS, |tally| &tally.heartbeats);
    observe_each(&weir_metrics::DOWNSTREAM_ACKS, |tally| &tally.acks);
    observe_each(&weir_metrics::DOWNSTREAM_NACKS, |tally| &tally.nacks);
}

/// Shows one of the counts of each type that has any.
fn observe_each(instrument: &Instrument, count: fn(&Tally) -> &AtomicU64) {
    instrument.observe(move |observer| {
        for speech in Speech::ALL {
            for kind in Kind::ALL {
                let count = count(&TALLIES[speech as usize].types[kind as usize]).load(Ordering::Relaxed);
                if count > 0 {
                    observer.observe(count, &[speech.label(), KeyValue::new("type", kind.short_name())]);
                }
            }
        }
    });
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::ptr;

    use super::*;

    #[test]
    fn each_protocol_and_each_kind_has_a_place_of_its_own() {
        let places: HashSet<_> = Speech::ALL
            .into_iter()
            .flat_map(|speech| Kind::ALL.map(|kind| (speech, kind)))
            .map(|(speech, kind)| {
                let type_url = TypeUrl::of_kind(kind).unwrap_or_else(|| TypeUrl::new("of nobody"));
                assert_eq!(type_url.kind(), kind);
                ptr::from_ref(of(speech, &type_url))
            })
            .collect();
        assert_eq!(places.len(), Speech::ALL.len() * Kind::ALL.len());
    }
}
