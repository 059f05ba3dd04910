//! What is kept of the past: as much as some stream still has to be sent, and no more.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use std::sync::Arc;

use support::*;
use weir_database::{Refresh, Shape};
use weir_types::Provenance::{Local, Named, Wildcard};
use weir_types::{KnownVersions, Name, Selector};

fn nothing() -> (Vec<String>, Vec<String>) {
    Default::default()
}

#[test]
fn d09_a_hundred_thousand_changes_behind_a_stalled_stream_keep_memory_flat() {
    let fixture = Fixture::new();
    let mut stalled = fixture.attach(&[wildcard(), located("x", prod())]);
    fixture.put(Local, anyone("held"), "1");
    stalled.sent();
    for i in 0..100_000 {
        let name = format!("n{}", i % 1_000);
        match i % 4 {
            0 => fixture.put(Local, anyone(&name), &i.to_string()),
            1 => fixture.remove(Local, anyone(&format!("n{}", (i - 1) % 1_000))),
            // A swap leaves a tombstone each time.
            2 => fixture.commit(Local, vec![variant(only("x", "prod"), "x")], vec![anyone("x")]),
            _ => fixture.commit(Local, vec![variant(anyone("x"), "x")], vec![only("x", "prod")]),
        }
    }
    let statistics = fixture.database.statistics();
    assert!(statistics.tombstones < 100, "{statistics:?}");
    fixture.remove(Local, anyone("held"));
    let (resources, removed) = stalled.sent();
    assert_eq!(removed, ["Name(\"held\")"]);
    assert!(resources.iter().all(|sent| sent.starts_with('x')), "{resources:?}");
}

#[test]
fn d09_a_stalled_stream_pins_only_what_it_may_hold() {
    let fixture = Fixture::new();
    fixture.put(Local, anyone("a"), "1");
    let mut stalled = fixture.attach(&[plain("a"), plain("b")]);
    stalled.sent();
    fixture.remove(Local, anyone("a"));
    fixture.put(Local, anyone("b"), "1");
    fixture.remove(Local, anyone("b"));
    fixture.database.sweep(fixture.now);
    assert_eq!(fixture.database.statistics().tombstones, 1, "b came and went unseen");
    assert_eq!(stalled.sent(), (vec![], vec!["Name(\"a\")".into(), "Name(\"b\")".into()]));
    fixture.database.sweep(fixture.now);
    assert_eq!(fixture.database.statistics().tombstones, 0, "it was sent");
}

#[test]
fn d09_what_went_came_back_and_went_again_is_told_to_who_held_the_first() {
    let fixture = Fixture::new();
    for selector in [wildcard(), located("a", prod())] {
        fixture.put(Local, only("a", "prod"), "1");
        let mut stalled = fixture.attach(&[selector]);
        assert_eq!(stalled.sent().0.len(), 1);
        fixture.remove(Local, only("a", "prod"));
        fixture.put(Local, only("a", "prod"), "2");
        fixture.remove(Local, only("a", "prod"));
        assert_eq!(stalled.sent().1.len(), 1);
        assert_eq!(stalled.sent(), nothing());
    }
}

#[test]
fn d08_what_went_and_came_back_unchanged_is_not_told() {
    let fixture = Fixture::new();
    for selector in [wildcard(), plain("a"), located("a", prod())] {
        fixture.put(Local, only("a", "prod"), "1");
        let mut stalled = fixture.attach(std::slice::from_ref(&selector));
        stalled.sent();
        fixture.remove(Local, only("a", "prod"));
        fixture.put(Local, only("a", "prod"), "1");
        assert_eq!(stalled.sent(), nothing(), "{selector:?}");
    }
}

#[test]
fn d08_another_variant_with_the_same_content_is_not_told_to_who_knows_only_names() {
    let fixture = Fixture::new();
    fixture.put(Local, anyone("a"), "1");
    let (mut by_name, mut by_locator) =
        (fixture.attach(&[plain("a")]), fixture.attach(&[located("a", prod())]));
    by_name.sent();
    by_locator.sent();
    fixture.commit(Local, vec![variant(only("a", "prod"), "1")], vec![anyone("a")]);
    assert_eq!(by_name.sent(), nothing());
    let (resources, removed) = by_locator.sent();
    assert_eq!((resources, removed), (vec!["a[env=prod]=1".into()], vec!["Variant(a[anyone])".into()]));
}

#[test]
fn o01_what_is_held_back_is_told_later_and_once() {
    let fixture = Fixture::new();
    fixture.commit(Local, vec![variant(anyone("a"), "1"), variant(anyone("b"), "1")], vec![]);
    let mut stream = fixture.attach(&[wildcard()]);
    stream.sent();
    fixture.commit(Local, vec![variant(anyone("c"), "1")], vec![anyone("a")]);
    assert_eq!(stream.sent_additions(), (vec!["c[anyone]=1".into()], vec![]));
    fixture.remove(Local, anyone("b"));
    assert_eq!(stream.sent_additions(), nothing());
    let whole = stated(&stream.pending(Shape::Everything, true)).0;
    assert_eq!(whole, ["a[anyone]=1", "b[anyone]=1", "c[anyone]=1"], "still part of what is whole");
    assert_eq!(stream.sent(), (vec![], vec!["Name(\"a\")".into(), "Name(\"b\")".into()]));
    assert_eq!(stream.sent(), nothing());
}

#[test]
fn s07_the_version_is_a_function_of_what_is_shown() {
    let (one, other) = (Fixture::new(), Fixture::new());
    one.put(Local, anyone("a"), "1");
    one.put(Local, anyone("b"), "2");
    other.put(Local, anyone("b"), "old");
    other.commit(Local, vec![variant(anyone("b"), "2"), variant(anyone("a"), "1")], vec![]);
    for selectors in [vec![wildcard()], vec![plain("a"), plain("b")], vec![wildcard(), plain("a")]] {
        let (mut left, mut right) = (one.attach(&selectors), other.attach(&selectors));
        for shape in [Shape::Changes, Shape::Everything] {
            assert_eq!(left.pending(shape, false).version, right.pending(shape, false).version);
        }
        let before = left.pending(Shape::Changes, false).version;
        left.sent();
        right.sent();
        assert_eq!(left.pending(Shape::Changes, false).version, before, "whatever was sent");
    }
    let before = one.attach(&[wildcard()]).pending(Shape::Changes, false).version;
    one.put(Local, anyone("a"), "2");
    assert_ne!(one.attach(&[wildcard()]).pending(Shape::Changes, false).version, before);
}

#[test]
fn d08_an_upstream_that_says_the_same_again_wakes_nobody() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[wildcard(), plain("a")]);
    fixture.put(Wildcard, anyone("a"), "1");
    fixture.answer_wildcards();
    stream.sent();
    let woken = stream.woken();
    fixture.put(Wildcard, anyone("a"), "1");
    fixture.answer_wildcards();
    fixture.remove(Wildcard, anyone("unheard of"));
    assert_eq!((stream.woken(), stream.sent()), (woken, nothing()));
}

#[test]
fn i05_what_a_client_states_is_gone_whatever_came_and_went_before_it_was_told() {
    let fixture = Fixture::new();
    let mut returning = fixture.attach(&[located("a", prod())]);
    let known: KnownVersions = [(Name::from("a"), Arc::<str>::from("1"))].into_iter().collect();
    fixture.put(Named, only("a", "prod"), "1");
    fixture.remove(Named, only("a", "prod"));
    fixture.deny("a", prod());
    returning.sent_additions();
    let sent = stated(&returning.pending_with(Shape::Changes, Refresh::None, Some(&known)));
    assert!(sent.1.contains(&r#"Locator("a")"#.to_owned()), "what it holds is another variant: {sent:?}");
}

#[test]
fn u03_what_a_locator_brought_that_was_given_up_is_gone_for_another_one_that_keeps_it() {
    let on_pod = |pod: &str| [("env", "test"), ("pod", pod)].into_iter().collect();
    let [one, other] = [Selector::located("a", on_pod("1")), Selector::located("a", on_pod("2"))];
    let f = Fixture::new();
    let mut stream = f.attach(std::slice::from_ref(&one));
    f.commit(Local, vec![variant(only("a", "test"), "1")], vec![]);
    assert_eq!(stream.sent().0, ["a[env=test]=1"]);
    f.commit(Local, vec![variant(anyone("b"), "1")], vec![]);
    stream.change(std::slice::from_ref(&other), &[]);
    f.commit(Local, vec![variant(anyone("a"), "2")], vec![only("a", "test")]);
    stream.change(&[], &[one]);
    f.database.sweep(f.now);
    assert_eq!(stream.sent(), (vec!["a[anyone]=2".to_owned()], vec!["Variant(a[env=test])".to_owned()]));
    assert_eq!(stream.sent(), nothing());
}
