//! What a locator has, when that goes before upstream has answered for the locator itself.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use support::*;
use weir_database::{Refresh, Shape};
use weir_types::Provenance::{Named, Wildcard};
use weir_types::{
    Absence, Batch, Code, KnownVersions, ResourceError, ResourceLocator, Scope, Undecided, VariantKey,
};

/// Upstream withdraws `key`, and has yet to answer for `a`, for `prod()`.
fn withdraw(fixture: &Fixture, key: VariantKey) {
    let mut batch = Batch::new(cds(), Named);
    batch.removals.push(key);
    batch.undecided.push(Undecided { name: "a".into(), scope: Scope::Exactly(prod()) });
    batch.mark_absent(&ResourceLocator::new("a", test()), Absence::Known);
    fixture.database.commit(batch);
}

/// One who asked first, and one who was served at once what came for him.
fn two() -> (Fixture, Stream, Stream) {
    let fixture = Fixture::new();
    let mut first = fixture.attach(&[located("a", test())]);
    fixture.put(Named, anyone("a"), "1");
    let mut late = fixture.attach(&[located("a", prod())]);
    assert_eq!((first.sent(), late.sent()), (only_a(), only_a()));
    (fixture, first, late)
}

fn only_a() -> (Vec<String>, Vec<String>) {
    (vec!["a[anyone]=1".into()], vec![])
}

fn nothing() -> (Vec<String>, Vec<String>) {
    Default::default()
}

#[test]
fn u03_who_was_served_at_once_keeps_it_until_upstream_has_answered_him() {
    let (fixture, mut first, mut late) = two();
    withdraw(&fixture, anyone("a"));
    assert_eq!(first.sent().1.len(), 1, "it was upstream's word to him");
    assert_eq!(late.sent(), nothing());
    fixture.put(Named, only("a", "prod"), "2");
    let (came, went) = late.sent();
    assert_eq!((came.len(), went.len()), (1, 1), "one takes the place of the other: {came:?} {went:?}");
}

#[test]
fn u03_what_was_kept_goes_with_upstreams_answer() {
    for absence in [Absence::Known, Absence::TimedOut] {
        let (fixture, _first, mut late) = two();
        withdraw(&fixture, anyone("a"));
        late.sent();
        let mut batch = Batch::new(cds(), Named);
        batch.mark_absent(&ResourceLocator::new("a", prod()), absence);
        fixture.database.commit(batch);
        let (came, went) = late.sent();
        assert_eq!((came.len(), went.len()), (0, 1), "{absence:?}");
        assert_eq!(fixture.database.audit(), Ok(()));
    }
}

#[test]
fn u03_an_error_is_an_answer_too() {
    let (fixture, _first, mut late) = two();
    withdraw(&fixture, anyone("a"));
    late.sent();
    let mut batch = Batch::new(cds(), Named);
    batch.fail(&ResourceLocator::new("a", prod()), ResourceError::new(Code::NOT_FOUND, "no"));
    fixture.database.commit(batch);
    let diff = late.step(Shape::Changes, false);
    assert_eq!((diff.removed.len(), diff.errors.sent.len()), (1, 1), "{diff:?}");
}

#[test]
fn u03_what_is_there_for_another_reason_is_not_kept() {
    let (fixture, _first, mut late) = two();
    let _all = fixture.attach(&[wildcard()]);
    fixture.put(Wildcard, anyone("a"), "1");
    withdraw(&fixture, anyone("a"));
    let mut batch = Batch::new(cds(), Named);
    batch.mark_absent(&ResourceLocator::new("a", prod()), Absence::TimedOut);
    fixture.database.commit(batch);
    assert_eq!(late.sent(), nothing(), "the wildcard has it");
    fixture.remove(Wildcard, anyone("a"));
    assert_eq!(late.sent().1.len(), 1);
}

#[test]
fn i16_the_proved_absence_of_an_earlier_life_is_no_proof_against_what_a_client_states_to_hold() {
    let fixture = Fixture::new();
    let _first = fixture.attach(&[located("a", prod())]);
    fixture.deny("a", prod());
    fixture.put(Named, anyone("a"), "1");
    withdraw(&fixture, anyone("a"));
    let mut batch = Batch::new(cds(), Named);
    batch.mark_absent(&ResourceLocator::new("a", prod()), Absence::TimedOut);
    fixture.database.commit(batch);
    let returning = fixture.attach(&[located("a", prod())]);
    let known: KnownVersions = [("a", "1")].into_iter().collect();
    let removed = || returning.pending_with(Shape::Changes, Refresh::None, Some(&known)).removed;
    assert_eq!(removed(), [], "upstream is silent");
    fixture.deny("a", prod());
    assert_ne!(removed(), []);
}
