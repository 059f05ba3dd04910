//! u17: assignments that lose all of their endpoints at once.

use super::*;

const WINDOW: Duration = Duration::from_secs(10);
const GUARD: EndpointGuard =
    EndpointGuard { percent: 50, minimum: 3, window: WINDOW, confirm_after: Duration::from_secs(60) };
const BOTH: [Dialect; 2] = [Dialect::Delta, Dialect::Sotw];

/// An assignment with endpoints, or without.
fn assignment(number: usize, version: &str, has_endpoints: bool) -> Variant {
    let content = Content { has_endpoints: Some(has_endpoints), ..content(version) };
    Variant::new(key(&format!("e{number}")), content)
}

fn filled(numbers: std::ops::Range<usize>) -> Vec<Variant> {
    numbers.map(|i| assignment(i, "1", true)).collect()
}

fn empty(numbers: std::ops::Range<usize>) -> Vec<Variant> {
    numbers.map(|i| assignment(i, "2", false)).collect()
}

/// A stream that holds `count` assignments with endpoints, `e0` and on.
fn holding(dialect: Dialect, count: usize) -> Fixture {
    let mut f = Fixture::native(dialect);
    f.stream.settings.endpoint_guard = Some(GUARD);
    let names: Vec<String> = (0..count).map(|i| format!("e{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    f.subscribe(&eds(), &names);
    f.connect();
    f.respond(&eds(), filled(0..count), &[]);
    f.sent();
    f
}

/// The names that are brought, each with whether it has endpoints.
fn brought(applied: &Applied) -> Vec<(String, Option<bool>)> {
    let upserts = applied.batch.upserts.iter();
    let mut brought: Vec<_> = upserts.map(|v| (v.name().to_string(), v.content().has_endpoints)).collect();
    brought.sort();
    brought
}

impl Fixture {
    fn losses(&mut self) -> Vec<(Outcome, usize, usize)> {
        let sent = std::iter::from_fn(|| self.stream.poll_shrink());
        let losses = sent.inspect(|shrink| assert_eq!(shrink.loss, Loss::Endpoints));
        losses.map(|shrink| (shrink.outcome, shrink.count, shrink.withheld)).collect()
    }
}

#[test]
fn u17_too_many_are_a_share_and_a_number() {
    for (emptied, of, withheld) in [
        (1, 1, false),
        (2, 2, false),
        (3, 3, true),
        (3, 5, true),
        (3, 6, false),
        (50, 100, false),
        (51, 100, true),
    ] {
        for dialect in BOTH {
            let mut f = holding(dialect, of);
            let applied = f.respond(&eds(), empty(0..emptied), &[]);
            let count = if withheld { 0 } else { emptied };
            assert_eq!(applied.batch.upserts.len(), count, "{emptied} of {of} in {dialect}");
            let wanted = if withheld { vec![(Outcome::Withheld, emptied, emptied)] } else { Vec::new() };
            assert_eq!(f.losses(), wanted);
        }
    }
}

#[test]
fn u17_all_else_in_the_response_counts_and_it_is_acknowledged() {
    for dialect in BOTH {
        let mut f = holding(dialect, 10);
        let mut sent = empty(0..9);
        sent.push(assignment(9, "2", true));
        let applied = f.respond(&eds(), sent, &[]);
        assert_eq!(brought(&applied), [("e9".to_owned(), Some(true))], "{dialect}");
        assert!(applied.batch.absent.is_empty() && applied.ticket.is_some());
        let ack = f.request();
        assert_eq!((&*ack.nonce, &ack.nack), ("n2", &None));
        assert_eq!(f.stream.poll_timeout(), Some(f.now + GUARD.confirm_after), "nothing is awaited but that");
    }
}

#[test]
fn u17_what_was_passed_on_a_moment_ago_is_taken_back() {
    for dialect in BOTH {
        let mut f = holding(dialect, 5);
        for i in 0..2 {
            let applied = f.respond(&eds(), empty(i..i + 1), &[]);
            assert_eq!(applied.batch.upserts.len(), 1, "one service at zero is normal");
        }
        let applied = f.respond(&eds(), empty(2..3), &[]);
        let back = ["e0", "e1"].map(|name| (name.to_owned(), Some(true)));
        assert_eq!(brought(&applied), back, "{dialect}");
        assert_eq!(f.losses(), [(Outcome::Withheld, 3, 3)]);
        // The next one counts with those.
        assert_eq!(brought(&f.respond(&eds(), empty(3..4), &[])), []);
        assert_eq!(f.losses(), [(Outcome::Withheld, 1, 4)]);
    }
}

#[test]
fn u17_what_is_emptied_slowly_is_emptied() {
    for dialect in BOTH {
        let mut f = holding(dialect, 5);
        for i in 0..5 {
            assert_eq!(f.respond(&eds(), empty(i..i + 1), &[]).batch.upserts.len(), 1, "{dialect}: {i}");
            f.now += WINDOW / 2;
        }
        assert_eq!(f.losses(), []);
    }
}

#[test]
fn u17_what_has_endpoints_again_meanwhile_does_not_count() {
    let mut f = holding(Dialect::Delta, 5);
    f.respond(&eds(), empty(0..2), &[]);
    f.respond(&eds(), filled(0..2), &[]);
    assert_eq!(f.respond(&eds(), empty(2..4), &[]).batch.upserts.len(), 2);
}

#[test]
fn u17_a_second_response_confirms_what_it_repeats_and_endpoints_take_it_back() {
    for dialect in BOTH {
        let mut f = holding(dialect, 5);
        f.respond(&eds(), empty(0..5), &[]);
        let mut sent = empty(0..2);
        sent.extend((2..5).map(|i| assignment(i, "3", true)));
        let applied = f.respond(&eds(), sent, &[]);
        let empty = |name: &(String, Option<bool>)| name.1 == Some(false);
        assert_eq!(brought(&applied).iter().filter(|name| empty(name)).count(), 2, "{dialect}");
        assert_eq!(
            f.losses(),
            [(Outcome::Withheld, 5, 5), (Outcome::TakenBack, 3, 0), (Outcome::Repeated, 2, 0)]
        );
        assert_eq!(f.stream.poll_timeout(), None, "nothing is left to confirm");
    }
}

#[test]
fn u17_time_and_operators_confirm() {
    for dialect in BOTH {
        let mut f = holding(dialect, 5);
        f.respond(&eds(), empty(0..5), &[]);
        let at = f.now + GUARD.confirm_after;
        assert_eq!(f.stream.poll_timeout(), Some(at));
        let batches = f.stream.handle_timeout(at);
        assert_eq!(batches[0].upserts.len(), 5, "{dialect}");
        assert!(batches[0].upserts.iter().all(|variant| variant.content().has_endpoints == Some(false)));
        assert_eq!(f.losses().last(), Some(&(Outcome::Overdue, 5, 0)));
        assert_eq!(f.stream.poll_timeout(), None);

        let mut f = holding(dialect, 5);
        assert!(f.stream.confirm_removals(&eds()).is_empty());
        f.respond(&eds(), empty(0..5), &[]);
        assert_eq!(f.stream.confirm_removals(&eds())[0].upserts.len(), 5);
        assert_eq!(f.losses().last(), Some(&(Outcome::Confirmed, 5, 0)));
        assert!(f.stream.confirm_removals(&eds()).is_empty());
    }
}

#[test]
fn u17_without_a_guard_what_waited_is_emptied() {
    let mut f = holding(Dialect::Delta, 5);
    f.respond(&eds(), empty(0..5), &[]);
    let settings = Settings { endpoint_guard: None, ..f.stream.settings.clone() };
    assert_eq!(f.stream.apply_settings(settings)[0].upserts.len(), 5);
}

#[test]
fn u17_a_reconnect_states_what_is_held() {
    let mut f = holding(Dialect::Delta, 5);
    f.respond(&eds(), empty(0..5), &[]);
    f.sent();
    f.stream.disconnected();
    assert_eq!(f.stream.poll_timeout(), None, "who is away states nothing");
    let request = f.connect().remove(0);
    let stated = request.initial_versions.iter().map(|(_, version)| version.to_string());
    assert_eq!(stated.collect::<Vec<_>>(), ["1"; 5]);
    f.respond(&eds(), empty(0..5), &[]);
    assert_eq!(f.losses().last(), Some(&(Outcome::Repeated, 5, 0)), "on another stream too");

    let mut f = holding(Dialect::Sotw, 5);
    f.respond(&eds(), empty(0..5), &[]);
    f.sent();
    f.stream.disconnected();
    assert_eq!(&*f.connect()[0].version, "", "no version stands for what is held");
}

#[test]
fn u17_what_is_removed_or_not_wanted_waits_no_more() {
    let mut f = holding(Dialect::Delta, 5);
    f.respond(&eds(), empty(0..5), &[]);
    assert_eq!(f.respond(&eds(), Vec::new(), &["e0"]).batch.removals.len(), 1);
    f.unsubscribe(&eds(), &["e1"]);
    assert_eq!(f.stream.confirm_removals(&eds())[0].upserts.len(), 3);
}
