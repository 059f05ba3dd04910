//! Which of several endpoints a stream is to be on, and when another one is tried.
//!
//! Owns what is known of each endpoint, which is what its streams have shown: whether they can be opened, answer,
//! and last. Time is an argument. Never opens anything, and never asks for the end of a stream while nothing better
//! is known: another endpoint is tried beside it first.

use std::time::{Duration, Instant};

use crate::Backoff;

/// What it takes for an endpoint to be a good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// How long a stream may take to answer something before others are tried beside it. Those have as long.
    pub answer: Duration,
    /// How long a stream has to last after its first answer. One that ends before is a failure, however often it
    /// has answered, and the next attempt waits longer.
    pub lasting: Duration,
}

impl Default for Trial {
    fn default() -> Self {
        Self { answer: Duration::from_secs(10), lasting: Duration::from_secs(10) }
    }
}

/// The endpoints, in order of preference.
///
/// ```text
///           opened             answered            lasted
///  due ──────────────▶ silent ──────────▶ proven ──────────▶ good
///   ▲                    │                  │                 │
///   └── after a backoff ─┴──────────────────┘   ends: again ◀─┘
///       that grows
/// ```
///
/// Whatever the current stream is, endpoints that are preferred to its own are tried beside it, and all others too
/// while it is silent; each when its backoff is over.
#[derive(Debug)]
pub(crate) struct Failover {
    backoff: Backoff,
    trial: Trial,
    endpoints: Vec<Health>,
    current: Option<Current>,
    /// The endpoint of a good stream that has ended is tried first, as far as it goes: streams end for all sorts of
    /// reasons.
    again: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Health {
    /// In a row.
    failures: u32,
    not_before: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    endpoint: usize,
    opened: Instant,
    proven: Option<Instant>,
    /// Nothing is expected of it, so that its silence means nothing.
    idle: bool,
}

// === impl Failover ===

impl Failover {
    pub(crate) fn new(backoff: Backoff, trial: Trial, endpoints: usize) -> Self {
        let endpoints = vec![Health::default(); endpoints];
        Self { backoff, trial, endpoints, current: None, again: None }
    }

    /// Which endpoint to try when there is no stream, and how long to wait before: for ever, where there is none.
    pub(crate) fn next(&mut self, now: Instant) -> (usize, Duration) {
        let due = |health: &Health| health.not_before.is_none_or(|at| at <= now);
        let first = self.again.take().or_else(|| self.endpoints.iter().position(due));
        let soonest = || (0..self.endpoints.len()).min_by_key(|i| self.endpoints[*i].not_before);
        let endpoint = first.or_else(soonest).unwrap_or_default();
        let Some(health) = self.endpoints.get(endpoint) else { return (endpoint, Duration::MAX) };
        (endpoint, health.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(now)))
    }

    /// A stream to `endpoint` is the current one now.
    pub(crate) fn opened(&mut self, endpoint: usize, now: Instant) {
        if self.current.is_some_and(|current| current.endpoint != endpoint && current.proven.is_none()) {
            self.fail(now);
        }
        self.current = Some(Current { endpoint, opened: now, proven: None, idle: false });
    }

    /// The current stream has answered something.
    pub(crate) fn answered(&mut self, now: Instant) {
        if let Some(current) = &mut self.current {
            current.proven.get_or_insert(now);
        }
    }

    /// Whether anything is left that the current stream should answer.
    pub(crate) fn expect(&mut self, anything: bool, now: Instant) {
        let answer = self.trial.answer;
        if let Some(current) = &mut self.current {
            // What is stated when its time is over changes nothing any more.
            current.idle = if now < current.opened + answer { !anything } else { current.idle };
        }
    }

    /// There is no stream to `endpoint`, or not any more.
    pub(crate) fn failed(&mut self, endpoint: usize, now: Instant) {
        if self.current.is_some_and(|current| current.endpoint == endpoint) {
            self.fail(now);
            self.current = None;
        } else {
            self.note_failure(endpoint, false, now);
        }
    }

    fn fail(&mut self, now: Instant) {
        if let Some(Current { endpoint, opened, proven, idle }) = self.current {
            let good_since = proven.or_else(|| idle.then_some(opened));
            let good = good_since.is_some_and(|at| now.saturating_duration_since(at) >= self.trial.lasting);
            self.note_failure(endpoint, good, now);
            self.again = good.then_some(endpoint);
        }
    }

    fn note_failure(&mut self, endpoint: usize, good: bool, now: Instant) {
        let Some(health) = self.endpoints.get_mut(endpoint) else { return };
        health.failures = if good { 0 } else { health.failures.saturating_add(1) };
        health.not_before = Some(now + self.backoff.wait(health.failures.saturating_sub(1)));
    }

    /// Which endpoint to try beside the current stream, and when.
    pub(crate) fn beside(&self, now: Instant) -> Option<(usize, Instant)> {
        let current = self.current?;
        let silent_at =
            (current.proven.is_none() && !current.idle).then(|| current.opened + self.trial.answer);
        let candidates = self.endpoints.iter().enumerate().filter_map(|(endpoint, health)| {
            let from = match endpoint < current.endpoint {
                true => current.opened,
                false => silent_at.filter(|_| endpoint > current.endpoint)?,
            };
            Some((endpoint, health.not_before.map_or(from, |at| at.max(from)).max(now)))
        });
        candidates.min_by_key(|(endpoint, at)| (*at, *endpoint))
    }

    /// For how long an endpoint that is tried beside the current stream has to last once it has answered, before it
    /// takes that one's place: not at all where that has never answered.
    pub(crate) fn lasting(&self) -> Duration {
        let proven = self.current.is_some_and(|current| current.proven.is_some());
        if proven { self.trial.lasting } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(30) };
    const ZERO: Duration = Duration::ZERO;

    /// With time that the test moves.
    struct Fixture {
        failover: Failover,
        now: Instant,
    }

    impl Fixture {
        fn new(endpoints: usize) -> Self {
            Self { failover: Failover::new(BACKOFF, Trial::default(), endpoints), now: Instant::now() }
        }

        fn pass(&mut self, seconds: u64) {
            self.now += Duration::from_secs(seconds);
        }

        fn next(&mut self) -> (usize, Duration) {
            self.failover.next(self.now)
        }

        fn open(&mut self, endpoint: usize) {
            self.failover.opened(endpoint, self.now);
        }

        fn answer(&mut self) {
            self.failover.answered(self.now);
        }

        fn fail(&mut self, endpoint: usize) {
            self.failover.failed(endpoint, self.now);
        }

        fn failures(&self, endpoint: usize) -> u32 {
            self.failover.endpoints[endpoint].failures
        }

        /// Whom to try now.
        fn beside(&self) -> Option<usize> {
            self.failover.beside(self.now).filter(|(_, at)| *at <= self.now).map(|(endpoint, _)| endpoint)
        }
    }

    #[test]
    fn u04_all_endpoints_are_tried_in_order_before_waiting() {
        let mut f = Fixture::new(3);
        for endpoint in 0..3 {
            assert_eq!(f.next(), (endpoint, ZERO));
            f.fail(endpoint);
        }
        let (_, wait) = f.next();
        assert!(wait <= BACKOFF.base, "{wait:?}");
        f.pass(1);
        assert_eq!(f.next(), (0, ZERO), "the best of those that are due");
    }

    #[test]
    fn u03_waits_grow_until_a_stream_has_lasted() {
        let mut f = Fixture::new(1);
        for failures in 1..=4 {
            let (endpoint, wait) = f.next();
            f.pass(wait.as_secs() + 1);
            f.open(endpoint);
            f.answer();
            f.pass(1);
            f.fail(endpoint);
            assert_eq!(f.failures(0), failures, "answering is not lasting");
        }
        f.pass(30);
        f.open(0);
        f.answer();
        f.pass(10);
        f.fail(0);
        assert_eq!(f.failures(0), 0);
        assert!(f.next().1 <= BACKOFF.base);
        f.fail(0);
        f.open(0);
        f.failover.expect(false, f.now);
        f.pass(10);
        f.fail(0);
        assert_eq!(f.failures(0), 0, "there was nothing to send, and the stream lasted");
    }

    #[test]
    fn u04_the_end_of_a_good_stream_is_no_reason_to_leave_its_endpoint() {
        let mut f = Fixture::new(2);
        f.open(0);
        f.answer();
        f.pass(10);
        f.fail(0);
        assert_eq!(f.next().0, 0);
        f.fail(0);
        assert_eq!(f.next(), (1, ZERO), "but that it cannot be reached is");
    }

    #[test]
    fn u04_a_preferred_endpoint_is_tried_beside_the_one_in_use() {
        let mut f = Fixture::new(3);
        f.fail(0);
        f.fail(1);
        f.open(2);
        f.answer();
        assert_eq!(f.failover.lasting(), Trial::default().lasting);
        f.pass(1);
        assert_eq!(f.beside(), Some(0), "the best of those that are due");
        f.fail(0);
        f.fail(1);
        let (_, at) = f.failover.beside(f.now).expect("there are better ones");
        assert!(at <= f.now + 2 * BACKOFF.base, "each when its own backoff is over");
        assert_eq!((f.failures(0), f.failures(1), f.failures(2)), (2, 2, 0));
        f.open(0);
        f.answer();
        f.pass(60);
        assert_eq!(f.beside(), None, "nothing is better than the first");
        assert_eq!(f.failures(2), 0, "a proven stream that is left has not failed");
    }

    #[test]
    fn u04_a_silent_stream_is_kept_until_another_endpoint_answers() {
        let mut f = Fixture::new(2);
        f.open(0);
        assert_eq!(f.beside(), None);
        f.pass(10);
        assert_eq!((f.beside(), f.failover.lasting()), (Some(1), ZERO));
        f.fail(1);
        let (again, at) = f.failover.beside(f.now).expect("as long as it is silent");
        assert!(again == 1 && at <= f.now + BACKOFF.base);
        f.open(1);
        assert_eq!(f.failures(0), 1, "it was left for its silence");
        f.pass(1);
        assert_eq!(f.beside(), Some(0));
        assert_eq!(f.failover.lasting(), ZERO, "neither has answered");
    }

    #[test]
    fn u04_silence_says_nothing_where_no_answer_is_owed() {
        let mut f = Fixture::new(2);
        f.open(0);
        f.failover.expect(false, f.now);
        f.pass(60);
        assert_eq!(f.beside(), None);
        f.open(0);
        f.pass(10);
        f.failover.expect(false, f.now);
        assert_eq!(f.beside(), Some(1), "that it counts as missing now is no answer");
        f.answer();
        assert_eq!(f.beside(), None);
    }
}
