//! What requests mean.

use weir_database::{DemandLimits, Settings};
use weir_types::{Code, Content, DynamicParameters, Form, Selector};

use super::fixture::type_url;
use super::messages::patch_selectors;
use super::*;
use crate::{ClientKind, Grant, Rights, SessionSettings, VirtualHostWildcard};

const NOTHING: [&str; 0] = [];

/// A client of `a` of endpoints, of which there are also `b` and `c`, that was sent it.
fn client(dialect: weir_types::Dialect) -> Fixture {
    let mut fixture = Fixture::new(dialect);
    fixture.commit("eds", &["a", "b", "c"]);
    fixture.subscribe("eds", &["a"]);
    fixture.drain();
    fixture
}

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
        for dialect in [Sotw, Delta] {
            let mut fixture = Fixture::new(dialect);
            fixture.subscribe(short, &[]);
            let wanted = if wildcard { vec!["*"] } else { vec![] };
            assert_eq!(fixture.subscribed(short), wanted, "{short} in {dialect}");
        }
    }
}

#[test]
fn s05_no_names_after_names_are_nothing_and_no_wildcard_again() {
    let mut fixture = Fixture::new(Sotw);
    fixture.sends(replace("cds", "", &[]));
    fixture.sends(replace("cds", "", &[]));
    assert_eq!(fixture.subscribed("cds"), ["*"], "nothing was ever named");
    fixture.sends(replace("cds", "", &["a"]));
    fixture.sends(replace("cds", "", &[]));
    assert_eq!(fixture.subscribed("cds"), NOTHING);
}

#[test]
fn s06_a_wildcard_beside_names_is_their_union() {
    let mut fixture = Fixture::new(Sotw);
    fixture.sends(replace("cds", "", &["*", "a"]));
    assert_eq!(fixture.subscribed("cds"), ["*", "a"]);
    fixture.sends(replace("cds", "", &["a"]));
    assert_eq!(fixture.subscribed("cds"), ["a"]);
}

#[test]
fn i03_the_wildcard_lasts_beside_names_until_it_is_given_up() {
    let mut fixture = Fixture::new(Delta);
    fixture.sends(patch("cds", "", &[], &[]));
    fixture.sends(patch("cds", "", &["a"], &[]));
    assert_eq!(fixture.subscribed("cds"), ["*", "a"]);
    fixture.sends(patch("cds", "", &[], &["*"]));
    assert_eq!(fixture.subscribed("cds"), ["a"]);
}

#[test]
fn i13_a_wildcard_of_virtual_hosts_is_not_taken_at_its_word() {
    let mut fixture = Fixture::new(Delta);
    fixture.sends(patch("vhds", "", &["*", "r/a"], &[]));
    assert_eq!(fixture.subscribed("vhds"), ["r/a"]);
}

#[test]
fn i13_a_wildcard_of_virtual_hosts_that_asks_for_nothing_needs_no_right() {
    let mut fixture = Fixture::new(Delta);
    let rights = || {
        let one = Grant { types: vec![type_url("vhds")], names: vec!["r/a".parse().expect("a pattern")] };
        let none = (&Arc::default(), DynamicParameters::empty());
        Rights::new((&Arc::from([one]), [0].into()), none, String::new)
    };
    fixture.reconnect_with(rights());
    fixture.sends(patch("vhds", "", &[], &[]));
    fixture.sends(patch("vhds", "", &["*", "r/a"], &[]));
    assert_eq!(fixture.subscribed("vhds"), ["r/a"]);
}

#[test]
fn i17_a_wildcard_of_virtual_hosts_may_ask_for_all_of_them() {
    let all =
        || SessionSettings { virtual_hosts: VirtualHostWildcard::Honoured, ..SessionSettings::default() };
    for (subscribe, wanted) in [(&[][..], &["*"][..]), (&["*", "r/a"], &["*", "r/a"]), (&["r/a"], &["r/a"])] {
        let mut fixture = Fixture::new(Delta);
        fixture.reconnect_under(all());
        fixture.sends(patch("vhds", "", subscribe, &[]));
        assert_eq!(fixture.subscribed("vhds"), wanted, "{subscribe:?}");
    }
    let mut fixture = Fixture::new(Delta);
    fixture.reconnect_under(all());
    fixture.sends(patch("vhds", "", &[], &[]));
    fixture.sends(patch("vhds", "", &["r/a"], &[]));
    assert_eq!(fixture.subscribed("vhds"), ["*", "r/a"], "names beside it");
    fixture.sends(patch("rds", "", &[], &[]));
    assert_eq!(fixture.subscribed("rds"), NOTHING, "no other type");
}

#[test]
fn d05_a_verdict_is_told_by_nonce_and_error() {
    let mut fixture = Fixture::new(Sotw);
    fixture.sends(replace("eds", "whatever", &["a"]));
    fixture.commit("eds", &["a"]);
    let old = fixture.only().nonce;
    fixture.commit("eds", &["a"]);
    let new = fixture.only().nonce;
    let newest = fixture.type_of("eds").outstanding().expect("a response").0;
    assert_ne!(old, new, "d05");
    let rejected = |nonce| Verdict::Nack { nonce, nack: Nack { code: 13, message: "no".into() } };
    assert_eq!(fixture.ack("eds", &old), None, "s02: stale");
    assert_eq!(fixture.nack("eds", &old), Some(rejected(None)));
    assert_eq!(fixture.ack("eds", &new), Some(Verdict::Ack(newest)));
    assert_eq!(fixture.ack("eds", &new), None, "it was accepted already");
    assert_eq!(fixture.nack("eds", &new), Some(rejected(Some(newest))));
}

#[test]
fn d06_a_rejection_by_itself_causes_no_response() {
    for dialect in [Sotw, Delta] {
        let mut fixture = client(dialect);
        fixture.commit("eds", &["a"]);
        let nonce = fixture.only().nonce;
        fixture.nack("eds", &nonce);
        assert_eq!(fixture.transmit(), None);
        fixture.commit("eds", &["a"]);
        fixture.only();
    }
}

#[test]
fn s02_a_stale_request_is_not_answered_but_its_names_count() {
    let mut fixture = Fixture::new(Sotw);
    fixture.sends(replace("eds", "from another life", &["a"]));
    assert_eq!(fixture.subscribed("eds"), ["a"], "the first request is taken whatever nonce it carries");
    fixture.commit("eds", &["a", "b"]);
    let old = fixture.only().nonce;
    fixture.commit("eds", &["a"]);
    fixture.only();
    fixture.sends(replace("eds", &old, &["a"]));
    assert_eq!(fixture.transmit(), None);
    fixture.sends(replace("eds", &old, &["a", "b"]));
    assert_eq!(fixture.only().resources, ["b"]);
}

#[test]
fn s03_newly_named_resources_are_owed_and_only_they() {
    let mut fixture = client(Sotw);
    fixture.commit("eds", &["a"]);
    let nonce = fixture.only().nonce;
    fixture.sends(replace("eds", &nonce, &["a", "b"]));
    assert_eq!(fixture.only().resources, ["b"]);
    fixture.sends(replace("eds", &nonce, &["b"]));
    assert_eq!(fixture.transmit(), None, "less is no reason to answer");
}

#[test]
fn s04_what_is_asked_again_after_a_verdict_is_owed_again() {
    for rejects in [false, true] {
        let mut fixture = client_of(Sotw, &["eds"]);
        fixture.commit("eds", &["a"]);
        let nonce = fixture.only().nonce;
        if rejects {
            fixture.nack("eds", &nonce);
        } else {
            fixture.ack("eds", &nonce);
        }
        assert_eq!(fixture.transmit(), None);
        fixture.sends(replace("eds", &nonce, &["b", "a"]));
        assert_eq!(fixture.only().resources, ["a", "b"]);
    }
}

#[test]
fn s12_what_was_given_up_and_is_wanted_again_is_owed() {
    let mut fixture = Fixture::new(Sotw);
    fixture.commit("cds", &["a"]);
    fixture.sends(replace("cds", "", &["a"]));
    let nonce = fixture.only().nonce;
    fixture.sends(replace("cds", &nonce, &[]));
    assert_eq!(fixture.transmit(), None);
    fixture.sends(replace("cds", &nonce, &["a"]));
    assert_eq!(fixture.only().resources, ["a"], "although neither nonce nor version have changed");
}

#[test]
fn i01_i02_names_count_whatever_the_nonce() {
    let mut fixture = client(Delta);
    fixture.sends(patch("eds", "of nobody", &["b"], &["phantom"]));
    assert_eq!(fixture.subscribed("eds"), ["a", "b"]);
    assert_eq!(fixture.only().resources, ["b"]);
    fixture.sends(patch("eds", "", &["a"], &[]));
    assert_eq!(fixture.only().resources, ["a"], "i02: it was subscribed already");
    fixture.sends(patch("eds", "", &[], &["a", "b"]));
    assert_eq!((fixture.subscribed("eds"), fixture.transmit()), (vec![], None));
}

#[test]
fn i01_subscribing_and_unsubscribing_in_one_breath_means_nothing() {
    let mut fixture = Fixture::new(Delta);
    fixture.commit("cds", &["a"]);
    fixture.sends(patch("cds", "", &["a"], &[]));
    fixture.drain();
    fixture.sends(patch("cds", "", &["*", "a"], &["*", "a"]));
    assert_eq!((fixture.subscribed("cds"), fixture.transmit()), (vec!["a".into()], None));
}

#[test]
fn i04_giving_up_a_name_that_a_wildcard_covers_is_answered() {
    let mut fixture = Fixture::new(Delta);
    fixture.commit("cds", &["a", "b"]);
    fixture.answer("cds");
    fixture.sends(patch("cds", "", &["*", "a"], &[]));
    fixture.drain();
    fixture.sends(patch("cds", "", &[], &["a"]));
    assert_eq!(fixture.only().resources, ["a"]);
}

#[test]
fn p15_a_refusal_is_passed_on_and_changes_nothing() {
    let limits = DemandLimits { subscriptions: Some(1), ..DemandLimits::default() };
    let settings = Settings { demand: [(String::new(), limits)].into(), ..Settings::default() };
    let mut fixture = Fixture::with(Sotw, None, ClientKind::Envoy, settings);
    fixture.sends(replace("eds", "", &["a"]));
    let refused = fixture.tries(replace("eds", "", &["b"])).expect_err("it is one too many");
    assert_eq!(refused.code, Code::RESOURCE_EXHAUSTED);
    assert_eq!(fixture.subscribed("eds"), ["a"]);
}

#[test]
fn i04_a_name_that_any_wildcard_may_cover_is_owed_when_it_is_given_up() {
    let located = |name: &str| Selector::located(name, DynamicParameters::empty());
    let plain = |name: &str| Selector::plain(name, DynamicParameters::empty());
    for (wide, gone) in [(plain("*"), located("a")), (located("*"), plain("a"))] {
        let mut fixture = Fixture::new(Delta);
        fixture.commit("cds", &["a", "b"]);
        fixture.answer("cds");
        fixture.sends(patch_selectors("cds", &[wide, gone.clone()], &[]));
        fixture.drain();
        fixture.sends(patch_selectors("cds", &[], &[gone]));
        assert_eq!(fixture.only().resources, ["a"]);
    }
}

#[test]
fn i04_a_locator_and_a_plain_name_are_two_subscriptions() {
    let mut fixture = Fixture::new(Delta);
    let located = Selector::located("a", [("env", "prod")].into_iter().collect());
    fixture.sends(patch("cds", "", &["a"], &[]));
    fixture.sends(patch_selectors("cds", &[], &[located]));
    let subscription = fixture.type_of("cds").view().subscription();
    let forms: Vec<Form> = subscription.iter().map(|selector| selector.form).collect();
    assert_eq!(forms, [Form::Plain], "each is ended by the field that began it");
}

#[test]
fn p17_what_must_not_be_cached_is_fetched_anew_when_a_client_asks_for_it_again() {
    let mut fixture = Fixture::new(Delta);
    fixture.sends(patch("cds", "", &["a"], &[]));
    let content = Content { do_not_cache: true, ..fixture.fresh("cds", "a").content().clone() };
    let variant = fixture.variant("cds", "a", content);
    fixture.commit_batch("cds", |_, batch| batch.upserts.push(variant));
    fixture.only();
    fixture.database.take_demand();
    fixture.sends(patch("cds", "", &["a"], &[]));
    assert_eq!(fixture.database.take_demand().len(), 1);
    assert_eq!(fixture.transmit(), None);
}
