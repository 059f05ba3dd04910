//! In which order responses are sent.

use weir_database::Settings;
use weir_types::{Absence, Kind};

use super::fixture::anyones;
use super::*;
use crate::ClientKind;

#[test]
fn o01_additions_leave_in_the_order_in_which_they_depend_on_each_other() {
    let mut fixture = client_of(Delta, &["rds", "sds", "eds", "vhds", "lds", "srds", "cds"]);
    for short in ["sds", "vhds", "rds", "srds", "lds", "eds", "cds"] {
        fixture.commit(short, &["a"]);
    }
    assert_eq!(types_of(&fixture.drain()), ["cds", "eds", "lds", "srds", "rds", "vhds", "sds"]);
}

#[test]
fn o01_removals_leave_after_all_additions_and_the_other_way_round() {
    let mut fixture = client_of(Delta, &["cds", "eds", "lds", "rds"]);
    for short in ["cds", "eds", "lds"] {
        fixture.remove(short, &["b"]);
    }
    fixture.commit("rds", &["a"]);
    assert_eq!(types_of(&fixture.drain_later()), ["rds", "lds", "eds", "cds"]);
}

#[test]
fn o01_a_response_with_additions_holds_its_removals_back_while_others_have_additions() {
    let mut fixture = client_of(Delta, &["cds", "rds"]);
    fixture.commit("cds", &["a"]);
    fixture.remove("cds", &["b"]);
    fixture.commit("rds", &["a"]);
    let left = fixture.drain_later();
    let left: Vec<_> =
        left.iter().map(|left| (left.short, left.resources.len(), left.removed.len())).collect();
    assert_eq!(left, [("cds", 1, 0), ("rds", 1, 0), ("cds", 0, 1)]);
}

#[test]
fn o01_what_is_committed_in_the_middle_of_a_removal_goes_first() {
    let mut fixture = client_of(Delta, &["cds", "lds"]);
    fixture.remove("cds", &["b"]);
    fixture.midway("lds", "a");
    assert_eq!(types_of(&fixture.drain_later()), ["lds", "cds"]);
}

#[test]
fn o01_what_comes_before_and_is_committed_in_the_middle_goes_first() {
    let mut fixture = client_of(Delta, &["cds", "rds"]);
    fixture.commit("rds", &["a"]);
    fixture.midway("cds", "a");
    assert_eq!(types_of(&fixture.drain()), ["cds", "rds"]);
}

/// Upstream sends one type after the other, so that the route may come later than the clusters.
#[test]
fn o01_what_is_replaced_goes_once_its_successor_is_ready_and_the_route_has_moved() {
    for dialect in [Delta, Sotw] {
        let mut fixture = client_of(dialect, &["cds", "eds", "rds"]);
        for short in ["cds", "eds"] {
            fixture.absent(short, &["new"], Absence::Known);
            fixture.subscribe(short, &["a", "b", "new"]);
        }
        fixture.drain();
        fixture.commit_batch("cds", |fixture, batch| {
            batch.upserts.push(fixture.fresh_cluster("new"));
            batch.removals.push(anyones("b"));
        });
        let sent = fixture.only();
        let repeated = if dialect == Sotw { vec!["a", "b", "new"] } else { vec!["new"] };
        assert_eq!(
            (sent.short, sent.resources, sent.removed.len()),
            ("cds", strings(&repeated), 0),
            "{dialect}"
        );
        fixture.remove("eds", &["b"]);
        assert_eq!(fixture.drain(), [], "{dialect}: it is on its way");
        fixture.commit("rds", &["a"]);
        fixture.ack("cds", &sent.nonce);
        let left = fixture.drain_later();
        assert_eq!(types_of(&left), ["rds", "eds", "cds"], "{dialect}");
        assert!(!left[2].resources.contains(&"b".to_owned()), "{dialect}");
    }
}

/// Where nothing has to get ready, or nobody would ask for its endpoints here, both leave at once.
#[test]
fn o01_what_is_replaced_by_nothing_that_warms_goes_with_it() {
    for (one, warms) in [(None, false), (Some(Kind::Cluster), true)] {
        let mut fixture = Fixture::with(Delta, one, ClientKind::Other, Settings::default());
        fixture.commit("cds", &["a", "b"]);
        fixture.answer("cds");
        fixture.subscribe("cds", &["*"]);
        fixture.drain();
        fixture.commit_batch("cds", |fixture, batch| {
            let cluster = if warms { fixture.fresh_cluster("a") } else { fixture.fresh("cds", "a") };
            batch.upserts.push(cluster);
            batch.removals.push(anyones("b"));
        });
        assert_eq!(fixture.only().removed, ["b"], "{one:?}");
    }
}

#[test]
fn o03_endpoints_of_changed_clusters_are_owed_in_delta_on_one_stream() {
    for (dialect, one, sent) in [
        (Delta, None, vec!["cds", "eds"]),
        (Sotw, None, vec!["cds"]),
        (Delta, Some(Kind::Cluster), vec!["cds"]),
    ] {
        let mut fixture = Fixture::with(dialect, one, ClientKind::Other, Settings::default());
        for short in ["cds", "eds"].into_iter().filter(|short| one.is_none() || *short == "cds") {
            fixture.commit(short, &["svc", "other"]);
            fixture.subscribe(short, &["svc", "other"]);
        }
        fixture.drain();
        fixture.commit_clusters(&["svc"]);
        let left = fixture.drain();
        assert_eq!(types_of(&left), sent, "{dialect}, {one:?}");
        assert_eq!(left.last().expect("a response").resources.contains(&"other".to_owned()), dialect == Sotw);
        assert_eq!(fixture.session.remembered(), 0, "{dialect}, {one:?}");
    }
}

#[test]
fn p18_that_a_changed_cluster_has_no_endpoints_is_not_sent_again() {
    let mut fixture = client_of(Delta, &["cds", "eds"]);
    fixture.remove("eds", &["a"]);
    fixture.drain();
    fixture.commit_clusters(&["a"]);
    assert_eq!(types_of(&fixture.drain()), ["cds"]);
}

#[test]
fn o03_endpoints_that_a_returning_client_holds_are_owed_when_it_asks_for_them() {
    let mut fixture = client_of(Delta, &["cds"]);
    fixture.commit("eds", &["a", "b", "c"]);
    fixture.commit_clusters(&["a", "b"]);
    fixture.only();
    let version = |name| fixture.version("eds", name);
    let (a, b, c) = (version("a"), version("b"), version("c"));
    let held = [("a", &*a), ("b", &*b), ("c", &*c)];
    fixture.sends(holding(patch("eds", "", &["a", "b", "c"], &[]), &held));
    assert_eq!(fixture.only().resources, ["a", "b"], "nothing waits for what it holds besides");
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
