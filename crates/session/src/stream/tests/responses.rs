//! When responses are sent.

use std::time::Duration;

use weir_types::{Absence, Content, Heartbeat, Provenance};

use super::fixture::anyones;
use super::*;

#[test]
fn d08_nothing_is_said_while_nothing_moves() {
    for (short, name) in [("eds", "a"), ("cds", "a"), ("cds", "*")] {
        let mut fixture = Fixture::new(Sotw);
        fixture.commit(short, &["a"]);
        fixture.answer(short);
        fixture.subscribe(short, &[name]);
        fixture.only();
        assert_eq!(fixture.transmit(), None);
    }
}

#[test]
fn d08_what_has_come_back_to_what_it_was_is_not_said_in_full_state() {
    let mut fixture = Fixture::new(Sotw);
    fixture.commit_body("cds", "a", "1");
    fixture.subscribe("cds", &["a"]);
    fixture.only();
    fixture.commit_body("cds", "a", "2");
    fixture.commit_body("cds", "a", "1");
    assert_eq!(fixture.transmit(), None);
    fixture.commit_body("cds", "a", "2");
    fixture.only();
}

#[test]
fn d08_a_version_that_stood_for_more_is_no_reason_to_be_silent() {
    let mut fixture = Fixture::new(Sotw);
    fixture.absent("cds", &["b"], Absence::Known);
    fixture.commit_body("cds", "a", "1");
    fixture.subscribe("cds", &["a", "b"]);
    let first = fixture.only();
    fixture.sends(replace("cds", &first.nonce, &["a"]));
    assert_eq!(fixture.drain(), []);
    fixture.commit_body("cds", "a", "2");
    fixture.commit_body("cds", "a", "1");
    let second = fixture.only();
    assert_eq!(
        (second.resources, second.version),
        (first.resources, first.version),
        "the client has dropped b"
    );
}

#[test]
fn s01_only_full_state_types_are_said_whole_and_only_in_sotw() {
    for (short, full) in [("cds", true), ("lds", true), ("srds", true), ("eds", false), ("other", false)] {
        for dialect in [Sotw, Delta] {
            let mut fixture = client_of(dialect, &[short]);
            fixture.commit(short, &["a"]);
            let whole = if full && dialect == Sotw { vec!["a", "b"] } else { vec!["a"] };
            assert_eq!(fixture.only().resources, whole, "{short} in {dialect}");
        }
    }
}

#[test]
fn s11_the_first_full_state_response_waits_for_every_name_and_is_then_sent() {
    let mut fixture = Fixture::new(Sotw);
    fixture.subscribe("cds", &["a", "b"]);
    fixture.absent("cds", &["a"], Absence::Known);
    assert_eq!(fixture.transmit(), None);
    fixture.absent("cds", &["b"], Absence::Known);
    let first = fixture.only();
    assert_eq!(first.resources, [""; 0], "even if there is nothing");
    fixture.commit("cds", &["c"]);
    fixture.sends(replace("cds", &first.nonce, &["a", "b", "c", "d"]));
    assert_eq!(fixture.only().resources, ["c"], "names that are added later delay nothing");
}

#[test]
fn s11_a_wildcard_waits_for_upstream_in_both_dialects() {
    for dialect in [Sotw, Delta] {
        let mut fixture = Fixture::new(dialect);
        fixture.subscribe("cds", &[]);
        assert_eq!(fixture.transmit(), None);
        fixture.answer("cds");
        assert_eq!(
            fixture.only().resources,
            [""; 0],
            "an empty response ends the client's waiting, in {dialect}"
        );
    }
}

#[test]
fn s10_other_types_wait_for_nothing() {
    let mut fixture = Fixture::new(Sotw);
    fixture.subscribe("eds", &["a", "b"]);
    assert_eq!(fixture.transmit(), None, "there is nothing yet");
    fixture.commit("eds", &["a"]);
    assert_eq!(fixture.only().resources, ["a"]);
}

#[test]
fn s08_a_stated_version_that_is_current_is_enough_for_a_wildcard() {
    for (short, names, is_current, silent) in [
        ("cds", &[][..], true, true),
        ("lds", &["*"], true, true),
        ("cds", &[], false, false),
        ("cds", &["a"], true, false),
        ("srds", &[], true, false),
    ] {
        let mut fixture = Fixture::new(Sotw);
        fixture.commit(short, &["a"]);
        fixture.answer(short);
        fixture.subscribe(short, names);
        let version = if is_current { fixture.only().version } else { "0000000000000009".to_owned() };
        fixture.reconnect();
        fixture.sends(stating(replace(short, "", names), &version));
        assert_eq!(fixture.transmit().is_none(), silent, "{short} {names:?} {version}");
        fixture.commit(short, &["a"]);
        fixture.only();
    }
}

const LEASE: Duration = Duration::from_secs(60);

/// A client of clusters, of which `a` has a time to live.
fn client_of_leased() -> Fixture {
    let mut fixture = Fixture::new(Sotw);
    fixture.subscribe("cds", &[]);
    let content = Content { ttl: Some(LEASE), ..fixture.fresh("cds", "a").content().clone() };
    let variant = fixture.variant("cds", "a", content);
    fixture.commit_batch("cds", |_, batch| {
        batch.provenance = Provenance::Wildcard;
        batch.upserts.push(variant);
    });
    fixture.answer("cds");
    fixture
}

#[test]
fn t05_what_only_lives_on_is_said_in_full_state_too() {
    let mut fixture = client_of_leased();
    let first = fixture.only();
    fixture.passes(10_000);
    fixture.commit_batch("cds", |_, batch| {
        batch.provenance = Provenance::Wildcard;
        batch.heartbeats.push(Heartbeat { key: anyones("a"), ttl: LEASE });
    });
    let second = fixture.only();
    assert_eq!((second.resources, second.version), (first.resources, first.version));
}

#[test]
fn t03_a_client_that_comes_back_with_the_current_version_is_told_what_is_left() {
    let mut fixture = client_of_leased();
    let version = fixture.only().version;
    fixture.reconnect();
    fixture.sends(stating(replace("cds", "", &[]), &version));
    assert_eq!(fixture.only().resources, ["a"]);
}

#[test]
fn t02_a_client_that_rejected_something_may_lack_what_it_was_sent() {
    let mut fixture = Fixture::new(Delta);
    fixture.commit("cds", &["a", "b"]);
    fixture.answer("cds");
    fixture.subscribe("cds", &["*"]);
    let nonce = fixture.only().nonce;
    let rejects = |fixture: &Fixture| fixture.type_of("cds").rejects();
    assert!(!rejects(&fixture));
    fixture.nack("cds", &nonce);
    assert!(rejects(&fixture));
    fixture.sends(patch("cds", "", &["b"], &[]));
    assert!(rejects(&fixture), "that was no verdict");
    let nonce = fixture.only().nonce;
    fixture.ack("cds", &nonce);
    assert!(!rejects(&fixture));
}
