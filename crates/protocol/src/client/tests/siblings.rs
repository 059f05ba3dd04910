//! Several locators of one name: which of them a bare name is the answer to.

use super::*;

#[test]
fn p18_a_bare_name_answers_the_locators_of_the_oldest_request_without_an_answer() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &["x{}"], vec![variant("x", "1")]);
    f.subscribe(&eds(), &["a{env=test}", "a{env=qa}"]);
    f.sent();
    f.subscribe(&eds(), &["a{env=prod}"]);
    f.sent();
    let applied = f.respond(&eds(), vec![], &["a"]);
    let asked_first = locators(&["a{env=qa}", "a{env=test}"]);
    assert_eq!(absent(&applied.batch, Absence::Known), asked_first, "the other request may be in flight");
    let applied = f.respond(&eds(), vec![variant("a[env=prod]", "1")], &[]);
    assert_eq!(upserts(&applied.batch), keys(&["a[env=prod]"]));
    assert_eq!(f.time_out().len(), 0);
}

#[test]
fn p18_a_variant_that_goes_is_no_answer_to_locators_that_it_does_not_match() {
    let mut f =
        Fixture::native(Dialect::Delta).with(&eds(), &["a{env=test}"], vec![variant("a[env=test]", "1")]);
    f.subscribe(&eds(), &["a{env=prod}"]);
    f.sent();
    let applied = f.respond(&eds(), vec![], &["a[env=test]"]);
    assert_eq!(removals(&applied.batch), keys(&["a[env=test]"]));
    assert_eq!(absent(&applied.batch, Absence::Known), locators(&["a{env=test}"]));
    assert_eq!(absent(&f.time_out()[0], Absence::TimedOut), locators(&["a{env=prod}"]), "silence is one");
}

#[test]
fn p18_an_error_of_a_bare_name_is_for_the_same_locators() {
    let mut f = Fixture::native(Dialect::Sotw).with(&eds(), &["x{}"], vec![variant("x", "1")]);
    f.subscribe(&eds(), &["a{env=test}"]);
    f.sent();
    f.subscribe(&eds(), &["a{env=prod}"]);
    f.sent();
    let missing = Reported { key: key("a"), code: Code::NOT_FOUND, message: "no".into() };
    let applied = f.respond_in_full(&eds(), vec![], &[], vec![missing]);
    assert_eq!(absent(&applied.batch, Absence::Known), locators(&["a{env=test}"]));
    let failed: Vec<_> = applied.batch.errors.iter().map(|failed| failed.scope.clone()).collect();
    assert_eq!(failed, [Scope::Exactly(params("env=test"))]);
}

/// The server answers what does not exist first.
#[test]
fn p18_u03_after_a_reconnect_a_bare_name_withdraws_nothing_that_another_locator_explains() {
    let first = || {
        let mut f =
            Fixture::native(Dialect::Delta).with(&eds(), &["a{env=prod}"], vec![variant("a[env=prod]", "1")]);
        f.stream.disconnected();
        f.subscribe(&eds(), &["a{env=test}"]);
        f.connect();
        let applied = f.respond(&eds(), vec![], &["a"]);
        assert_eq!(removals(&applied.batch), []);
        assert_eq!(absent(&applied.batch, Absence::Known), locators(&["a{env=test}"]));
        f
    };
    let mut f = first();
    f.respond(&eds(), vec![variant("a[env=prod]", "1")], &[]);
    assert_eq!(f.time_out().len(), 0, "it is confirmed");

    let mut f = first();
    let [batch] = &f.time_out()[..] else { panic!("it was asked for, and was not sent again") };
    assert_eq!(removals(batch), keys(&["a[env=prod]"]));
    assert_eq!(absent(batch, Absence::TimedOut), locators(&["a{env=prod}"]));
}

#[test]
fn u05_after_a_reconnect_a_bare_name_withdraws_what_nothing_else_explains() {
    let mut f =
        Fixture::native(Dialect::Delta).with(&eds(), &["a{env=prod}"], vec![variant("a[env=prod]", "1")]);
    f.stream.disconnected();
    f.connect();
    let applied = f.respond(&eds(), vec![], &["a"]);
    assert_eq!(removals(&applied.batch), keys(&["a[env=prod]"]));
    assert_eq!(absent(&applied.batch, Absence::Known), locators(&["a{env=prod}"]));
}

#[test]
fn i16_a_collection_that_is_not_answered_is_over_in_time_and_may_be_answered_later() {
    for dialect in [Dialect::Delta, Dialect::Sotw] {
        let mut f = Fixture::native(dialect);
        f.subscribe(&cds(), &["*{env=prod}"]);
        f.connect();
        let [batch] = &f.time_out()[..] else { panic!("{dialect}: its time is up") };
        let silence = Answered { absence: Absence::TimedOut, ..answered("*{env=prod}") };
        assert_eq!(batch.answered, [silence]);
        let applied = f.respond(&cds(), vec![], &[]);
        assert_eq!(applied.batch.answered, [answered("*{env=prod}")], "{dialect}: that is its word");
    }
}
