//! What cannot be accepted exists all the same: whatever goes beside it, it is not stated to be gone (e03).

use super::*;

fn aliased(name: &str, alias: &str) -> Variant {
    Variant::new(key(name), Content { aliases: Arc::from([Name::from(alias)]), ..content("1") })
}

fn undecided(batch: &Batch) -> Vec<&Name> {
    batch.undecided.iter().map(|undecided| &undecided.name).collect()
}

#[test]
fn e03_a_name_that_has_lost_its_alias_waits_for_something_acceptable() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &["a", "x"], vec![aliased("x", "a")]);
    let applied = f.respond_with(&eds(), vec![rejected(Some("a"), "a: bad")], &["x"]);
    assert_eq!(removals(&applied.batch), keys(&["x"]));
    assert_eq!(absent(&applied.batch, Absence::Known), locators(&["x"]));
    assert_eq!(undecided(&applied.batch), [&Name::from("a")]);
    assert_eq!(absent(&f.time_out()[0], Absence::TimedOut), locators(&["a"]), "it was not sent again");
}

#[test]
fn e03_a_name_that_is_said_to_be_gone_is_gone_whatever_else_came_of_it() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &["a", "x"], vec![aliased("x", "a")]);
    let applied = f.respond_with(&eds(), vec![rejected(Some("a"), "a: bad")], &["x", "a"]);
    assert_eq!(absent(&applied.batch, Absence::Known), locators(&["a", "x"]));
    assert_eq!(undecided(&applied.batch), Vec::<&Name>::new());
}

#[test]
fn e03_what_is_stated_for_an_alias_stays_if_it_comes_and_cannot_be_accepted() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &["a"], vec![aliased("x", "a")]);
    f.stream.disconnected();
    f.connect();
    let applied = f.respond_with(&eds(), vec![rejected(Some("x"), "x: bad")], &["a"]);
    assert_eq!(removals(&applied.batch), []);
    assert_eq!(absent(&applied.batch, Absence::Known), []);
}

#[test]
fn e03_a_member_that_cannot_be_accepted_stays_when_its_glob_is_said_to_be_empty() {
    let [glob, one, two] = ["xdstp://x/acme/d/*", "xdstp://x/acme/d/1", "xdstp://x/acme/d/2"];
    let both = vec![variant(one, "1"), variant(two, "1")];
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &[glob], both);
    let applied = f.respond_with(&eds(), vec![rejected(Some(one), "bad")], &[glob]);
    assert_eq!(removals(&applied.batch), keys(&[two]));
}

/// Sends the same bad resource in answer to every NACK, for a minute; how many there were.
fn nacks_in_a_minute(dialect: Dialect, beside: &[&str]) -> usize {
    let mut f =
        Fixture::native(dialect).with(&eds(), &["a", "b"], vec![variant("a", "1"), variant("b", "1")]);
    let (end, mut nacks) = (f.now + Duration::from_secs(60), 0);
    while f.now < end {
        for name in beside {
            f.respond(&eds(), vec![variant(name, &nacks.to_string())], &[]);
            assert!(f.sent().iter().all(|request| request.nack.is_none()));
        }
        f.respond_with(&eds(), vec![rejected(Some("a"), "a: bad")], &[]);
        let sent = loop {
            let sent = f.sent();
            if !sent.is_empty() {
                break sent;
            }
            f.now = f.stream.poll_timeout().unwrap();
            f.stream.handle_timeout(f.now);
        };
        assert_eq!(sent[0].nack.as_deref(), Some("a: bad"));
        nacks += 1;
    }
    nacks
}

#[test]
fn u07_a_server_that_resends_what_was_rejected_does_not_spin() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let nacks = nacks_in_a_minute(dialect, &[]);
        assert!((10..=20).contains(&nacks), "{dialect}: {nacks}");
        let nacks = nacks_in_a_minute(dialect, &["b"]);
        assert!((10..=20).contains(&nacks), "{dialect}, with something good: {nacks}");
    }
}

#[test]
fn u07_a_deferred_nack_goes_with_the_next_request_at_the_latest() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect).with(&eds(), &["a"], vec![variant("a", "1")]);
        for _ in 0..2 {
            f.respond_with(&eds(), vec![rejected(Some("a"), "a: bad")], &[]);
            assert_eq!(f.request().nack.as_deref(), Some("a: bad"));
        }
        f.respond_with(&eds(), vec![rejected(Some("a"), "a: bad")], &[]);
        assert_eq!(f.sent().len(), 0);
        f.subscribe(&eds(), &["b"]);
        assert_eq!(f.request().nack.as_deref(), Some("a: bad"));
        assert!(f.sent().is_empty());
    }
}
