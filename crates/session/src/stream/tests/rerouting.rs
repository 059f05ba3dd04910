//! What a client's routes led to before, and that it has by name.

use weir_types::{Absence, Dialect};

use super::messages::patch_selectors;
use super::*;
use crate::ClientKind;
use weir_database::Settings;
use weir_types::Selector;

/// A client whose route has moved away from `b`, which is gone: it was sent the route, and nothing else.
fn rerouted_client(dialect: Dialect) -> Fixture {
    let mut fixture = client_of(dialect, &["cds", "eds", "rds"]);
    move_route(&mut fixture, "b");
    fixture
}

/// Moves a client's route, and removes what it led to.
fn move_route(fixture: &mut Fixture, from: &str) {
    fixture.commit("rds", &["a"]);
    fixture.remove("eds", &[from]);
    fixture.remove("cds", &[from]);
    assert_eq!(types_of(&fixture.drain()), ["rds"]);
}

/// The client gives up `b`, and keeps the others.
fn leave(fixture: &mut Fixture, short: &str) {
    let nonce = fixture.type_of(short).outstanding().expect("a response").0.to_string();
    fixture.sends(match fixture.dialect {
        Sotw => replace(short, &nonce, &["a"]),
        Delta => patch(short, "", &[], &["b"]),
    });
}

#[test]
fn o05_what_a_client_has_by_name_is_not_removed_when_it_has_left_it() {
    for dialect in [Delta, Sotw] {
        let mut fixture = rerouted_client(dialect);
        assert_eq!(fixture.due_in(), Some(1000), "{dialect}");
        for short in ["eds", "cds"] {
            leave(&mut fixture, short);
            assert_eq!(fixture.drain(), [], "{dialect}: {short} has nothing that is gone");
        }
        assert_eq!(fixture.due_in(), None, "{dialect}");
        let removals = fixture.type_of("cds").view().cursor().removals;
        assert_eq!(
            removals,
            fixture.type_of("cds").view().head().removals,
            "{dialect}: nothing is outstanding"
        );
    }
}

#[test]
fn o05_what_a_client_keeps_by_name_is_removed_once_the_time_is_up() {
    for dialect in [Delta, Sotw] {
        let mut fixture = rerouted_client(dialect);
        assert_eq!(fixture.passes(999), [], "{dialect}");
        assert_eq!(fixture.drain(), [], "{dialect}");
        assert_eq!(fixture.passes(1), [Wait::Rerouting], "{dialect}");
        let left = fixture.drain();
        assert_eq!(types_of(&left), ["eds", "cds"], "{dialect}");
        assert!(!left[1].resources.contains(&"b".to_owned()), "{dialect}");
        assert_eq!(fixture.due_in(), None, "{dialect}");
    }
}

/// The successor may be asked for only now, and what it replaces is still in use.
#[test]
fn o05_a_successor_that_is_asked_for_does_not_take_what_it_replaces_with_it() {
    for dialect in [Delta, Sotw] {
        let mut fixture = client_of(dialect, &["cds", "eds", "rds"]);
        fixture.absent("cds", &["new"], Absence::Known);
        fixture.commit_clusters(&["new"]);
        move_route(&mut fixture, "b");
        let nonce = fixture.type_of("cds").outstanding().expect("a response").0.to_string();
        fixture.sends(match dialect {
            Sotw => replace("cds", &nonce, &["a", "b", "new"]),
            Delta => patch("cds", "", &["new"], &[]),
        });
        let sent = fixture.only();
        assert_eq!((sent.short, sent.removed.len()), ("cds", 0), "{dialect}");
        assert_eq!(sent.resources.contains(&"b".to_owned()), dialect == Sotw);
    }
}

#[test]
fn o05_removals_of_what_no_client_has_by_name_follow_the_routes() {
    for (named, kind, sent) in [
        ("*", ClientKind::Other, ["rds", "cds"].as_slice()),
        ("b", ClientKind::Weir, &["rds", "cds"]),
        ("b", ClientKind::Other, &["rds"]),
    ] {
        let mut fixture = Fixture::with(Delta, None, kind, Settings::default());
        for short in ["cds", "rds"] {
            fixture.commit(short, &["a", "b"]);
            fixture.answer(short);
        }
        fixture.subscribe("cds", &[named]);
        fixture.subscribe("rds", &["a"]);
        fixture.drain();
        fixture.commit("rds", &["a"]);
        fixture.remove("cds", &["b"]);
        assert_eq!(types_of(&fixture.drain()), sent, "{named}, {kind:?}");
    }
}

#[test]
fn o05_removals_do_not_wait_where_no_route_has_moved_lately() {
    let mut fixture = client_of(Delta, &["cds", "rds"]);
    fixture.commit("rds", &["a"]);
    fixture.only();
    fixture.passes(1000);
    fixture.remove("cds", &["b"]);
    assert_eq!(fixture.only().removed, ["b"]);
}

#[test]
fn o05_a_wait_is_not_prolonged_by_routes_that_move_meanwhile() {
    let mut fixture = rerouted_client(Delta);
    fixture.passes(600);
    move_route(&mut fixture, "a");
    assert_eq!(fixture.due_in(), Some(400));
    fixture.passes(400);
    assert_eq!(types_of(&fixture.drain()), ["eds", "cds"]);
}

#[test]
fn o05_a_locator_is_left_as_a_name_is() {
    let mut fixture = client_of(Delta, &["rds"]);
    let located = |name: &str| Selector::located(name, fixture::parameters());
    fixture.commit("cds", &["a", "b"]);
    fixture.sends(patch_selectors("cds", &[located("a"), located("b")], &[]));
    fixture.only();
    fixture.commit("rds", &["a"]);
    fixture.remove("cds", &["b"]);
    assert_eq!(types_of(&fixture.drain()), ["rds"]);
    fixture.sends(patch_selectors("cds", &[], &[located("b")]));
    assert_eq!(fixture.drain(), []);
    assert_eq!(fixture.due_in(), None);
}
