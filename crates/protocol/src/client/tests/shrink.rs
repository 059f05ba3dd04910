//! u11: removals that are too many at once.

use super::*;

const GUARD: ShrinkGuard = ShrinkGuard { percent: 30, minimum: 3, confirm_after: Duration::from_secs(300) };

/// A stream that holds `count` clusters, `c0` and on, of a wildcard.
fn holding(dialect: Dialect, count: usize) -> Fixture {
    let mut f = Fixture::native(dialect);
    f.stream.settings.shrink_guard = Some(GUARD);
    f.subscribe(&cds(), &["*"]);
    f.connect();
    f.respond(&cds(), clusters(0..count), &[]);
    f.sent();
    f.completes()
}

fn clusters(numbers: std::ops::Range<usize>) -> Vec<Variant> {
    numbers.map(|i| variant(&format!("c{i}"), "1")).collect()
}

impl Fixture {
    /// Has the server state that it has the first `count` of the `of` that it had.
    fn shrink_to(&mut self, count: usize, of: usize) -> Applied {
        match self.stream.settings.dialect {
            Dialect::Sotw => self.respond(&cds(), clusters(0..count), &[]),
            Dialect::Delta => {
                let removed: Vec<String> = (count..of).map(|i| format!("c{i}")).collect();
                let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
                self.respond(&cds(), Vec::new(), &removed)
            }
        }
    }

    fn shrinks(&mut self) -> Vec<(Outcome, usize, usize)> {
        let sent = std::iter::from_fn(|| self.stream.poll_shrink());
        sent.map(|shrink| (shrink.outcome, shrink.count, shrink.withheld)).collect()
    }
}

const BOTH: [Dialect; 2] = [Dialect::Delta, Dialect::Sotw];

#[test]
fn u11_what_is_too_much_is_a_share_and_a_number() {
    for (removed, of, withheld) in [
        (2, 2, false),
        (3, 3, true),
        (3, 9, true),
        (3, 10, false),
        (30, 100, false),
        (31, 100, true),
        (0, 0, false),
    ] {
        assert_eq!(GUARD.withholds(removed, of), withheld, "{removed} of {of}");
        for dialect in BOTH {
            let mut f = holding(dialect, of);
            let applied = f.shrink_to(of - removed, of);
            assert_eq!(applied.batch.removals.len(), if withheld { 0 } else { removed }, "{removed} of {of}");
        }
    }
}

#[test]
fn u11_all_else_in_the_response_counts_and_it_is_acknowledged() {
    for dialect in BOTH {
        let mut f = holding(dialect, 10);
        let removed: Vec<String> = (1..10).map(|i| format!("c{i}")).collect();
        let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
        let applied = f.respond(&cds(), vec![variant("c0", "2"), variant("new", "1")], &removed);
        assert_eq!((applied.batch.upserts.len(), applied.batch.removals.len()), (2, 0), "{dialect}");
        assert!(applied.batch.absent.is_empty() && applied.ticket.is_some());
        let ack = f.request();
        assert_eq!((&*ack.nonce, &ack.nack), ("n2", &None));
        assert_eq!(f.shrinks(), [(Outcome::Withheld, 9, 9)]);
    }
}

#[test]
fn u11_a_second_response_confirms_what_it_repeats() {
    for dialect in BOTH {
        let mut f = holding(dialect, 10);
        f.shrink_to(2, 10);
        // It has three of them after all, and still not the others.
        let removed = ["c5", "c6", "c7", "c8", "c9"];
        let applied = f.respond(&cds(), clusters(0..5), &removed);
        assert_eq!(applied.batch.removals.len(), 5, "{dialect}");
        assert_eq!(
            f.shrinks(),
            [(Outcome::Withheld, 8, 8), (Outcome::TakenBack, 3, 0), (Outcome::Repeated, 5, 0)]
        );
        let left: Vec<_> = f.stream.handle_timeout(f.now + GUARD.confirm_after);
        assert!(left.is_empty(), "nothing is left to confirm: {left:?}");
    }
}

#[test]
fn u11_a_second_response_that_says_more_confirms_what_the_first_said() {
    for dialect in BOTH {
        let mut f = holding(dialect, 20);
        f.shrink_to(10, 20);
        let applied = f.shrink_to(2, 20);
        let gone: Vec<_> = applied.batch.removals.iter().map(|key| key.name.to_string()).collect();
        assert_eq!(gone.len(), 10, "{dialect}: {gone:?}");
        assert_eq!(
            f.shrinks(),
            [(Outcome::Withheld, 10, 10), (Outcome::Repeated, 10, 8), (Outcome::Withheld, 8, 8)]
        );
    }
}

#[test]
fn u11_time_confirms_while_connected() {
    for dialect in BOTH {
        let mut f = holding(dialect, 10);
        f.shrink_to(0, 10);
        assert_eq!(f.stream.poll_timeout(), Some(f.now + GUARD.confirm_after));
        f.stream.disconnected();
        assert_eq!(f.stream.poll_timeout(), None, "who is away states nothing");
        f.connect();
        assert_eq!(f.stream.poll_timeout(), None, "and has not stated anything yet");
        f.now += Duration::from_secs(1000);
        f.respond(&cds(), vec![variant("c0", "1")], &[]);
        if dialect == Dialect::Sotw {
            assert_eq!(f.shrinks().last(), Some(&(Outcome::Repeated, 9, 0)), "a full state states it again");
            continue;
        }
        let at = f.now + GUARD.confirm_after;
        assert_eq!(f.stream.poll_timeout(), Some(at));
        let batches = f.stream.handle_timeout(at);
        assert_eq!(batches[0].removals.len(), 9);
        assert_eq!(f.shrinks().last(), Some(&(Outcome::Overdue, 9, 0)));
        assert_eq!(f.stream.poll_timeout(), None);
    }
}

#[test]
fn u11_an_operator_confirms() {
    let mut f = holding(Dialect::Delta, 10);
    assert!(f.stream.confirm_removals(&cds()).is_empty());
    f.subscribe(&cds(), &["c3"]);
    f.sent();
    f.shrink_to(0, 10);
    let batch = f.stream.confirm_removals(&cds()).remove(0);
    assert_eq!((batch.removals.len(), batch.absent.len()), (10, 1), "those who asked by name are sent");
    assert_eq!(f.shrinks().last(), Some(&(Outcome::Confirmed, 10, 0)));
    assert!(f.stream.confirm_removals(&cds()).is_empty());
}

#[test]
fn u11_what_is_withheld_is_stated_as_held() {
    let mut f = holding(Dialect::Delta, 10);
    f.shrink_to(0, 10);
    f.stream.disconnected();
    assert_eq!(f.connect()[0].initial_versions.len(), 10);
    f.shrink_to(0, 10);
    assert_eq!(f.shrinks().last(), Some(&(Outcome::Repeated, 10, 0)), "on another stream too");

    let mut f = holding(Dialect::Sotw, 10);
    f.shrink_to(0, 10);
    f.sent();
    f.stream.disconnected();
    assert_eq!(&*f.connect()[0].version, "", "no version stands for what is held");
}

#[test]
fn u11_a_variant_that_makes_room_for_another_is_no_loss() {
    let mut f = Fixture::native(Dialect::Delta);
    f.stream.settings.shrink_guard = Some(GUARD);
    f.subscribe(&cds(), &["*{env=a}", "*{env=b}"]);
    f.connect();
    let old: Vec<Variant> = (0..10).map(|i| variant(&format!("c{i}[env=a]"), "1")).collect();
    f.respond(&cds(), old, &[]);
    let new: Vec<Variant> = (0..10).map(|i| variant(&format!("c{i}[env=b]"), "1")).collect();
    let removed: Vec<String> = (0..10).map(|i| format!("c{i}[env=a]")).collect();
    let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
    let applied = f.respond(&cds(), new, &removed);
    assert_eq!((applied.batch.upserts.len(), applied.batch.removals.len()), (10, 10));
}

#[test]
fn u11_what_nobody_wants_any_more_is_not_withheld() {
    let mut f = holding(Dialect::Delta, 10);
    f.shrink_to(0, 10);
    f.unsubscribe(&cds(), &["*"]);
    assert!(f.stream.confirm_removals(&cds()).is_empty());
}
