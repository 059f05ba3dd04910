//! What is waited for, and for how long.

use super::*;
use weir_types::Dialect::{Delta, Sotw};

fn types_of(asked: &[Asked]) -> Vec<&'static str> {
    asked.iter().map(|asked| asked.type_url).collect()
}

/// Sends a cluster that the client does not have, with the endpoints `name`, at the cost of one response.
fn send_cluster(fixture: &mut Fixture, name: &str) -> String {
    fixture.world("cds", |world| {
        world.warming = [name.into()].into();
        world.new_clusters = vec![name.into()];
    });
    fixture.adds("cds");
    let (nonce, asked) = fixture.only();
    assert_eq!(asked.type_url, "cds");
    // Only that response is about it.
    fixture.world("cds", |world| (world.warming, world.new_clusters) = (HashSet::new(), Vec::new()));
    nonce
}

/// Nobody knows what the endpoints of `name` are.
fn leave_unanswered(fixture: &mut Fixture, names: &[&str]) {
    fixture.world("eds", |world| {
        world.unsettled = (names.len(), 0);
        world.unanswered = names.iter().map(|name| Name::from(*name)).collect();
    });
}

#[test]
fn o04_changes_wait_for_new_clusters_until_the_deadline_and_no_longer() {
    for (dialect, accepts) in [(Delta, true), (Delta, false), (Sotw, true), (Sotw, false)] {
        let mut fixture = client_of(dialect, &["cds", "eds", "lds", "rds"]);
        leave_unanswered(&mut fixture, &["new"]);
        let nonce = send_cluster(&mut fixture, "new");
        assert_eq!(fixture.due_in(), None, "nothing waits");
        if accepts {
            fixture.accepts("cds", &nonce);
        }
        fixture.passes(300);
        fixture.adds("rds");
        assert_eq!(fixture.drain(), [], "{dialect}, accepts: {accepts}");
        assert_eq!(fixture.due_in(), Some(700), "counted from the cluster");
        assert_eq!(fixture.passes(699), TimedOut::default());
        assert_eq!(fixture.drain(), []);
        assert_eq!(fixture.passes(1), TimedOut { warming: true, first_response: false });
        assert_eq!(types_of(&fixture.drain()), ["rds"], "{dialect}, accepts: {accepts}");
        fixture.adds("lds");
        assert_eq!(types_of(&fixture.drain()), ["lds"], "nothing waits for it any more");
        assert_eq!(fixture.due_in(), None);
    }
}

#[test]
fn o04_a_wait_is_not_prolonged_by_clusters_that_come_meanwhile() {
    let mut fixture = client_of(Delta, &["cds", "eds", "rds"]);
    leave_unanswered(&mut fixture, &["one", "two"]);
    let nonce = send_cluster(&mut fixture, "one");
    fixture.accepts("cds", &nonce);
    fixture.passes(600);
    let nonce = send_cluster(&mut fixture, "two");
    fixture.accepts("cds", &nonce);
    fixture.adds("rds");
    assert_eq!((fixture.drain(), fixture.due_in()), (vec![], Some(400)));
    fixture.passes(400);
    assert_eq!(types_of(&fixture.drain()), ["rds"]);
    leave_unanswered(&mut fixture, &["one", "two", "three"]);
    send_cluster(&mut fixture, "three");
    fixture.adds("rds");
    assert_eq!((fixture.drain(), fixture.due_in()), (vec![], Some(1000)), "another wait");
}

#[test]
fn o04_only_endpoints_of_new_clusters_of_the_newest_response_are_waited_for() {
    let mut fixture = client_of(Delta, &["cds", "eds", "rds"]);
    leave_unanswered(&mut fixture, &["no cluster", "changed", "old"]);
    fixture.world("cds", |world| world.warming = ["changed".into()].into());
    fixture.adds("cds");
    fixture.only();
    fixture.adds("rds");
    assert_eq!(types_of(&fixture.drain()), ["rds"], "a changed cluster goes on with what it has");

    let nonce = send_cluster(&mut fixture, "old");
    fixture.accepts("cds", &nonce);
    fixture.adds("rds");
    assert_eq!(fixture.drain(), []);
    fixture.world("cds", |world| world.warming = HashSet::new());
    fixture.adds("cds");
    let (nonce, _) = fixture.next().expect("it changes");
    fixture.accepts("cds", &nonce);
    assert_eq!(types_of(&fixture.drain()), ["rds"], "the newest response has no new cluster");
}

#[test]
fn o04_the_wait_ends_when_the_endpoints_are_there() {
    let mut fixture = client_of(Delta, &["cds", "eds", "rds"]);
    leave_unanswered(&mut fixture, &["new", "no cluster"]);
    let nonce = send_cluster(&mut fixture, "new");
    fixture.adds("rds");
    fixture.accepts("cds", &nonce);
    assert_eq!(fixture.drain(), []);
    leave_unanswered(&mut fixture, &["no cluster"]);
    fixture.adds("eds");
    assert_eq!(types_of(&fixture.drain()), ["eds", "rds"]);
    leave_unanswered(&mut fixture, &["no cluster", "new"]);
    fixture.adds("rds");
    assert_eq!(types_of(&fixture.drain()), ["rds"], "once warm, it is");
}

#[test]
fn o04_what_is_newly_asked_for_does_not_wait() {
    let mut fixture = client_of(Delta, &["cds", "eds", "rds", "vhds"]);
    leave_unanswered(&mut fixture, &["new"]);
    send_cluster(&mut fixture, "new");
    fixture.says(patch("rds", "", &["b"], &[]));
    assert_eq!(fixture.only().1.owed, ["b"]);
    fixture.adds("vhds");
    assert_eq!(fixture.drain(), [], "a change waits");
    fixture.answered("vhds");
    assert_eq!(types_of(&fixture.drain()), ["vhds"], "an answer does not");
}

#[test]
fn s13_a_first_response_waits_for_names_for_a_second_where_nothing_is_stated() {
    let mut fixture = Fixture::new(Sotw);
    fixture.world("cds", |world| world.unsettled = (1, 0));
    fixture.says(replace("cds", "", &["a", "b"]));
    assert_eq!((fixture.drain(), fixture.due_in()), (vec![], Some(1000)));
    fixture.passes(999);
    assert_eq!(fixture.drain(), []);
    assert!(fixture.passes(1).first_response);
    let (_, asked) = fixture.only();
    assert!(asked.everything && asked.forced);
    assert_eq!(fixture.due_in(), None);
    fixture.world("cds", |world| world.unsettled = (0, 0));
    fixture.answered("cds");
    assert_eq!(types_of(&fixture.drain()), ["cds"], "the rest follows");
}

#[test]
fn s13_a_first_response_leaves_when_what_is_under_way_has_been_answered() {
    let mut fixture = Fixture::new(Sotw);
    fixture.world("lds", |world| world.unsettled = (1, 0));
    fixture.says(replace("lds", "", &["a", "b"]));
    assert_eq!(fixture.drain(), []);
    fixture.passes(20);
    fixture.world("lds", |world| world.unsettled = (0, 0));
    fixture.answered("lds");
    assert_eq!(types_of(&fixture.drain()), ["lds"]);
    assert_eq!(fixture.passes(5000), TimedOut::default());
}

#[test]
fn s13_a_first_response_does_not_wait_for_names_that_nobody_can_be_asked_for() {
    for (away, known, leaves) in [(1, true, true), (2, false, false), (1, false, false)] {
        let mut fixture = Fixture::new(Sotw);
        let unsettled = if known { away } else { 2 };
        fixture.world("cds", |world| (world.unsettled, world.away) = ((unsettled, 0), away));
        fixture.says(replace("cds", "", &["a", "b"]));
        let left = fixture.drain();
        assert_eq!(left.len(), usize::from(leaves), "{away} of two away, anything known: {known}");
    }
}

#[test]
fn s11_a_wait_that_leaves_nothing_incomplete_has_no_end() {
    for (proxy, first) in [(false, replace("cds", "", &["*", "b"])), (true, replace("cds", "", &["a", "b"]))]
    {
        let mut fixture = Fixture::new(Sotw);
        fixture.stream = fixture.stream.for_proxy(proxy);
        fixture.world("cds", |world| world.unsettled = (1, usize::from(!proxy)));
        fixture.says(first);
        assert_eq!((fixture.drain(), fixture.due_in()), (vec![], None), "proxy: {proxy}");
        assert_eq!(fixture.passes(60_000), TimedOut::default(), "proxy: {proxy}");
        assert_eq!(fixture.drain(), []);
    }
}

#[test]
fn s13_a_first_response_without_anything_known_does_not_leave() {
    let mut fixture = Fixture::new(Sotw);
    fixture.world("lds", |world| world.unsettled = (2, 0));
    fixture.says(replace("lds", "", &["a", "b"]));
    assert_eq!(fixture.passes(1000), TimedOut::default());
    assert_eq!(fixture.drain(), []);
    fixture.world("lds", |world| world.unsettled = (1, 0));
    fixture.answered("lds");
    assert_eq!(types_of(&fixture.drain()), ["lds"], "it has waited for long enough");
}

#[test]
fn a_first_response_that_was_sent_leaves_no_deadline() {
    let mut fixture = Fixture::new(Sotw);
    fixture.says(replace("lds", "", &["a"]));
    assert_eq!(fixture.drain().len(), 1);
    fixture.world("lds", |world| world.unsettled = (1, 0));
    assert_eq!(fixture.due_in(), None);
}

#[test]
fn o04_a_wait_that_nothing_needed_is_over_when_the_next_begins() {
    let mut fixture = client_of(Delta, &["cds", "eds", "rds"]);
    leave_unanswered(&mut fixture, &["one", "two"]);
    let nonce = send_cluster(&mut fixture, "one");
    fixture.accepts("cds", &nonce);
    fixture.now += Duration::from_secs(60);
    let nonce = send_cluster(&mut fixture, "two");
    fixture.accepts("cds", &nonce);
    fixture.adds("rds");
    assert_eq!((fixture.drain(), fixture.due_in()), (vec![], Some(1000)));
}

#[test]
fn s11_wildcards_and_clients_that_state_a_version_wait_for_all_of_it() {
    let stating = |mut inbound: Inbound| {
        inbound.version = Some(Version(7));
        inbound
    };
    for first in [
        stating(replace("cds", "", &["a", "b"])),
        replace("cds", "", &["*", "b"]),
        stating(replace("lds", "", &["a", "b"])),
    ] {
        let mut fixture = Fixture::new(Sotw);
        let short = first.type_url.short_name();
        let collections =
            usize::from(matches!(&first.names, Names::Replace(names) if names[0].locator.is_wildcard()));
        fixture.world(short, |world| world.unsettled = (1 - collections, collections));
        fixture.says(first.clone());
        fixture.passes(60_000);
        assert_eq!(fixture.drain(), [], "{first:?}");
        fixture.world(short, |world| world.unsettled = (0, 0));
        fixture.answered(short);
        assert_eq!(fixture.drain().len(), 1, "{first:?}");
    }
}

#[test]
fn i16_an_unanswered_collection_is_empty_for_clients_that_state_nothing() {
    for stated in [false, true] {
        let mut fixture = Fixture::new(Sotw);
        fixture.world("cds", |world| world.unproved = 1);
        let mut first = replace("cds", "", &["*"]);
        first.version = stated.then_some(Version(7));
        fixture.says(first);
        assert_eq!(fixture.drain().len(), usize::from(!stated), "stated: {stated}");
        fixture.world("cds", |world| world.unproved = 0);
        fixture.answered("cds");
        assert_eq!(fixture.drain().len(), 1, "stated: {stated}");
    }
}

#[test]
fn p18_that_nothing_matches_a_locator_is_said_when_its_siblings_are_answered() {
    let mut fixture = client_of(Delta, &["eds"]);
    let waiting = selectors(&["a"]);
    fixture.world("eds", |world| world.waiting = waiting.clone());
    fixture.adds("eds");
    fixture.drain();
    assert!(!fixture.stream.is_due(), "nothing can be sent yet");
    fixture.world("eds", |world| world.waiting.clear());
    fixture.adds("eds");
    assert_eq!(fixture.only().1.unsaid, ["a"]);
}

#[test]
fn i16_explicit_names_do_not_wait_for_a_collection_beside_them() {
    for proxy in [false, true] {
        let mut fixture = Fixture::new(Delta);
        fixture.stream = fixture.stream.for_proxy(proxy);
        fixture.world("cds", |world| world.unsettled = (1, 1));
        fixture.says(patch("cds", "", &["*", "a"], &[]));
        assert_eq!(fixture.drain(), [], "there is nothing to send");
        fixture.world("cds", |world| world.unsettled = (0, 1));
        fixture.answered("cds");
        let sent = types_of(&fixture.drain());
        match proxy {
            false => assert_eq!(sent, ["cds"]),
            true => assert_eq!(sent, Vec::<&str>::new(), "a proxy would take it for the answer to all"),
        }
    }
}
