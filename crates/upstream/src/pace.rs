//! How fast control planes are asked for what is new: in small portions, between which they, and Weir, deal with changes.
//! Not those that are sent all that is wanted, and answer all of it, each time.

use std::time::Duration;

use tokio::time::Instant;

/// How long a portion keeps a control plane busy, and Weir with its answer: that is as long as others wait.
const PORTION: Duration = Duration::from_millis(10);

/// When the next portion is due.
#[derive(Debug, Default)]
pub(crate) struct Pace(Option<Instant>);

impl Pace {
    /// How many changes a portion has: 25,000 a second.
    const COUNT: usize = 250;

    /// How many changes may be sent at once, where there is a source that `repeats` what is wanted.
    pub(crate) fn portion(repeats: bool) -> usize {
        if repeats { usize::MAX } else { Self::COUNT }
    }

    /// When more changes may be sent.
    pub(crate) fn next(&self) -> Instant {
        let now = Instant::now();
        self.0.map_or(now, |next| next.max(now))
    }

    /// Notes that so many changes are sent now.
    pub(crate) fn spend(&mut self, changes: usize) {
        let part = changes.min(Self::COUNT) as f64 / Self::COUNT as f64;
        self.0 = Some(Instant::now() + PORTION.mul_f64(part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn u12_portions_follow_each_other_at_a_pace_and_single_changes_at_once() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        assert_eq!(pace.next(), start);
        pace.spend(1);
        assert_eq!(pace.next() - start, PORTION / 250);
        pace.spend(Pace::COUNT);
        assert_eq!(pace.next() - start, PORTION);
        tokio::time::advance(PORTION * 2).await;
        assert_eq!(pace.next(), Instant::now());
        assert_eq!((Pace::portion(false), Pace::portion(true)), (250, usize::MAX));
    }
}
