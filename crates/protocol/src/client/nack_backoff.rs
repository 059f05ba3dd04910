//! A control plane that sends again at once what was just rejected is not rejected again at once: both would do nothing
//! else.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// How many rejections for one reason are sent without delay.
const IMMEDIATE: u32 = 2;

/// The delay of the next one. It doubles with each.
const FIRST_DELAY: Duration = Duration::from_millis(100);

/// The longest delay.
const MAX_DELAY: Duration = Duration::from_secs(5);

/// After how long without it a reason is new.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// How many reasons are remembered.
const MAX_REASONS: usize = 32;

/// The reasons for which responses of one type were rejected on a stream.
#[derive(Debug, Default)]
pub(super) struct NackBackoff(VecDeque<Reason>);

#[derive(Debug)]
struct Reason {
    hash: u64,
    /// How often it was given.
    count: u32,
    last: Instant,
}

impl NackBackoff {
    /// Until when a rejection for this reason is to be deferred, of a response that came at `now`.
    pub(super) fn until(&mut self, nack: &str, now: Instant) -> Option<Instant> {
        let mut hasher = DefaultHasher::new();
        nack.hash(&mut hasher);
        let hash = hasher.finish();
        self.0.retain(|reason| now.saturating_duration_since(reason.last) < FORGET_AFTER);
        let known = self.0.iter().position(|reason| reason.hash == hash);
        let known = known.and_then(|at| self.0.remove(at));
        let count = known.map_or(0, |reason| reason.count).saturating_add(1);
        if self.0.len() == MAX_REASONS {
            self.0.pop_front();
        }
        self.0.push_back(Reason { hash, count, last: now });
        let doublings = count.checked_sub(IMMEDIATE + 1)?;
        let delay = FIRST_DELAY.saturating_mul(2_u32.saturating_pow(doublings));
        Some(now + delay.min(MAX_DELAY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_rejections_are_deferred_for_longer_and_longer() {
        let (mut backoff, now) = (NackBackoff::default(), Instant::now());
        let delays: Vec<_> =
            (0..40).map(|_| backoff.until("bad", now).map_or(0, |until| (until - now).as_millis())).collect();
        assert_eq!(delays[..9], [0, 0, 100, 200, 400, 800, 1600, 3200, 5000]);
        assert!(delays[9..].iter().all(|delay| *delay == 5000));
        assert_eq!(backoff.until("other", now), None);
        assert_eq!(backoff.until("bad", now + FORGET_AFTER), None, "it is forgotten");
    }

    #[test]
    fn few_reasons_are_remembered() {
        let (mut backoff, now) = (NackBackoff::default(), Instant::now());
        for n in 0..1000 {
            backoff.until(&n.to_string(), now);
        }
        assert_eq!(backoff.0.len(), MAX_REASONS);
    }
}
