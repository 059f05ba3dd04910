//! What is waited for, and for how long.

use weir_database::Settings;
use weir_types::constraints::Expr;
use weir_types::{Absence, Answered, Constraints, Dialect, ResourceError, Selector, VariantKey};

use super::messages::patch_selectors;
use super::*;
use crate::ClientKind;

/// A client of all clusters, of endpoints of which `unanswered` are not answered, and of other types.
fn warming_client(dialect: Dialect, others: &[&'static str], unanswered: &[&str]) -> Fixture {
    let mut fixture = client_of(dialect, others);
    fixture.commit("cds", &["a"]);
    fixture.answer("cds");
    fixture.subscribe("cds", &["*"]);
    fixture.commit("eds", &["a"]);
    fixture.subscribe("eds", &[&["a"], unanswered].concat());
    assert_eq!(fixture.drain().len(), 2);
    fixture
}

/// Sends a cluster that the client does not have, with the endpoints `name`, at the cost of one response.
fn send_cluster(fixture: &mut Fixture, name: &str) -> String {
    fixture.commit_clusters(&[name]);
    let sent = fixture.only();
    assert_eq!(sent.short, "cds");
    sent.nonce
}

#[test]
fn o04_changes_wait_for_new_clusters_until_the_deadline_and_no_longer() {
    for (dialect, accepts) in [(Delta, true), (Delta, false), (Sotw, true), (Sotw, false)] {
        let mut fixture = warming_client(dialect, &["lds", "rds"], &["new"]);
        let nonce = send_cluster(&mut fixture, "new");
        assert_eq!(fixture.due_in(), None, "nothing waits");
        if accepts {
            fixture.ack("cds", &nonce);
        }
        fixture.passes(300);
        fixture.commit("rds", &["a"]);
        assert_eq!(fixture.drain(), [], "{dialect}, accepts: {accepts}");
        assert_eq!(fixture.due_in(), Some(700), "counted from the cluster");
        assert_eq!(fixture.passes(699), []);
        assert_eq!(fixture.drain(), []);
        assert_eq!(fixture.passes(1), [Wait::Warming]);
        assert_eq!(types_of(&fixture.drain()), ["rds"], "{dialect}, accepts: {accepts}");
        fixture.commit("lds", &["a"]);
        assert_eq!(types_of(&fixture.drain()), ["lds"], "nothing waits for it any more");
        assert_eq!(fixture.due_in(), None);
    }
}

#[test]
fn o04_a_wait_is_not_prolonged_by_clusters_that_come_meanwhile() {
    let mut fixture = warming_client(Delta, &["rds"], &["one", "two", "three"]);
    let nonce = send_cluster(&mut fixture, "one");
    fixture.ack("cds", &nonce);
    fixture.passes(600);
    let nonce = send_cluster(&mut fixture, "two");
    fixture.ack("cds", &nonce);
    fixture.commit("rds", &["a"]);
    assert_eq!((fixture.drain(), fixture.due_in()), (vec![], Some(400)));
    fixture.passes(400);
    assert_eq!(types_of(&fixture.drain()), ["rds"]);
    send_cluster(&mut fixture, "three");
    fixture.commit("rds", &["a"]);
    assert_eq!((fixture.drain(), fixture.due_in()), (vec![], Some(1000)), "another wait");
}

#[test]
fn o04_only_endpoints_of_new_clusters_of_the_newest_response_are_waited_for() {
    let mut fixture = warming_client(Delta, &["rds"], &["no cluster", "a", "old"]);
    fixture.remove("eds", &["a"]);
    fixture.drain();
    fixture.commit_clusters(&["a"]);
    fixture.only();
    fixture.commit("rds", &["a"]);
    assert_eq!(types_of(&fixture.drain()), ["rds"], "a changed cluster goes on with what it has");

    let nonce = send_cluster(&mut fixture, "old");
    fixture.ack("cds", &nonce);
    fixture.commit("rds", &["a"]);
    assert_eq!(fixture.drain(), []);
    fixture.commit_clusters(&["a"]);
    let changed = fixture.transmit().expect("it changes");
    fixture.ack("cds", &changed.nonce);
    assert_eq!(types_of(&fixture.drain()), ["rds"], "the newest response has no new cluster");
}

#[test]
fn o04_the_wait_ends_when_the_endpoints_are_there() {
    let mut fixture = warming_client(Delta, &["rds"], &["new", "no cluster"]);
    let nonce = send_cluster(&mut fixture, "new");
    fixture.commit("rds", &["a"]);
    fixture.ack("cds", &nonce);
    assert_eq!(fixture.drain(), []);
    fixture.commit("eds", &["new"]);
    assert_eq!(types_of(&fixture.drain()), ["eds", "rds"]);
    fixture.subscribe("eds", &["more"]);
    fixture.commit("rds", &["a"]);
    assert_eq!(types_of(&fixture.drain()), ["rds"], "once warm, it is");
}

#[test]
fn o04_what_is_newly_asked_for_does_not_wait() {
    let mut fixture = warming_client(Delta, &["rds", "vhds"], &["new"]);
    fixture.commit("rds", &["c"]);
    fixture.subscribe("vhds", &["late"]);
    send_cluster(&mut fixture, "new");
    fixture.subscribe("rds", &["c"]);
    assert_eq!(fixture.only().resources, ["c"]);
    fixture.commit("vhds", &["a"]);
    assert_eq!(fixture.drain(), [], "a change waits");
    fixture.commit("vhds", &["late"]);
    assert_eq!(types_of(&fixture.drain()), ["vhds"], "an answer does not");
}

#[test]
fn s13_a_first_response_waits_for_names_for_a_second_where_nothing_is_stated() {
    let mut fixture = Fixture::new(Sotw);
    fixture.commit("cds", &["a"]);
    fixture.subscribe("cds", &["a", "b"]);
    assert_eq!((fixture.drain(), fixture.due_in()), (vec![], Some(1000)));
    fixture.passes(999);
    assert_eq!(fixture.drain(), []);
    assert_eq!(fixture.passes(1), [Wait::FirstResponse]);
    assert_eq!(fixture.only().resources, ["a"]);
    assert_eq!(fixture.due_in(), None);
    fixture.commit("cds", &["b"]);
    assert_eq!(fixture.only().resources, ["a", "b"], "the rest follows");
}

#[test]
fn s13_a_first_response_leaves_when_what_is_under_way_has_been_answered() {
    let mut fixture = Fixture::new(Sotw);
    fixture.commit("lds", &["a"]);
    fixture.subscribe("lds", &["a", "b"]);
    assert_eq!(fixture.drain(), []);
    fixture.passes(20);
    fixture.absent("lds", &["b"], Absence::Known);
    assert_eq!(types_of(&fixture.drain()), ["lds"]);
    assert_eq!(fixture.passes(5000), []);
}

#[test]
fn s13_a_first_response_does_not_wait_for_names_that_nobody_can_be_asked_for() {
    for (away, known, leaves) in
        [(&["b"][..], &["a"][..], true), (&["a", "b"], &[], false), (&["b"], &[], false)]
    {
        let mut fixture = Fixture::new(Sotw);
        fixture.commit("cds", known);
        fixture.subscribe("cds", &["a", "b"]);
        fixture.fail("cds", away, &ResourceError::unavailable(Constraints::unconstrained()));
        let left = fixture.drain();
        assert_eq!(left.len(), usize::from(leaves), "{away:?} of two away, known: {known:?}");
    }
}

#[test]
fn s11_a_wait_that_leaves_nothing_incomplete_has_no_end() {
    for (kind, known, first) in [(ClientKind::Other, "b", ["*", "b"]), (ClientKind::Weir, "a", ["a", "b"])] {
        let mut fixture = Fixture::with(Sotw, None, kind, Settings::default());
        fixture.commit("cds", &[known]);
        fixture.subscribe("cds", &first);
        assert_eq!((fixture.drain(), fixture.due_in()), (vec![], None), "{kind:?}");
        assert_eq!(fixture.passes(60_000), [], "{kind:?}");
        assert_eq!(fixture.drain(), []);
    }
}

#[test]
fn s13_a_first_response_without_anything_known_does_not_leave() {
    let mut fixture = Fixture::new(Sotw);
    fixture.subscribe("lds", &["a", "b"]);
    assert_eq!(fixture.passes(1000), []);
    assert_eq!(fixture.drain(), []);
    fixture.commit("lds", &["a"]);
    assert_eq!(types_of(&fixture.drain()), ["lds"], "it has waited for long enough");
}

#[test]
fn a_first_response_that_was_sent_leaves_no_deadline() {
    let mut fixture = client_of(Sotw, &["lds"]);
    fixture.subscribe("lds", &["a", "b", "c"]);
    assert_eq!(fixture.due_in(), None);
}

#[test]
fn o04_a_wait_that_nothing_needed_is_over_when_the_next_begins() {
    let mut fixture = warming_client(Delta, &["rds"], &["one", "two"]);
    let nonce = send_cluster(&mut fixture, "one");
    fixture.ack("cds", &nonce);
    fixture.now += std::time::Duration::from_secs(60);
    let nonce = send_cluster(&mut fixture, "two");
    fixture.ack("cds", &nonce);
    fixture.commit("rds", &["a"]);
    assert_eq!((fixture.drain(), fixture.due_in()), (vec![], Some(1000)));
}

#[test]
fn s11_wildcards_and_clients_that_state_a_version_wait_for_all_of_it() {
    for (short, names, stated, known) in [
        ("cds", ["a", "b"], "0000000000000007", &["a"][..]),
        ("cds", ["*", "b"], "", &["a", "b"]),
        ("lds", ["a", "b"], "0000000000000007", &["a"]),
    ] {
        let mut fixture = Fixture::new(Sotw);
        fixture.commit(short, known);
        fixture.sends(stating(replace(short, "", &names), stated));
        fixture.passes(60_000);
        assert_eq!(fixture.drain(), [], "{short} {names:?}");
        fixture.commit(short, &["b"]);
        fixture.answer(short);
        assert_eq!(fixture.only().resources, ["a", "b"], "{short} {names:?}");
    }
}

#[test]
fn i16_an_unanswered_collection_is_empty_for_clients_that_state_nothing() {
    for stated in [false, true] {
        let mut fixture = Fixture::new(Sotw);
        let first = replace("cds", "", &["*"]);
        fixture.sends(if stated { stating(first, "0000000000000007") } else { first });
        fixture.commit_batch("cds", |_, batch| {
            batch.answered.push(Answered { absence: Absence::TimedOut, ..Answered::all() });
        });
        assert_eq!(fixture.drain().len(), usize::from(!stated), "stated: {stated}");
        fixture.commit("cds", &["a"]);
        fixture.answer("cds");
        assert_eq!(fixture.only().resources, ["a"], "stated: {stated}");
    }
}

#[test]
fn p18_that_nothing_matches_a_locator_is_said_when_its_siblings_are_answered() {
    let located = |env| Selector::located("a", [("env", env)].into_iter().collect());
    let (test, prod) = (located("test"), located("prod"));
    let mut fixture = Fixture::new(Delta);
    fixture.sends(patch_selectors("eds", &[test.clone(), prod], &[]));
    fixture.commit_batch("eds", |_, batch| batch.mark_absent(&test.locator, Absence::Known));
    assert_eq!(fixture.drain(), []);
    assert!(!fixture.session.may_transmit(), "nothing can be sent yet");
    fixture.commit_batch("eds", |fixture, batch| {
        let content = fixture.fresh("eds", "a").content().clone();
        let key = VariantKey::new("a", Constraints::new(Expr::value("env", "prod")));
        batch.upserts.push(weir_types::Variant::new(key, content));
    });
    let sent = fixture.only();
    assert_eq!((sent.resources.len(), sent.removed), (1, vec!["a".to_owned()]));
}

#[test]
fn i16_explicit_names_do_not_wait_for_a_collection_beside_them() {
    for (kind, sent) in [(ClientKind::Other, 1), (ClientKind::Weir, 0)] {
        let mut fixture = Fixture::with(Delta, None, kind, Settings::default());
        fixture.subscribe("cds", &["*", "a"]);
        assert_eq!(fixture.drain(), [], "there is nothing to send");
        fixture.commit("cds", &["a"]);
        assert_eq!(fixture.drain().len(), sent, "a proxy would take it for the answer to all: {kind:?}");
    }
}
