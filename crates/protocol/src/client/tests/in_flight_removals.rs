//! Answers that cross requests: what serves a locator goes before the server has read that it is wanted.

use super::*;

/// A stream on which `a` came for one parameter set, and is asked for by another one since.
fn in_flight(dialect: Dialect, type_url: &TypeUrl) -> Fixture {
    let mut f = Fixture::native(dialect).with(type_url, &["a{env=test}"], vec![variant("a", "1")]);
    f.subscribe(type_url, &["a{env=prod}"]);
    f.sent();
    f
}

fn undecided(batch: &Batch) -> Vec<&Name> {
    batch.undecided.iter().map(|undecided| &undecided.name).collect()
}

#[test]
fn u03_a_removal_that_crosses_a_request_is_no_answer_to_it() {
    let mut f = in_flight(Dialect::Delta, &eds());
    let applied = f.respond(&eds(), vec![variant("a[env=test]", "2")], &["a"]);
    assert_eq!((removals(&applied.batch), undecided(&applied.batch)), (keys(&["a"]), vec![&Name::from("a")]));
    assert_eq!(absent(&applied.batch, Absence::Known), []);
    let answer = f.respond(&eds(), vec![variant("a[env=prod]", "2")], &[]);
    assert_eq!(upserts(&answer.batch), keys(&["a[env=prod]"]));
    assert_eq!(f.time_out().len(), 0, "it is answered");
}

#[test]
fn u03_a_removal_that_comes_before_the_request_has_left_is_no_answer_to_it() {
    for dialect in [Dialect::Delta, Dialect::Sotw] {
        let mut f = Fixture::native(dialect).with(&cds(), &["a{env=test}"], vec![variant("a", "1")]);
        f.subscribe(&cds(), &["a{env=prod}"]);
        let removed: &[&str] = if dialect == Dialect::Delta { &["a"] } else { &[] };
        let applied = f.respond(&cds(), vec![variant("a[env=test]", "2")], removed);
        assert_eq!(
            (removals(&applied.batch), undecided(&applied.batch)),
            (keys(&["a"]), vec![&Name::from("a")])
        );
        assert_eq!(absent(&applied.batch, Absence::Known), [], "{dialect}");
        f.sent();
        assert_eq!(absent(&f.time_out()[0], Absence::TimedOut), locators(&["a{env=prod}"]), "silence is one");
    }
}

#[test]
fn u03_full_state_that_crosses_a_request_is_no_answer_to_it() {
    let mut f = in_flight(Dialect::Sotw, &cds());
    let applied = f.respond(&cds(), vec![variant("a[env=test]", "2")], &[]);
    assert_eq!((removals(&applied.batch), undecided(&applied.batch)), (keys(&["a"]), vec![&Name::from("a")]));
    assert_eq!(absent(&f.time_out()[0], Absence::TimedOut), locators(&["a{env=prod}"]), "silence is one");
}

#[test]
fn u03_the_bare_name_beside_what_goes_is_an_answer() {
    let mut f = in_flight(Dialect::Delta, &eds());
    let applied = f.respond(&eds(), vec![], &["a", "a"]);
    assert_eq!(undecided(&applied.batch), Vec::<&Name>::new());
    assert_eq!(absent(&applied.batch, Absence::Known).len(), 2);
}

#[test]
fn u03_what_goes_after_the_server_has_answered_is_gone() {
    let mut f = in_flight(Dialect::Delta, &eds());
    f.respond(&eds(), vec![variant("a", "1")], &[]);
    let applied = f.respond(&eds(), vec![], &["a"]);
    assert_eq!(undecided(&applied.batch), Vec::<&Name>::new());
    assert_eq!(absent(&applied.batch, Absence::Known).len(), 2);
}

#[test]
fn u03_what_is_held_from_an_earlier_stream_is_gone_when_the_server_says_so() {
    for dialect in [Dialect::Delta, Dialect::Sotw] {
        let mut f = in_flight(dialect, &cds());
        f.stream.disconnected();
        f.connect();
        let applied = f.respond(&cds(), vec![], if dialect == Dialect::Delta { &["a"] } else { &[] });
        assert_eq!(undecided(&applied.batch), Vec::<&Name>::new(), "{dialect}");
        assert_eq!(absent(&applied.batch, Absence::Known).len(), 2);
    }
}

#[test]
fn u03_a_removal_that_is_said_as_an_error_is_no_answer_either() {
    let mut f = in_flight(Dialect::Sotw, &eds());
    let gone = Reported { key: key("a"), code: Code::NOT_FOUND, message: "".into() };
    let applied = f.respond_in_full(&eds(), vec![Ok(variant("a[env=test]", "2"))], &[], vec![gone]);
    assert_eq!((removals(&applied.batch), undecided(&applied.batch)), (keys(&["a"]), vec![&Name::from("a")]));
    assert_eq!(applied.batch.errors, []);
}

/// A stream on which `a[env=prod]` came for a parameter set that was given up since, when two others had been asked for.
fn given_up() -> Fixture {
    let came = vec![variant("a[env=prod]", "1")];
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &["a{env=prod}"], came);
    f.subscribe(&eds(), &["a{env=prod,pod=7}", "a{env=test}"]);
    f.unsubscribe(&eds(), &["a{env=prod}"]);
    f.sent();
    f
}

#[test]
fn u03_what_came_for_others_goes_with_the_answer_when_they_are_gone() {
    let mut f = given_up();
    let applied = f.respond(&eds(), vec![], &["a"]);
    assert_eq!(removals(&applied.batch), keys(&["a[env=prod]"]), "nobody else is sent that it goes");
    let both = locators(&["a{env=prod,pod=7}", "a{env=test}"]);
    assert_eq!(absent(&applied.batch, Absence::Known), both);
}

#[test]
fn u03_what_came_for_others_stays_until_there_is_an_answer() {
    let mut f = given_up();
    let applied = f.respond(&eds(), vec![variant("a[env=test]", "1")], &[]);
    assert_eq!(undecided(&applied.batch), [&Name::from("a")]);
    assert_eq!(absent(&applied.batch, Absence::Known), []);
    let answer = f.respond(&eds(), vec![variant("a[env=prod]", "1")], &[]);
    assert_eq!(upserts(&answer.batch), keys(&["a[env=prod]"]));
    assert_eq!(f.time_out().len(), 0);
}

#[test]
fn u03_what_was_sent_to_one_who_stays_is_not_in_doubt() {
    let mut f = Fixture::native(Dialect::Delta);
    f = f.with(&eds(), &["a{env=prod}", "a{env=prod,pod=7}"], vec![variant("a[env=prod]", "1")]);
    f.unsubscribe(&eds(), &["a{env=prod}"]);
    f.subscribe(&eds(), &["a{env=test}"]);
    f.sent();
    let applied = f.respond(&eds(), vec![], &["a"]);
    assert_eq!(removals(&applied.batch), []);
    assert_eq!(absent(&applied.batch, Absence::Known), locators(&["a{env=test}"]));
}

#[test]
fn u03_a_locator_that_loses_its_answer_before_it_is_sent_waits_for_one() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect).with(&cds(), &["a{env=test}"], vec![variant("a", "1")]);
        f.subscribe(&cds(), &["a{env=prod}"]);
        f.respond(&cds(), vec![variant("a", "2")], &[]);
        let taken = f.respond(&cds(), vec![variant("a[env=test]", "3")], &["a"]);
        assert_eq!(taken.batch.undecided.len(), 1, "{dialect}");
        f.sent();
        let batches = f.time_out();
        assert_eq!(absent(&batches[0], Absence::TimedOut), locators(&["a{env=prod}"]), "{dialect}");
    }
}
