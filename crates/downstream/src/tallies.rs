//! What is counted of every request and response of every stream: at the price of an addition each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opentelemetry::KeyValue;
use weir_metrics::Instrument;
use weir_types::{Kind, TypeUrl};

use crate::metrics::Speech;

/// A table with a place for each of the labels' values: both are bounded.
#[derive(Debug, Default)]
pub(crate) struct Tallies([Spoken; Speech::ALL.len()]);

/// In one way of speaking.
#[derive(Debug, Default)]
struct Spoken {
    requests: AtomicU64,
    types: [Tally; Kind::ALL.len()],
}

/// Of one kind of resources.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    responses: AtomicU64,
    sent: AtomicU64,
    heartbeats: AtomicU64,
    acks: AtomicU64,
    nacks: AtomicU64,
}

impl Tally {
    /// A response of so many bytes.
    pub(crate) fn response(&self, bytes: usize) {
        add(&self.responses, 1);
        add(&self.sent, bytes as u64);
    }

    /// A response that says what lives on.
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

impl Tallies {
    pub(crate) fn request(&self, speech: impl Into<Speech>) {
        add(&self.0[speech.into() as usize].requests, 1);
    }

    /// What is counted of a type.
    pub(crate) fn of(&self, speech: impl Into<Speech>, type_url: &TypeUrl) -> &Tally {
        &self.0[speech.into() as usize].types[type_url.kind() as usize]
    }

    /// Shows the counts from now on.
    pub(crate) fn observe(self: &Arc<Self>) {
        let tallies = Arc::clone(self);
        weir_metrics::DOWNSTREAM_REQUESTS.observe(move |observer| {
            for speech in Speech::ALL {
                let count = tallies.0[speech as usize].requests.load(Ordering::Relaxed);
                if count > 0 {
                    observer.observe(count, &[speech.label()]);
                }
            }
        });
        self.observe_each(&weir_metrics::DOWNSTREAM_RESPONSES, |tally| &tally.responses);
        self.observe_each(&weir_metrics::DOWNSTREAM_SENT, |tally| &tally.sent);
        self.observe_each(&weir_metrics::DOWNSTREAM_HEARTBEATS, |tally| &tally.heartbeats);
        self.observe_each(&weir_metrics::DOWNSTREAM_ACKS, |tally| &tally.acks);
        self.observe_each(&weir_metrics::DOWNSTREAM_NACKS, |tally| &tally.nacks);
    }

    /// Shows one of the counts of each type that has any.
    fn observe_each(self: &Arc<Self>, instrument: &Instrument, count: fn(&Tally) -> &AtomicU64) {
        let tallies = Arc::clone(self);
        instrument.observe(move |observer| {
            for speech in Speech::ALL {
                for kind in Kind::ALL {
                    let count = count(&tallies.0[speech as usize].types[kind as usize]);
                    let count = count.load(Ordering::Relaxed);
                    if count > 0 {
                        observer.observe(count, &[speech.label(), KeyValue::new("type", kind.short_name())]);
                    }
                }
            }
        });
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_of_speaking_and_each_kind_has_a_place_of_its_own() {
        let tallies = Tallies::default();
        for (i, speech) in Speech::ALL.into_iter().enumerate() {
            assert_eq!(speech as usize, i);
            for kind in Kind::ALL {
                let short = kind.short_name();
                let type_url = TypeUrl::from_short_name(short).unwrap_or_else(|| TypeUrl::new("of nobody"));
                let tally = tallies.of(speech, &type_url);
                assert_eq!(tally.responses.load(Ordering::Relaxed), 0, "{short}");
                tally.response(7);
                assert_eq!(tally.sent.load(Ordering::Relaxed), 7, "{short}");
            }
        }
    }
}
