//! How long a resource lives without being refreshed ("TTL").

use std::time::{Duration, Instant};

/// A time to live that counts: from when upstream last vouched for a resource until it must be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    since: Instant,
    until: Instant,
}

impl Lease {
    /// A life of `ttl` from `since`; none if it would never end.
    pub fn new(since: Instant, ttl: Duration) -> Option<Self> {
        Some(Self { since, until: since.checked_add(ttl)? })
    }

    /// When upstream vouched for the resource.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// When the resource must be gone.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Whether it is over at `now`.
    pub fn is_over(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// What is left of it at `now`, in whole seconds, so that clients that ask at about the same time are sent
    /// the same. Rounded up, and at least one: a client must not drop what upstream may still refresh in time.
    pub fn remaining(&self, now: Instant) -> Duration {
        let left = self.until.saturating_duration_since(now);
        let started = u64::from(left.subsec_nanos() > 0);
        Duration::from_secs(left.as_secs().saturating_add(started).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t03_a_client_never_drops_what_may_still_be_refreshed() {
        let from = Instant::now();
        let lease = Lease::new(from, Duration::from_secs(10)).unwrap();
        for (after, left) in [(0, 10), (1, 10), (999, 10), (1000, 9), (9_500, 1), (10_000, 1), (99_000, 1)] {
            let now = from + Duration::from_millis(after);
            assert_eq!(lease.remaining(now), Duration::from_secs(left), "after {after} ms");
            assert_eq!(lease.is_over(now), after >= 10_000);
        }
        assert_eq!(Lease::new(from, Duration::MAX), None, "what never ends is no lease");
    }
}
