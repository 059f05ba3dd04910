//! Glob collections: what they show, beside names and wildcards, and when they are answered.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use std::collections::BTreeSet;

use support::*;
use weir_database::{Query, Refresh, Removed, Shape};
use weir_types::Provenance::{Local, Named, Wildcard};
use weir_types::{Absence, Answered, Batch, DynamicParameters, Form, KnownVersions, Selector, WILDCARD};

const GLOB: &str = "xdstp://auth/T/dir/*?k=v";
const A: &str = "xdstp://auth/T/dir/a?k=v";
const B: &str = "xdstp://auth/T/dir/b?k=v";

fn nothing() -> (Vec<String>, Vec<String>) {
    Default::default()
}

/// What is sent of resources and their contents, and of names that are gone.
fn sent(resources: &[(&str, &str)], removed: &[&str]) -> (Vec<String>, Vec<String>) {
    let resources = resources.iter().map(|(name, body)| format!("{name}[anyone]={body}"));
    (resources.collect(), removed.iter().map(|name| format!("Name({name:?})")).collect())
}

#[test]
fn w04_a_glob_shows_the_names_of_its_directory_with_equal_parameters() {
    let fixture = Fixture::new();
    fixture.put(Local, anyone(A), "1");
    let mut stream = fixture.attach(&[plain(GLOB)]);
    assert_eq!(stream.sent(), sent(&[(A, "1")], &[]));
    for other in [
        "xdstp://auth/T/dir/a",
        "xdstp://auth/T/dir/a?k=w",
        "xdstp://auth/T/dir/a?j=v&k=v",
        "xdstp://auth/T/dir/deeper/a?k=v",
        "xdstp://auth/T/a?k=v",
        "xdstp://auth/U/dir/a?k=v",
        "xdstp://other/T/dir/a?k=v",
        "dir/a",
    ] {
        fixture.put(Local, anyone(other), "1");
        assert_eq!(stream.sent(), nothing(), "{other}");
    }
    fixture.put(Local, anyone(B), "1");
    assert_eq!(stream.sent(), sent(&[(B, "1")], &[]));
    fixture.remove(Local, anyone(A));
    assert_eq!(stream.sent(), sent(&[], &[A]));
}

#[test]
fn w04_a_glob_is_its_names_and_not_the_wildcard() {
    let fixture = Fixture::new();
    let (mut all, mut glob) = (fixture.attach(&[wildcard()]), fixture.attach(&[plain(GLOB)]));
    fixture.put(Named, anyone(A), "1");
    assert_eq!((all.sent(), glob.sent()), (nothing(), sent(&[(A, "1")], &[])), "w01");
    fixture.put(Wildcard, anyone(B), "1");
    assert_eq!((all.sent(), glob.sent()), (sent(&[(B, "1")], &[]), nothing()));
    let mut by_name = fixture.attach(&[plain(A)]);
    assert_eq!(by_name.sent(), sent(&[(A, "1")], &[]), "p10: served at once");
}

#[test]
fn w04_an_empty_glob_is_told_by_its_name_in_either_form() {
    let fixture = Fixture::new();
    let (mut plainly, mut by_locator) =
        (fixture.attach(&[plain(GLOB)]), fixture.attach(&[located(GLOB, prod())]));
    assert_eq!(plainly.attachment.unsettled().collections, 1);
    fixture.answer(&located(GLOB, test()));
    assert_eq!(plainly.attachment.unsettled().collections, 1, "of other parameters");
    fixture.answer(&plain(GLOB));
    assert_eq!(plainly.attachment.unsettled().collections, 0);
    assert_eq!(plainly.sent(), sent(&[], &[GLOB]));
    assert_eq!(by_locator.sent(), (vec![], vec![format!("Locator({GLOB:?})")]));
    fixture.answer(&plain(GLOB));
    assert_eq!((plainly.sent(), by_locator.sent()), (nothing(), nothing()), "once");
    let mut late = fixture.attach(&[plain(GLOB)]);
    assert_eq!(late.sent(), sent(&[], &[GLOB]));
    fixture.put(Named, anyone(A), "1");
    assert_eq!(plainly.sent(), sent(&[(A, "1")], &[]));
    let mut later = fixture.attach(&[plain(GLOB)]);
    assert_eq!(later.sent(), sent(&[(A, "1")], &[]));
}

#[test]
fn w06_a_name_beside_its_glob_is_told_once() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[plain(GLOB), plain(A)]);
    fixture.commit(Named, vec![variant(anyone(A), "1"), variant(anyone(B), "1")], vec![]);
    assert_eq!(stream.sent(), sent(&[(A, "1"), (B, "1")], &[]));
    fixture.remove(Named, anyone(A));
    assert_eq!(stream.sent(), sent(&[], &[A]));
}

#[test]
fn w06_the_narrowest_answer_counts_and_the_next_one_follows_it() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[wildcard(), plain(GLOB)]);
    fixture.put(Wildcard, anyone(A), "of the wildcard");
    assert_eq!(stream.sent(), sent(&[(A, "of the wildcard")], &[]));
    fixture.put(Named, anyone(A), "of the glob");
    assert_eq!(stream.sent(), sent(&[(A, "of the glob")], &[]));
    fixture.put(Wildcard, anyone(A), "again of the wildcard");
    assert_eq!(stream.sent(), nothing());
    fixture.remove(Named, anyone(A));
    assert_eq!(stream.sent(), sent(&[(A, "again of the wildcard")], &[]));
    fixture.remove(Wildcard, anyone(A));
    assert_eq!(stream.sent(), sent(&[], &[A]));
}

/// What is sent of `owed`, which is not subscribed any more.
fn sent_of(stream: &mut Stream, owed: Selector) -> (Vec<String>, Vec<String>) {
    let owed = BTreeSet::from([owed]);
    let query = Query { resend: &owed, ..Query::new(stream.attachment.cursor(), Shape::Changes) };
    stated(&stream.attachment.diff(&query))
}

#[test]
fn i04_unsubscribing_beside_a_wider_collection_is_answered_from_that() {
    let fixture = Fixture::new();
    fixture.put(Local, anyone(A), "1");
    let mut stream = fixture.attach(&[plain(GLOB), plain(A), plain(B)]);
    stream.sent();
    stream.change(&[], &[plain(A), plain(B)]);
    assert_eq!(sent_of(&mut stream, plain(A)), sent(&[(A, "1")], &[]));
    assert_eq!(sent_of(&mut stream, plain(B)), sent(&[], &[B]));

    let mut stream = fixture.attach(&[wildcard(), plain(GLOB)]);
    fixture.put(Named, anyone(B), "1");
    stream.sent();
    stream.change(&[], &[plain(GLOB)]);
    assert_eq!(sent_of(&mut stream, plain(GLOB)), sent(&[(A, "1")], &[B]), "the wildcard has not got both");
}

/// The bare name is for the selector that was given up, in its form.
#[test]
fn i04_a_wider_collection_of_another_form_or_other_parameters_answers_too() {
    let narrow: DynamicParameters = [("env", "test"), ("x", "1")].into_iter().collect();
    let none = DynamicParameters::empty;
    let cases = [
        (wildcard(), located("a", none()), located("b", none())),
        (located(WILDCARD, prod()), plain("a"), plain("b")),
        (located(WILDCARD, test()), located("a", narrow.clone()), located("b", narrow)),
    ];
    for (wide, a, b) in cases {
        let fixture = Fixture::new();
        fixture.put(Local, anyone("a"), "1");
        let mut stream = fixture.attach(&[wide.clone(), a.clone(), b.clone()]);
        fixture.put(Named, anyone("b"), "1");
        stream.sent();
        stream.change(&[], &[a.clone(), b.clone()]);
        assert_eq!(sent_of(&mut stream, a), (vec!["a[anyone]=1".to_owned()], vec![]), "{wide:?} has it");
        let removed = match b.form {
            Form::Plain => format!("{:?}", Removed::Name("b".into())),
            Form::Located => format!("{:?}", Removed::Variant(anyone("b"))),
        };
        assert_eq!(sent_of(&mut stream, b), (vec![], vec![removed]), "{wide:?} does not have it");
    }
}

#[test]
fn p18_giving_up_a_locator_is_no_answer_to_its_siblings() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[located(WILDCARD, test()), located("a", test()), located("a", prod())]);
    fixture.answer(&located(WILDCARD, test()));
    stream.sent();
    stream.change(&[], &[located("a", test())]);
    assert_eq!(
        sent_of(&mut stream, located("a", test())),
        nothing(),
        "the bare name may be meant for the other"
    );
    stream.change(&[], &[located("a", prod())]);
    let bare = format!("{:?}", Removed::Locator("a".into()));
    assert_eq!(sent_of(&mut stream, located("a", prod())), (vec![], vec![bare]));
}

#[test]
fn i05_what_has_gone_of_a_glob_is_told_to_who_states_it() {
    let fixture = Fixture::new();
    fixture.put(Local, anyone(A), "1");
    let stream = fixture.attach(&[plain(GLOB)]);
    fixture.answer(&plain(GLOB));
    let known: KnownVersions = [(A, "?"), (B, "?"), ("xdstp://auth/T/other/b", "?")].into_iter().collect();
    let query = Query { known: Some(&known), ..Query::new(stream.attachment.cursor(), Shape::Changes) };
    assert_eq!(stated(&stream.attachment.diff(&query)), sent(&[(A, "1")], &[B]));
}

#[test]
fn p11_the_globs_of_two_parameter_sets_are_two_sets() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[located(GLOB, prod())]);
    fixture.commit(Named, vec![variant(only(A, "prod"), "1"), variant(only(B, "test"), "1")], vec![]);
    assert_eq!(stream.sent(), (vec![format!("{A}[env=prod]=1")], vec![]));
    assert_eq!(fixture.database.statistics().variants, 1, "nobody asks for the other");
    stream.change(&[located(GLOB, test())], &[]);
    fixture.put(Named, only(B, "test"), "2");
    assert_eq!(stream.sent(), (vec![format!("{B}[env=test]=2")], vec![]));
}

#[test]
fn a_glob_is_given_up_with_what_only_it_reached() {
    let mut fixture = Fixture::new();
    let glob = fixture.attach(&[plain(GLOB), located(WILDCARD, test())]);
    let mut by_name = fixture.attach(&[plain(A)]);
    fixture.commit(Named, vec![variant(anyone(A), "1"), variant(anyone(B), "1")], vec![]);
    by_name.sent();
    drop(glob);
    fixture.idle();
    let statistics = fixture.database.statistics();
    assert_eq!((statistics.variants, statistics.selections), (1, 1));
    assert_eq!(by_name.sent(), nothing());

    let glob = fixture.attach(&[plain(GLOB)]);
    drop(by_name);
    fixture.idle();
    assert_eq!(fixture.database.statistics().variants, 1, "the glob has it still");
    drop(glob);
    fixture.idle();
    assert_eq!(fixture.database.statistics().variants, 0);
}

#[test]
fn s07_the_version_of_a_view_is_made_of_what_each_of_its_selectors_shows() {
    let replica = |content: &str| {
        let fixture = Fixture::new();
        fixture.commit(Local, vec![variant(anyone(A), "1"), variant(anyone(B), content)], vec![]);
        let version =
            |selectors: &[Selector]| fixture.attach(selectors).pending(Shape::Changes, false).version;
        let both = version(&[plain(A), plain(B)]);
        assert_eq!(version(&[plain(B), plain(A)]), both);
        assert_eq!(version(&[plain(GLOB)]), both);
        assert_eq!(version(&[plain(GLOB), plain("xdstp://auth/T/other/*")]), both);
        assert_ne!(version(&[plain(A)]), both);
        [both, version(&[wildcard(), plain(GLOB)]), version(&[plain(GLOB), plain(B)])]
    };
    assert_eq!(replica("1"), replica("1"), "equal on every replica");
    let pairs = replica("1").into_iter().zip(replica("2"));
    pairs.for_each(|(one, other)| assert_ne!(one, other));
}

#[test]
fn i16_silence_is_no_proof_against_what_a_client_states_to_hold() {
    let fixture = Fixture::new();
    let known: KnownVersions = [("w1", "1")].into_iter().collect();
    let stream = fixture.attach(&[wildcard()]);
    let gone = || stream.pending_with(Shape::Changes, Refresh::None, Some(&known)).removed.len();
    for (absence, unproved, removed) in [(Absence::TimedOut, 1, 0), (Absence::Known, 0, 1)] {
        let mut batch = Batch::new(cds(), Wildcard);
        batch.answered.push(Answered { absence, ..Answered::all() });
        fixture.database.commit(batch);
        let unsettled = stream.attachment.unsettled();
        assert_eq!((unsettled.collections, unsettled.unproved), (0, unproved), "{absence:?}");
        assert_eq!(gone(), removed, "{absence:?}");
    }
}
