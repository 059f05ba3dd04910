//! Until when clients that were sent a resource at a commit take it to live.

use std::time::Instant;

use weir_types::{Commit, Lease, Variant};

/// How many times are remembered: a stream that has missed more heartbeats is sent the resource.
const KEPT: usize = 8;

/// What clients were sent of a member with a time to live: at which commits, and until when it was to live then.
#[derive(Clone, Debug)]
pub(crate) struct Terms(Vec<(Commit, Option<Instant>)>);

fn until(variant: &Variant) -> Option<Instant> {
    variant.lease().as_ref().map(Lease::until)
}

impl Terms {
    /// Of a variant that is sent from `at` on; none if it has no time to live.
    pub(super) fn begin(variant: &Variant, at: Commit) -> Option<Box<Self>> {
        variant.content().ttl.map(|_| Box::new(Self(vec![(at, until(variant))])))
    }

    /// Notes that `variant`, which was sent already, lives longer as of `at`.
    pub(super) fn renew(&mut self, variant: &Variant, at: Commit) {
        let over = |until: Option<Instant>| {
            variant.lease().zip(until).is_some_and(|(lease, until)| until <= lease.since())
        };
        // Whoever was sent that, or earlier, is sent the resource.
        let kept = self.0.iter().rposition(|(_, until)| over(*until)).map_or(0, |last| last + 1);
        self.0.drain(..kept.max((self.0.len() + 1).saturating_sub(KEPT)));
        self.0.push((at, until(variant)));
    }

    /// Whether a client that was sent everything up to `after` may have dropped it by itself at `now`.
    pub(crate) fn are_over(&self, after: Commit, now: Instant) -> bool {
        let sent = self.0.iter().rev().find(|(at, _)| *at <= after);
        sent.is_none_or(|(_, until)| until.is_some_and(|until| until <= now))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_types::{Constraints, Content, VariantKey};

    use super::*;

    fn variant(ttl: u64) -> Variant {
        let content = Content { ttl: Some(Duration::from_secs(ttl)), ..Content::default() };
        Variant::new(VariantKey::new("x", Constraints::unconstrained()), content)
    }

    #[test]
    fn t02_each_client_counts_what_it_was_told_last() {
        let start = Instant::now();
        let second = |after| start + Duration::from_secs(after);
        let mut terms = Terms::begin(&variant(30).leased(start), Commit(1)).unwrap();
        terms.renew(&variant(10).leased(second(5)), Commit(2));
        let dropped = |terms: &Terms, after, now| terms.are_over(Commit(after), second(now));
        for (after, now, over) in [(0, 5, true), (1, 29, false), (1, 30, true), (2, 14, false), (9, 15, true)]
        {
            assert_eq!(dropped(&terms, after, now), over, "sent up to {after}, at {now}");
        }
        terms.renew(&variant(10).leased(second(15)), Commit(3));
        for (after, over) in [(1, true), (2, true), (3, false)] {
            assert_eq!(dropped(&terms, after, 16), over, "what was over before is not remembered: {after}");
        }
        (4..40).for_each(|at| terms.renew(&variant(10).leased(second(16)), Commit(at)));
        assert_eq!(terms.0.len(), KEPT);
        assert!(dropped(&terms, 31, 17) && !dropped(&terms, 32, 17));
    }

    #[test]
    fn t02_what_does_not_count_is_never_over() {
        let terms = Terms::begin(&variant(1), Commit(1)).unwrap();
        assert!(!terms.are_over(Commit(1), Instant::now() + Duration::from_secs(9)));
        let immortal = Variant::new(variant(1).key().clone(), Content::default());
        assert!(Terms::begin(&immortal, Commit(1)).is_none());
    }
}
