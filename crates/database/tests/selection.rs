//! What is selected: by name, alias, locator and wildcard, from what came through which kind of subscription.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use support::*;
use weir_types::Provenance::{Local, Named, Wildcard};
use weir_types::WILDCARD;

fn nothing() -> (Vec<String>, Vec<String>) {
    Default::default()
}

fn sent(resources: &[&str], removed: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    (owned(resources), owned(removed))
}

#[test]
fn w01_a_wildcard_never_shows_what_only_a_name_brought() {
    let fixture = Fixture::new();
    let (mut all, mut by_name) = (fixture.attach(&[wildcard()]), fixture.attach(&[plain("a")]));
    fixture.put(Named, anyone("a"), "1");
    assert_eq!(all.sent(), nothing());
    assert_eq!(by_name.sent(), sent(&["a[anyone]=1"], &[]));
}

#[test]
fn w01_what_a_wildcard_brought_stands_in_for_a_name_until_that_is_answered() {
    for denied in [false, true] {
        let mut fixture = Fixture::new();
        let all = fixture.attach(&[wildcard()]);
        fixture.put(Wildcard, anyone("a"), "1");
        let mut by_name = fixture.attach(&[plain("a")]);
        assert_eq!(by_name.sent(), sent(&["a[anyone]=1"], &[]), "p10: served at once");
        drop(all);
        fixture.idle();
        assert_eq!(by_name.sent(), nothing(), "nothing is withdrawn before upstream has answered");
        match denied {
            false => fixture.put(Named, anyone("a"), "2"),
            true => fixture.deny("a", prod()),
        }
        let wanted = if denied { sent(&[], &["Name(\"a\")"]) } else { sent(&["a[anyone]=2"], &[]) };
        assert_eq!(by_name.sent(), wanted);
        fixture.remove(Named, anyone("a"));
        let wanted = if denied { nothing() } else { sent(&[], &["Name(\"a\")"]) };
        assert_eq!(by_name.sent(), wanted, "what the wildcard brought is not kept up to date any more");
    }
}

#[test]
fn w01_a_name_that_upstream_denied_goes_with_the_wildcard_that_brought_it() {
    let mut fixture = Fixture::new();
    let all = fixture.attach(&[wildcard()]);
    fixture.put(Wildcard, anyone("a"), "1");
    let mut by_name = fixture.attach(&[plain("a")]);
    by_name.sent();
    fixture.deny("a", prod());
    assert_eq!(by_name.sent(), nothing(), "the wildcard has it");
    drop(all);
    let woken = by_name.woken();
    fixture.idle();
    assert_eq!(by_name.sent(), sent(&[], &["Name(\"a\")"]));
    assert!(by_name.woken() > woken);
}

#[test]
fn s06_the_answer_to_a_name_counts_beside_a_wildcard() {
    let fixture = Fixture::new();
    let mut both = fixture.attach(&[wildcard(), plain("a")]);
    fixture.put(Wildcard, anyone("a"), "of the wildcard");
    fixture.put(Named, anyone("a"), "of the name");
    assert_eq!(both.sent(), sent(&["a[anyone]=of the name"], &[]));
    fixture.put(Wildcard, anyone("a"), "again of the wildcard");
    assert_eq!(both.sent(), nothing());
    fixture.remove(Named, anyone("a"));
    assert_eq!(both.sent(), sent(&["a[anyone]=again of the wildcard"], &[]));
}

#[test]
fn p11_what_another_locator_still_shows_is_not_withdrawn() {
    let fixture = Fixture::new();
    fixture.put(Local, anyone("a"), "all");
    let mut stream = fixture.attach(&[located("a", prod()), located("a", test())]);
    stream.sent();
    fixture.put(Local, only("a", "prod"), "prod");
    assert_eq!(stream.sent(), sent(&["a[env=prod]=prod"], &[]), "test has the other one");
    fixture.remove(Local, anyone("a"));
    assert_eq!(stream.sent(), sent(&[], &["Variant(a[anyone])"]));
}

#[test]
fn p10_a_locator_that_stops_matching_is_told_so() {
    let fixture = Fixture::new();
    fixture.put(Local, only("a", "prod"), "1");
    let mut stream = fixture.attach(&[located("a", prod())]);
    stream.sent();
    fixture.commit(Local, vec![variant(only("a", "test"), "1")], vec![only("a", "prod")]);
    assert_eq!(stream.sent(), sent(&[], &["Variant(a[env=prod])"]));
    fixture.put(Local, anyone("a"), "2");
    assert_eq!(stream.sent(), sent(&["a[anyone]=2"], &[]));
}

#[test]
fn i06_an_absence_is_told_once() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[plain("a"), located("b", test())]);
    fixture.deny("a", prod());
    fixture.deny("b", test());
    assert_eq!(stream.sent(), sent(&[], &["Name(\"a\")", "Locator(\"b\")"]));
    fixture.deny("a", prod());
    assert_eq!(stream.sent(), nothing());
}

#[test]
fn i09_an_alias_is_answered_by_the_resource_that_lists_it() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[plain("alias")]);
    fixture.commit(Named, vec![aliased(anyone("a"), "1", &["alias"])], vec![]);
    assert_eq!(stream.sent(), sent(&["a[anyone]=1"], &[]));
    fixture.commit(Named, vec![aliased(anyone("b"), "2", &["alias"])], vec![anyone("a")]);
    assert_eq!(stream.sent(), sent(&["b[anyone]=2"], &["Name(\"a\")"]), "it moved on");
    fixture.commit(Named, vec![variant(anyone("b"), "3")], vec![]);
    assert_eq!(stream.sent(), sent(&[], &["Name(\"b\")"]), "it is not listed any more");
    assert_eq!(fixture.database.statistics().variants, 0, "and nobody asks for b by its own name");
}

#[test]
fn i09_an_alias_is_not_answered_by_a_variant_that_does_not_list_it() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[located("alias", prod())]);
    fixture.put(Local, only("a", "prod"), "1");
    fixture.commit(Local, vec![aliased(only("a", "test"), "2", &["alias"])], vec![]);
    assert_eq!(stream.sent(), nothing());
    fixture.commit(Local, vec![aliased(anyone("a"), "3", &["alias"])], vec![]);
    assert_eq!(stream.sent(), sent(&["a[anyone]=3"], &[]));
}

#[test]
fn w02_the_wildcards_of_two_parameter_sets_are_two_sets() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[located(WILDCARD, prod())]);
    fixture.commit(Local, vec![variant(only("a", "prod"), "1"), variant(only("b", "test"), "1")], vec![]);
    assert_eq!(stream.sent(), sent(&["a[env=prod]=1"], &[]));
    stream.change(&[located(WILDCARD, test())], &[]);
    fixture.put(Local, only("b", "test"), "2");
    assert_eq!(stream.sent(), sent(&["b[env=test]=2"], &[]));
}

#[test]
fn w01_a_variant_for_others_does_not_answer_a_name_that_was_denied() {
    let mut fixture = Fixture::new();
    let all = fixture.attach(&[wildcard()]);
    fixture.put(Wildcard, only("a", "prod"), "1");
    let mut by_name = fixture.attach(&[plain("a")]);
    by_name.sent();
    fixture.deny("a", prod());
    let _other = fixture.attach(&[located("a", test())]);
    fixture.put(Named, only("a", "test"), "2");
    drop(all);
    fixture.idle();
    assert_eq!(by_name.sent(), sent(&[], &["Name(\"a\")"]), "the wildcard that stood in for it is gone");
}
