//! When names that were refused are asked for again.

use std::time::{Duration, Instant};

/// The longest between two attempts, and the half of it.
const LONGEST: Duration = Duration::from_secs(60);

/// When names that were refused are asked for again: less and less often, and for each stream at times of its own.
#[derive(Debug)]
pub(super) struct Retry {
    pub(super) at: Instant,
    wait: Duration,
    rng: fastrand::Rng,
}

impl Retry {
    /// The first attempt is made after `wait`, from `now` on.
    pub(super) fn new(wait: Duration, seed: u64, now: Instant) -> Self {
        let mut retry = Self { at: now, wait, rng: fastrand::Rng::with_seed(seed) };
        retry.put_off(now);
        retry
    }

    /// An attempt was made at `now`; there will be another one.
    pub(super) fn put_off(&mut self, now: Instant) {
        self.at = now + self.wait.mul_f64(1.0 + self.rng.f64());
        self.wait = (self.wait * 2).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_become_rare() {
        let begin = Instant::now();
        let mut retry = Retry::new(Duration::from_secs(20), 7, begin);
        for (least, most) in [(20, 40), (40, 80), (60, 120), (60, 120)] {
            let now = begin + Duration::from_secs(1000);
            let after = retry.at - if least == 20 { begin } else { now };
            assert!((least..most).contains(&after.as_secs()), "{after:?}");
            retry.put_off(now);
        }
    }
}
