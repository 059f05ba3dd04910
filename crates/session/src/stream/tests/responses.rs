//! When responses are sent.

use super::*;
use weir_types::Dialect::{Delta, Sotw};

#[test]
fn d05_nonces_count_the_responses_at_a_commit() {
    let previous = Nonce::next(None, Commit(10));
    assert_eq!(previous.to_string(), "a-0");
    assert_eq!(Nonce::next(Some(previous), Commit(10)).to_string(), "a-1");
    assert_eq!(Nonce::next(Some(previous), Commit(11)).to_string(), "b-0");
}

#[test]
fn d08_nothing_is_said_while_nothing_moves() {
    for first in [replace("eds", "", &["a"]), replace("cds", "", &["a"]), replace("cds", "", &["*"])] {
        let mut fixture = Fixture::new(Sotw);
        fixture.says(first);
        fixture.drain();
        assert_eq!(fixture.next(), None);
    }
}

#[test]
fn d08_what_has_come_back_to_what_it_was_is_not_said_in_full_state() {
    let mut fixture = Fixture::new(Sotw);
    fixture.says(replace("cds", "", &["a"]));
    fixture.drain();
    let version = fixture.worlds.borrow()[&type_url("cds")].version;
    fixture.adds("cds");
    fixture.world("cds", |world| world.version = version);
    assert_eq!(fixture.next(), None);
    fixture.adds("cds");
    fixture.only();
}

#[test]
fn d08_a_version_that_stood_for_more_is_no_reason_to_be_silent() {
    let mut fixture = Fixture::new(Sotw);
    fixture.says(replace("cds", "", &["a", "b"]));
    let (nonce, _) = fixture.only();
    let version = fixture.worlds.borrow()[&type_url("cds")].version;
    fixture.says(replace("cds", &nonce, &["a"]));
    fixture.drain();
    fixture.adds("cds");
    fixture.world("cds", |world| world.version = version);
    assert!(fixture.only().1.everything, "the client has dropped b meanwhile");
}

#[test]
fn s01_only_full_state_types_are_said_whole_and_only_in_sotw() {
    for (short, full) in [("cds", true), ("lds", true), ("srds", true), ("eds", false), ("other", false)] {
        for (dialect, first) in [(Sotw, replace(short, "", &["a"])), (Delta, patch(short, "", &["a"], &[]))] {
            let mut fixture = Fixture::new(dialect);
            fixture.says(first);
            fixture.drain();
            fixture.adds(short);
            assert_eq!(fixture.only().1.everything, full && dialect == Sotw, "{short} in {dialect}");
        }
    }
}

#[test]
fn s11_the_first_full_state_response_waits_for_every_name_and_is_then_sent() {
    let mut fixture = Fixture::new(Sotw);
    fixture.world("cds", |world| world.unsettled = (1, 0));
    fixture.says(replace("cds", "", &["a", "b"]));
    fixture.adds("cds");
    assert_eq!(fixture.next(), None);
    fixture.world("cds", |world| world.unsettled = (0, 0));
    let (nonce, asked) = fixture.only();
    assert!(asked.forced && asked.everything, "even if there is nothing");
    fixture.world("cds", |world| world.unsettled = (1, 0));
    fixture.says(replace("cds", &nonce, &["a", "b", "c"]));
    assert_eq!(fixture.only().1.owed, ["c"], "names that are added later delay nothing");
}

#[test]
fn s11_a_wildcard_waits_for_upstream_in_both_dialects() {
    for (dialect, first) in [(Sotw, replace("cds", "", &[])), (Delta, patch("cds", "", &[], &[]))] {
        let mut fixture = Fixture::new(dialect);
        fixture.world("cds", |world| world.unsettled = (0, 1));
        fixture.says(first);
        assert_eq!(fixture.next(), None);
        fixture.world("cds", |world| world.unsettled = (0, 0));
        assert!(fixture.only().1.forced, "an empty response ends the client's waiting, in {dialect}");
    }
}

#[test]
fn s10_other_types_wait_for_nothing() {
    let mut fixture = Fixture::new(Sotw);
    fixture.world("eds", |world| world.unsettled = (1, 0));
    fixture.says(replace("eds", "", &["a", "b"]));
    assert_eq!(fixture.next(), None, "there is nothing yet");
    fixture.adds("eds");
    fixture.only();
}

#[test]
fn s08_a_stated_version_that_is_current_is_enough_for_a_wildcard() {
    for (short, names, stated, silent) in [
        ("cds", &[][..], Version(0), true),
        ("lds", &["*"], Version(0), true),
        ("cds", &[], Version(9), false),
        ("cds", &["a"], Version(0), false),
        ("srds", &[], Version(0), false),
    ] {
        let mut fixture = Fixture::new(Sotw);
        let mut first = replace(short, "", names);
        first.version = Some(stated);
        fixture.says(first);
        assert_eq!(fixture.next().is_none(), silent, "{short} {names:?} {stated}");
        fixture.adds(short);
        fixture.only();
    }
}

#[test]
fn t05_what_only_lives_on_is_said_in_full_state_too() {
    let mut fixture = Fixture::new(Sotw);
    fixture.says(replace("cds", "", &["a"]));
    fixture.drain();
    let version = fixture.worlds.borrow()[&type_url("cds")].version;
    fixture.adds("cds");
    fixture.world("cds", |world| (world.version, world.refreshes) = (version, true));
    fixture.only();
}

#[test]
fn t03_a_client_that_comes_back_with_the_current_version_is_told_what_is_left() {
    let mut fixture = Fixture::new(Sotw);
    fixture.world("cds", |world| world.refreshes = true);
    let mut first = replace("cds", "", &[]);
    first.version = Some(Version(0));
    fixture.says(first);
    fixture.only();
}

#[test]
fn t02_a_client_that_rejected_something_may_lack_what_it_was_sent() {
    let mut fixture = Fixture::new(Delta);
    fixture.says(patch("cds", "", &["*"], &[]));
    let (nonce, _) = fixture.only();
    let rejects = |fixture: &Fixture| fixture.stream.logical()[0].rejects();
    assert!(!rejects(&fixture));
    fixture.says(nack(patch("cds", &nonce, &[], &[])));
    assert!(rejects(&fixture));
    fixture.says(patch("cds", "", &["b"], &[]));
    assert!(rejects(&fixture), "that was no verdict");
    let (nonce, _) = fixture.only();
    fixture.says(patch("cds", &nonce, &[], &[]));
    assert!(!rejects(&fixture));
}
