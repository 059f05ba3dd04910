//! When the files are to vouch for the resources in them that have a time to live.
//!
//! A file that is there is to its resources what a control plane that is connected is to its own: they live on
//! for as long as this process does, and clients that receive nothing more drop them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How many heartbeats there are in a time to live: one may get lost.
const BEATS: u32 = 3;

/// How often there may be heartbeats at most, and at least.
const PACE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(3600)];

/// The times to live that there are, and when the resources that have them are vouched for next.
#[derive(Debug, Default)]
pub(super) struct Heartbeats(BTreeMap<Duration, Instant>);

impl Heartbeats {
    /// These times to live there are at `now`.
    pub(super) fn follow(&mut self, ttls: &BTreeSet<Duration>, now: Instant) {
        self.0.retain(|ttl, _| ttls.contains(ttl));
        for ttl in ttls {
            self.0.entry(*ttl).or_insert_with(|| now + pace(*ttl));
        }
    }

    /// When [`Self::take_due`] has something to give.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.values().min().copied()
    }

    /// The times to live of which resources have to be vouched for at `now`.
    pub(super) fn take_due(&mut self, now: Instant) -> BTreeSet<Duration> {
        let mut taken = BTreeSet::new();
        for (ttl, due) in self.0.iter_mut().filter(|(_, due)| **due <= now) {
            *due = now + pace(*ttl);
            taken.insert(*ttl);
        }
        taken
    }
}

fn pace(ttl: Duration) -> Duration {
    let [least, most] = PACE;
    (ttl / BEATS).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f02_each_time_to_live_has_a_pace_of_its_own() {
        let start = Instant::now();
        let seconds = Duration::from_secs;
        let (short, long) = (seconds(3), seconds(30));
        let mut heartbeats = Heartbeats::default();
        assert_eq!(heartbeats.next(), None);
        heartbeats.follow(&[short, long, Duration::MAX].into(), start);
        assert_eq!(heartbeats.next(), Some(start + seconds(1)));
        assert_eq!(heartbeats.take_due(start + seconds(1)), [short].into());
        heartbeats.follow(&[long].into(), start + seconds(2));
        assert_eq!(heartbeats.next(), Some(start + seconds(10)), "what is there already goes on as it did");
        assert_eq!(heartbeats.take_due(start + seconds(9)), [].into());
        assert_eq!(heartbeats.take_due(start + seconds(11)), [long].into());
        assert_eq!(heartbeats.next(), Some(start + seconds(21)));
    }
}
