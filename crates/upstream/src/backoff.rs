//! When to try again.

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
    /// The longest wait after `failures` attempts that came to nothing.
    fn limit(self, failures: u32) -> Duration {
        self.base.saturating_mul(2u32.saturating_pow(failures)).min(self.max)
    }

    /// How long to wait after them, by chance.
    pub(crate) fn wait(self, failures: u32) -> Duration {
        self.limit(failures).mul_f64(fastrand::f64())
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
}
