//! Removals of clusters and endpoints that a client has by name.

use weir_database::Settings;
use weir_types::{Absence, Code, Dialect, ResourceError, Selector};

use super::fixture::{anyones, failed};

use super::messages::patch_selectors;
use super::*;
use crate::ClientKind;

/// A client whose route has moved away from `b`, which is gone: it was sent the route, and nothing else.
fn rerouted_client(dialect: Dialect) -> Fixture {
    let mut fixture = client_of(dialect, &["cds", "eds", "rds"]);
    fixture.remove("cds", &["b"]);
    assert_eq!(fixture.drain(), [], "{dialect}: the control plane sends routes last");
    fixture.remove("eds", &["b"]);
    fixture.commit("rds", &["a"]);
    assert_eq!(types_of(&fixture.drain()), ["rds"], "{dialect}");
    fixture
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
fn o05_what_a_client_has_left_is_not_removed() {
    for dialect in [Delta, Sotw] {
        let mut fixture = rerouted_client(dialect);
        assert_eq!(fixture.due_in(), Some(1000), "{dialect}");
        for short in ["eds", "cds"] {
            leave(&mut fixture, short);
            assert_eq!(fixture.drain(), [], "{dialect}: {short} has nothing that is gone");
        }
        assert_eq!(fixture.due_in(), None, "{dialect}");
        let view = fixture.type_of("cds").view();
        assert_eq!(view.cursor().removals, view.head().removals, "{dialect}: nothing is outstanding");
    }
}

#[test]
fn o05_what_a_client_keeps_by_name_is_removed_once_the_time_is_up() {
    for dialect in [Delta, Sotw] {
        let mut fixture = rerouted_client(dialect);
        assert_eq!(fixture.passes(999), [], "{dialect}");
        assert_eq!(fixture.drain(), [], "{dialect}");
        assert_eq!(fixture.passes(1), [Wait::Leaving], "{dialect}");
        let left = fixture.drain();
        assert_eq!(types_of(&left), ["eds", "cds"], "{dialect}");
        assert!(!left[1].resources.contains(&"b".to_owned()), "{dialect}");
        assert_eq!(fixture.due_in(), None, "{dialect}");
        fixture.remove("cds", &["a"]);
        assert_eq!(fixture.drain(), [], "{dialect}: the next one waits anew");
        assert_eq!(fixture.due_in(), Some(1000), "{dialect}");
    }
}

/// The successor may be asked for only now, and what it replaces is still in use.
#[test]
fn o05_a_successor_that_is_asked_for_does_not_take_what_it_replaces_with_it() {
    for dialect in [Delta, Sotw] {
        let mut fixture = rerouted_client(dialect);
        fixture.absent("cds", &["new"], Absence::Known);
        fixture.commit_clusters(&["new"]);
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
fn o05_removals_of_what_a_client_does_not_have_by_name_do_not_wait() {
    for (short, named, kind, waits) in [
        ("cds", "b", ClientKind::Other, true),
        ("cds", "*", ClientKind::Other, false),
        ("cds", "b", ClientKind::Weir, false),
        ("rds", "b", ClientKind::Other, false),
    ] {
        let mut fixture = Fixture::with(Delta, None, kind, Settings::default());
        fixture.commit(short, &["a", "b"]);
        fixture.answer(short);
        fixture.subscribe(short, &[named]);
        fixture.only();
        fixture.remove(short, &["b"]);
        assert_eq!(fixture.drain().is_empty(), waits, "{short} {named}, {kind:?}");
    }
}

#[test]
fn o05_removals_wait_on_aggregated_streams_only() {
    let mut fixture = Fixture::with(Delta, Some(Kind::Cluster), ClientKind::Other, Settings::default());
    fixture.commit("cds", &["a"]);
    fixture.subscribe("cds", &["a"]);
    fixture.only();
    fixture.remove("cds", &["a"]);
    assert_eq!(fixture.only().removed, ["a"]);
}

#[test]
fn o05_a_wait_is_not_prolonged_by_removals_that_come_meanwhile() {
    let mut fixture = rerouted_client(Delta);
    fixture.passes(600);
    fixture.remove("cds", &["a"]);
    assert_eq!(fixture.drain(), []);
    assert_eq!(fixture.due_in(), Some(400));
    fixture.passes(400);
    assert_eq!(types_of(&fixture.drain()), ["eds", "cds"]);
}

#[test]
fn o05_why_something_is_gone_is_sent_with_its_removal() {
    for (dialect, short) in [(Delta, "cds"), (Sotw, "cds"), (Delta, "eds"), (Sotw, "eds")] {
        let mut fixture = client_of(dialect, &[short]);
        fixture.commit_batch(short, |_, batch| {
            batch.removals.push(anyones("b"));
            batch.errors.push(failed("b", &ResourceError::new(Code::NOT_FOUND, "gone")));
        });
        assert_eq!(fixture.drain(), [], "{dialect} {short}");
        assert_eq!(fixture.passes(1000), [Wait::Leaving], "{dialect} {short}");
        let sent = fixture.only();
        assert_eq!(sent.errors.len(), 1, "{dialect} {short}: {sent:?}");
        assert!(!sent.resources.contains(&"b".to_owned()), "{dialect} {short}");
    }
}

#[test]
fn o05_a_locator_is_left_as_a_name_is() {
    let mut fixture = Fixture::new(Delta);
    let located = |name: &str| Selector::located(name, fixture::parameters());
    fixture.commit("cds", &["a", "b"]);
    fixture.sends(patch_selectors("cds", &[located("a"), located("b")], &[]));
    fixture.only();
    fixture.remove("cds", &["b"]);
    assert_eq!(fixture.drain(), []);
    fixture.sends(patch_selectors("cds", &[], &[located("b")]));
    assert_eq!(fixture.drain(), []);
    assert_eq!(fixture.due_in(), None);
}
