//! When and where to try again.

use std::time::Duration;

/// Exponential backoff with full jitter: before attempt `n` a time between nothing and `base * 2^n`, at most
/// `max`. Replicas that lost their control plane together do not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The longest first wait.
    pub base: Duration,
    /// The longest wait.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_millis(500), max: Duration::from_secs(30) }
    }
}

// === impl Backoff ===

impl Backoff {
    /// The longest wait after `failures` rounds that came to nothing.
    fn limit(self, failures: u32) -> Duration {
        self.base.saturating_mul(2u32.saturating_pow(failures)).min(self.max)
    }

    fn wait(self, failures: u32) -> Duration {
        self.limit(failures).mul_f64(fastrand::f64())
    }
}

/// Goes through the endpoints in order of preference, again and again.
#[derive(Debug)]
pub(crate) struct Attempts {
    backoff: Backoff,
    endpoints: usize,
    next: usize,
    failed_rounds: u32,
}

// === impl Attempts ===

impl Attempts {
    pub(crate) fn new(backoff: Backoff, endpoints: usize) -> Self {
        Self { backoff, endpoints, next: 0, failed_rounds: 0 }
    }

    /// Which endpoint to try.
    pub(crate) fn endpoint(&self) -> usize {
        self.next
    }

    /// Notes that the endpoint failed, and whether it had been of use before. Gives how long to wait before the
    /// next attempt: not at all where another endpoint is left to try.
    pub(crate) fn failed(&mut self, was_healthy: bool) -> Duration {
        if was_healthy {
            (self.next, self.failed_rounds) = (0, 0);
            return self.backoff.wait(0);
        }
        self.next += 1;
        if self.next < self.endpoints {
            return Duration::ZERO;
        }
        self.next = 0;
        self.failed_rounds = self.failed_rounds.saturating_add(1);
        self.backoff.wait(self.failed_rounds - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u03_waits_grow_up_to_the_limit() {
        let backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(20) };
        let limits: Vec<_> = (0..7).map(|n| backoff.limit(n).as_secs()).collect();
        assert_eq!(limits, [1, 2, 4, 8, 16, 20, 20]);
        assert_eq!(backoff.limit(u32::MAX), backoff.max);
        assert!((0..100).all(|_| backoff.wait(2) <= Duration::from_secs(4)));
    }

    #[test]
    fn u04_all_endpoints_are_tried_before_waiting() {
        let mut attempts = Attempts::new(Backoff::default(), 3);
        for wanted in [1, 2] {
            assert_eq!(attempts.failed(false), Duration::ZERO);
            assert_eq!(attempts.endpoint(), wanted);
        }
        attempts.failed(false);
        assert_eq!((attempts.endpoint(), attempts.failed_rounds), (0, 1));
        attempts.failed(false);
        attempts.failed(true);
        assert_eq!((attempts.endpoint(), attempts.failed_rounds), (0, 0), "begins anew after a good time");
    }
}
