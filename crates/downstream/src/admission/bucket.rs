//! A token bucket: so many a second in the long run, so many at once.

use tokio::time::Instant;
use weir_config::Count;

/// How much was taken, and what has come back since. A fresh one is full.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    /// What was taken and has not come back, as of the last time that something was taken.
    taken: f64,
    last: Option<Instant>,
}

impl Bucket {
    /// Takes one, if there is one: of so many in a second, in the long run, and so many at once, after a quiet time.
    pub(super) fn take(&mut self, per_second: Count, burst: Count, now: Instant) -> bool {
        let back = self.last.map_or(0.0, |last| (now - last).as_secs_f64() * per_second.get() as f64);
        let taken = (self.taken - back).max(0.0);
        let is_left = taken + 1.0 <= burst.get() as f64;
        self.taken = if is_left { taken + 1.0 } else { taken };
        self.last = Some(now);
        is_left
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_at_once_and_then_the_rate() {
        let (mut bucket, start) = (Bucket::default(), Instant::now());
        let (per_second, burst) = (Count::of::<100>(), Count::of::<20>());
        let mut taken = |after: u64, tries: usize| {
            let now = start + Duration::from_millis(after);
            (0..tries).filter(|_| bucket.take(per_second, burst, now)).count()
        };
        assert_eq!(taken(0, 50), 20);
        assert_eq!(taken(5, 50), 0, "half of one has come back");
        assert_eq!(taken(10, 50), 1, "what was refused took nothing");
        assert_eq!(taken(60, 50), 5);
        assert_eq!(taken(60_000, 50), 20, "no more than the burst is saved up");
        assert_eq!((1..=1000).map(|i| taken(60_000 + i, 3)).sum::<usize>(), 100, "a second");
    }

    #[test]
    fn a_new_rate_counts_at_once() {
        let (mut bucket, now) = (Bucket::default(), Instant::now());
        let (one, two) = (Count::of::<1>(), Count::of::<2>());
        assert!(bucket.take(one, one, now) && !bucket.take(one, one, now));
        assert!(bucket.take(one, two, now) && !bucket.take(one, two, now));
        assert!(!bucket.take(one, one, now));
    }
}
