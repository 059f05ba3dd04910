//! How fast control planes are asked for what is new: in small portions, between which they, and Weir, deal with changes.
//! Not those that are sent all that is wanted, and answer all of it, each time. And how fast streams are opened that all
//! have ended at once.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// How long a portion keeps a control plane busy, and Weir with its answer: that is as long as others wait.
const PORTION: Duration = Duration::from_millis(10);

/// For how many seconds connections may be made at once, after a rest: as for new parameter sets.
const BURST: u32 = 10;

/// How fast the streams of one control plane connect, together.
#[derive(Debug, Default)]
pub(crate) struct ConnectPace(Mutex<Option<Instant>>);

impl ConnectPace {
    /// Waits until one more connection may be made, at so many a second; not at all where there is no limit.
    pub(crate) async fn turn(&self, per_second: Option<u32>) {
        if let Some(at) = per_second.map(|per_second| self.next(per_second)) {
            sleep_until(at).await;
        }
    }

    /// Takes the next turn.
    fn next(&self, per_second: u32) -> Instant {
        let (now, mut used) = (Instant::now(), self.0.lock());
        let until = used.map_or(now, |until| until.max(now));
        *used = Some(until + Duration::from_secs(1) / per_second.max(1));
        let burst = Duration::from_secs(u64::from(BURST));
        until.checked_sub(burst).map_or(now, |at| at.max(now))
    }
}

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
    async fn u03_streams_that_have_ended_together_connect_at_a_pace() {
        let (pace, start) = (ConnectPace::default(), Instant::now());
        // What no limit applies to takes no turns.
        pace.turn(None).await;
        for _ in 0..2 * BURST {
            pace.turn(Some(2)).await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO, "a burst");
        for _ in 0..4 {
            pace.turn(Some(2)).await;
        }
        assert!(start.elapsed().as_millis().abs_diff(1500) <= 2, "{:?}", start.elapsed());
        tokio::time::advance(Duration::from_secs(60)).await;
        let rested = Instant::now();
        for _ in 0..2 * BURST {
            pace.turn(Some(2)).await;
        }
        assert_eq!(rested.elapsed(), Duration::ZERO);
    }

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
