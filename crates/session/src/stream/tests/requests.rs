//! What requests mean.

use super::*;
use weir_types::Dialect::{Delta, Sotw};

const NOTHING: [&str; 0] = [];

#[test]
fn s05_i03_i13_no_names_in_a_first_request_are_a_wildcard_for_some_types() {
    for (short, wildcard) in [
        ("lds", true),
        ("cds", true),
        ("srds", true),
        ("other", true),
        ("rds", false),
        ("eds", false),
        ("sds", false),
        ("rtds", false),
        ("ecds", false),
        ("vhds", false),
        ("leds", false),
    ] {
        for (dialect, first) in [(Sotw, replace(short, "", &[])), (Delta, patch(short, "", &[], &[]))] {
            let mut fixture = Fixture::new(dialect);
            fixture.says(first);
            let wanted = if wildcard { vec!["*"] } else { vec![] };
            assert_eq!(fixture.subscribed(short), wanted, "{short} in {dialect}");
        }
    }
}

#[test]
fn s05_no_names_after_names_are_nothing_and_no_wildcard_again() {
    let mut fixture = Fixture::new(Sotw);
    fixture.says(replace("cds", "", &[]));
    fixture.says(replace("cds", "", &[]));
    assert_eq!(fixture.subscribed("cds"), ["*"], "nothing was ever named");
    fixture.says(replace("cds", "", &["a"]));
    fixture.says(replace("cds", "", &[]));
    assert_eq!(fixture.subscribed("cds"), NOTHING);
}

#[test]
fn s06_a_wildcard_beside_names_is_their_union() {
    let mut fixture = Fixture::new(Sotw);
    fixture.says(replace("cds", "", &["*", "a"]));
    assert_eq!(fixture.subscribed("cds"), ["*", "a"]);
    fixture.says(replace("cds", "", &["a"]));
    assert_eq!(fixture.subscribed("cds"), ["a"]);
}

#[test]
fn i03_the_wildcard_lasts_beside_names_until_it_is_given_up() {
    let mut fixture = Fixture::new(Delta);
    fixture.says(patch("cds", "", &[], &[]));
    fixture.says(patch("cds", "", &["a"], &[]));
    assert_eq!(fixture.subscribed("cds"), ["*", "a"]);
    fixture.says(patch("cds", "", &[], &["*"]));
    assert_eq!(fixture.subscribed("cds"), ["a"]);
}

#[test]
fn i13_a_wildcard_of_virtual_hosts_is_not_taken_at_its_word() {
    let mut fixture = Fixture::new(Delta);
    fixture.says(patch("vhds", "", &["*", "r/a"], &[]));
    assert_eq!(fixture.subscribed("vhds"), ["r/a"]);
}

#[test]
fn d05_a_verdict_is_told_by_nonce_and_error() {
    let mut fixture = Fixture::new(Sotw);
    fixture.says(replace("eds", "whatever", &["a"]));
    fixture.drain();
    fixture.adds("eds");
    let (old, _) = fixture.only();
    fixture.adds("eds");
    let (new, _) = fixture.only();
    let newest = fixture.stream.logical()[0].outstanding().expect("a response").0;
    assert_ne!(old, new, "d05");
    let rejected = |nonce| Verdict::Nack { nonce, nack: Nack { code: 13, message: "no".into() } };
    assert_eq!(fixture.says(replace("eds", &old, &["a"])), None, "s02: stale");
    assert_eq!(fixture.says(nack(replace("eds", &old, &["a"]))), Some(rejected(None)));
    assert_eq!(fixture.says(replace("eds", &new, &["a"])), Some(Verdict::Ack(newest)));
    assert_eq!(fixture.says(replace("eds", &new, &["a"])), None, "it was accepted already");
    assert_eq!(fixture.says(nack(replace("eds", &new, &["a"]))), Some(rejected(Some(newest))));
}

#[test]
fn d06_a_rejection_by_itself_causes_no_response() {
    for (dialect, name) in [(Sotw, true), (Delta, false)] {
        let mut fixture = Fixture::new(dialect);
        let request =
            |nonce: &str| if name { replace("eds", nonce, &["a"]) } else { patch("eds", nonce, &[], &[]) };
        fixture.says(if name { replace("eds", "", &["a"]) } else { patch("eds", "", &["a"], &[]) });
        fixture.drain();
        fixture.adds("eds");
        let (nonce, _) = fixture.only();
        fixture.says(nack(request(&nonce)));
        assert_eq!(fixture.next(), None);
        fixture.adds("eds");
        fixture.only();
    }
}

#[test]
fn s02_a_stale_request_is_not_answered_but_its_names_count() {
    let mut fixture = Fixture::new(Sotw);
    fixture.says(replace("eds", "from another life", &["a"]));
    assert_eq!(fixture.subscribed("eds"), ["a"], "the first request is taken whatever nonce it carries");
    fixture.drain();
    fixture.adds("eds");
    let (old, _) = fixture.only();
    fixture.adds("eds");
    fixture.only();
    fixture.says(replace("eds", &old, &["a"]));
    assert_eq!(fixture.next(), None);
    fixture.says(replace("eds", &old, &["a", "b"]));
    assert_eq!(fixture.only().1.owed, ["b"]);
}

#[test]
fn s03_newly_named_resources_are_owed_and_only_they() {
    let mut fixture = Fixture::new(Sotw);
    fixture.says(replace("eds", "", &["a"]));
    fixture.drain();
    fixture.adds("eds");
    let (nonce, _) = fixture.only();
    fixture.says(replace("eds", &nonce, &["a", "b"]));
    assert_eq!(fixture.only().1.owed, ["b"]);
    fixture.says(replace("eds", &nonce, &["b"]));
    assert_eq!(fixture.next(), None, "less is no reason to answer");
}

#[test]
fn s04_what_is_asked_again_after_a_verdict_is_owed_again() {
    for rejects in [false, true] {
        let mut fixture = Fixture::new(Sotw);
        fixture.says(replace("eds", "", &["a", "b"]));
        fixture.drain();
        fixture.adds("eds");
        let (nonce, _) = fixture.only();
        let verdict = replace("eds", &nonce, &["a", "b"]);
        fixture.says(if rejects { nack(verdict) } else { verdict });
        assert_eq!(fixture.next(), None);
        fixture.says(replace("eds", &nonce, &["b", "a"]));
        assert_eq!(fixture.only().1.owed, ["a", "b"]);
    }
}

#[test]
fn s12_what_was_given_up_and_is_wanted_again_is_owed() {
    let mut fixture = Fixture::new(Sotw);
    fixture.says(replace("cds", "", &["a"]));
    let (nonce, _) = fixture.only();
    fixture.says(replace("cds", &nonce, &[]));
    assert_eq!(fixture.next(), None);
    fixture.says(replace("cds", &nonce, &["a"]));
    assert_eq!(fixture.only().1.owed, ["a"], "although neither nonce nor version have changed");
}

#[test]
fn i01_i02_names_count_whatever_the_nonce() {
    let mut fixture = Fixture::new(Delta);
    fixture.says(patch("eds", "", &["a"], &[]));
    fixture.drain();
    fixture.says(patch("eds", "of nobody", &["b"], &["phantom"]));
    assert_eq!(fixture.subscribed("eds"), ["a", "b"]);
    assert_eq!(fixture.only().1.owed, ["b"]);
    fixture.says(patch("eds", "", &["a"], &[]));
    assert_eq!(fixture.only().1.owed, ["a"], "i02: it was subscribed already");
    fixture.says(patch("eds", "", &[], &["a", "b"]));
    assert_eq!((fixture.subscribed("eds"), fixture.next()), (vec![], None));
}

#[test]
fn i01_subscribing_and_unsubscribing_in_one_breath_means_nothing() {
    let mut fixture = Fixture::new(Delta);
    fixture.says(patch("cds", "", &["a"], &[]));
    fixture.drain();
    fixture.says(patch("cds", "", &["*", "a"], &["*", "a"]));
    assert_eq!((fixture.subscribed("cds"), fixture.next()), (vec!["a".into()], None));
}

#[test]
fn i04_giving_up_a_name_that_a_wildcard_covers_is_answered() {
    let mut fixture = Fixture::new(Delta);
    fixture.says(patch("cds", "", &["*", "a"], &[]));
    fixture.drain();
    fixture.says(patch("cds", "", &[], &["a"]));
    assert_eq!(fixture.only().1.owed, ["a"]);
}

#[test]
fn p15_a_refusal_is_passed_on_and_changes_nothing() {
    let mut fixture = Fixture::new(Delta);
    fixture.says(patch("eds", "", &["a"], &[]));
    fixture.world("eds", |world| world.refuses = true);
    let mut views = FakeViews(Rc::clone(&fixture.worlds));
    let refused = fixture.stream.handle_message(patch("eds", "", &["b"], &["a"]), &mut views, fixture.now);
    assert_eq!(refused, Err(Refused::TooMuch("no more".into())));
    assert_eq!(fixture.subscribed("eds"), ["a"]);
}

#[test]
fn i04_a_name_that_any_wildcard_may_cover_is_owed_when_it_is_given_up() {
    let located = |name: &str| Selector::located(name, DynamicParameters::empty());
    let plain = |name: &str| Selector::plain(name, DynamicParameters::empty());
    for (wide, gone) in [(plain("*"), located("a")), (located("*"), plain("a"))] {
        let mut fixture = Fixture::new(Delta);
        let names = |subscribe, unsubscribe| Names::Patch { subscribe, unsubscribe };
        fixture.says(inbound("cds", "", names(vec![wide, gone.clone()], vec![])));
        fixture.drain();
        fixture.says(inbound("cds", "", names(vec![], vec![gone])));
        assert_eq!(fixture.only().1.owed, ["a"]);
    }
}

#[test]
fn i04_a_locator_and_a_plain_name_are_two_subscriptions() {
    let located = Selector::located("a", DynamicParameters::empty());
    let plain = Selector::plain("a", DynamicParameters::empty());
    let mut fixture = Fixture::new(Delta);
    let names = |subscribe, unsubscribe| Names::Patch { subscribe, unsubscribe };
    fixture.says(inbound("cds", "", names(vec![plain.clone()], vec![])));
    fixture.drain();
    fixture.says(inbound("cds", "", names(vec![], vec![located])));
    let subscription = fixture.stream.logical()[0].view().subscription();
    assert!(subscription.contains(&plain), "each is ended by the field that began it");
}
