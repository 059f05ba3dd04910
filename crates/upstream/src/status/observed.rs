//! What is looked at whenever metrics are read: how the streams to control planes are doing.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use opentelemetry::KeyValue;

use super::{Status, StreamState};

const AWAY: &str = "away";
/// Something that was asked for is not answered yet.
const CONNECTED: &str = "connected";
const IN_SYNC: &str = "in_sync";
const STATES: [&str; 3] = [AWAY, CONNECTED, IN_SYNC];

impl StreamState {
    fn state(&self) -> &'static str {
        match (self.is_connected(), self.in_sync) {
            (false, _) => AWAY,
            (true, false) => CONNECTED,
            (true, true) => IN_SYNC,
        }
    }
}

impl Status {
    /// Shows the streams of each authority, for how long one has been away, and for how long none has changed.
    pub(crate) fn observe(&self) {
        let (streams, staleness, ages) = (self.clone(), self.clone(), self.clone());
        weir_metrics::UPSTREAM_STREAMS.observe(move |observer| {
            for ((authority, state), count) in streams.by_state() {
                let labels = [KeyValue::new("authority", authority), KeyValue::new("state", state)];
                observer.observe(count, &labels);
            }
        });
        let prefetching = self.clone();
        weir_metrics::UPSTREAM_PREFETCH_WAITING.observe(move |observer| {
            for (authority, waiting) in prefetching.waiting() {
                observer.observe(waiting, &[KeyValue::new("authority", authority)]);
            }
        });
        let withholding = self.clone();
        weir_metrics::UPSTREAM_WITHHELD_REMOVALS.observe(move |observer| {
            for ((authority, type_name, loss), count) in withholding.withheld() {
                let labels = [
                    KeyValue::new("authority", authority),
                    KeyValue::new("type", type_name),
                    KeyValue::new("loss", loss),
                ];
                observer.observe(count, &labels);
            }
        });
        weir_metrics::UPSTREAM_STALENESS.observe_f64(move |observer| {
            for (authority, away) in staleness.staleness(SystemTime::now()) {
                observer.observe(away.as_secs_f64(), &[KeyValue::new("authority", authority)]);
            }
        });
        weir_metrics::UPSTREAM_AGE.observe_f64(move |observer| {
            for (authority, age) in ages.age(SystemTime::now()) {
                observer.observe(age.as_secs_f64(), &[KeyValue::new("authority", authority)]);
            }
        });
    }

    /// How many streams of each authority are in each state. Every state is there, so that none is taken for zero
    /// because it sends nothing.
    fn by_state(&self) -> BTreeMap<(String, &'static str), u64> {
        let mut counts = BTreeMap::new();
        for stream in self.registry.lock().states.values().filter(|stream| !stream.idle) {
            for state in STATES {
                *counts.entry((stream.authority.clone(), state)).or_default() +=
                    u64::from(stream.state() == state);
            }
        }
        counts
    }

    /// For how long some stream of each authority has been away.
    fn staleness(&self, now: SystemTime) -> BTreeMap<String, Duration> {
        let away = |stream: &StreamState| match stream.is_connected() {
            true => Duration::ZERO,
            false => now.duration_since(stream.since).unwrap_or_default(),
        };
        self.each_authority(away, Duration::max)
    }

    /// For how long no stream of each authority was connected or lost.
    fn age(&self, now: SystemTime) -> BTreeMap<String, Duration> {
        self.each_authority(|stream| now.duration_since(stream.since).unwrap_or_default(), Duration::min)
    }

    /// What the streams of each authority come to.
    fn each_authority(
        &self,
        of: impl Fn(&StreamState) -> Duration,
        both: impl Fn(Duration, Duration) -> Duration,
    ) -> BTreeMap<String, Duration> {
        let mut all: BTreeMap<String, Duration> = BTreeMap::new();
        for stream in self.registry.lock().states.values() {
            let of = of(stream);
            all.entry(stream.authority.clone())
                .and_modify(|others| *others = both(*others, of))
                .or_insert(of);
        }
        all
    }

    /// How many losses wait, by authority, type and what is lost.
    fn withheld(&self) -> BTreeMap<(String, &'static str, &'static str), u64> {
        let mut counts = BTreeMap::new();
        for stream in self.registry.lock().states.values() {
            for ((type_url, loss), losses) in &stream.withheld {
                let key = (stream.authority.clone(), type_url.short_name(), loss.as_str());
                *counts.entry(key).or_default() += losses.count as u64;
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lane;

    #[test]
    fn a_stream_is_stale_from_when_it_was_lost() {
        let status = Status::default();
        let (one, other) =
            (status.register("a", None, Lane::default()), status.register("a", None, Lane::default()));
        one.connected("http://x", 0, None);
        other.connected("http://x", 0, None);
        other.in_sync(true);
        let counts = |status: &Status| status.by_state().into_values().collect::<Vec<_>>();
        assert_eq!(counts(&status), [0, 1, 1], "{:?}", status.by_state());
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(status.staleness(later)["a"], Duration::ZERO);
        other.disconnected();
        assert_eq!(counts(&status), [1, 1, 0]);
        let away = status.staleness(later)["a"];
        assert!(away > Duration::from_secs(50) && away <= Duration::from_secs(60), "{away:?}");
        let hour = Duration::from_secs(3600);
        status.registry.lock().states.last_entry().unwrap().get_mut().since -= hour;
        other.disconnected();
        assert!(status.staleness(later)["a"] >= hour, "a failed attempt to come back is no new loss");
    }

    #[test]
    fn an_authority_is_as_old_as_the_youngest_change_of_a_stream() {
        let status = Status::default();
        let (old, young) =
            (status.register("a", None, Lane::default()), status.register("a", None, Lane::default()));
        old.connected("http://x", 0, None);
        let hour = Duration::from_secs(3600);
        let streams: Vec<u64> = status.registry.lock().states.keys().copied().collect();
        for (id, ago) in streams.iter().zip([2 * hour, hour]) {
            status.registry.lock().states.get_mut(id).unwrap().since = SystemTime::now() - ago;
        }
        let age = status.age(SystemTime::now())["a"];
        assert!(age >= hour && age < 2 * hour, "{age:?}");
        young.connected("http://x", 0, None);
        assert!(status.age(SystemTime::now())["a"] < hour);
    }
}
