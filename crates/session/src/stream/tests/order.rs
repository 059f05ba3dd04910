//! In which order responses are sent.

use super::*;
use weir_types::Dialect::{Delta, Sotw};

fn types_of(asked: &[Asked]) -> Vec<&'static str> {
    asked.iter().map(|asked| asked.type_url).collect()
}

#[test]
fn o01_additions_leave_in_the_order_in_which_they_depend_on_each_other() {
    let mut fixture = client_of(Delta, &["rds", "sds", "eds", "vhds", "lds", "srds", "cds"]);
    for short in ["sds", "vhds", "rds", "srds", "lds", "eds", "cds"] {
        fixture.adds(short);
    }
    let left = fixture.drain();
    assert_eq!(types_of(&left), ["cds", "eds", "lds", "srds", "rds", "vhds", "sds"]);
}

#[test]
fn o01_removals_leave_after_all_additions_and_the_other_way_round() {
    let mut fixture = client_of(Delta, &["cds", "eds", "lds", "rds"]);
    for short in ["cds", "eds", "lds"] {
        fixture.removes(short);
    }
    fixture.adds("rds");
    assert_eq!(types_of(&fixture.drain()), ["rds", "lds", "eds", "cds"]);
}

#[test]
fn o01_a_response_with_additions_holds_its_removals_back_while_others_have_additions() {
    let mut fixture = client_of(Delta, &["cds", "rds"]);
    fixture.adds("cds");
    fixture.removes("cds");
    fixture.adds("rds");
    let left: Vec<_> = fixture.drain().iter().map(|asked| (asked.type_url, asked.hold_removals)).collect();
    assert_eq!(left, [("cds", true), ("rds", false), ("cds", false)]);
}

#[test]
fn o01_what_is_committed_in_the_middle_of_a_removal_goes_first() {
    let mut fixture = client_of(Delta, &["cds", "lds"]);
    fixture.removes("cds");
    let worlds = Rc::clone(&fixture.worlds);
    fixture.framer.midway = Some(Box::new(move || {
        let mut worlds = worlds.borrow_mut();
        worlds.get_mut(&type_url("lds")).expect("it was asked for").head.additions = Commit(99);
    }));
    assert_eq!(types_of(&fixture.drain()), ["lds", "cds"]);
}

#[test]
fn o01_what_comes_before_and_is_committed_in_the_middle_goes_first() {
    let mut fixture = client_of(Delta, &["cds", "rds"]);
    fixture.adds("rds");
    let worlds = Rc::clone(&fixture.worlds);
    fixture.framer.midway = Some(Box::new(move || {
        let mut worlds = worlds.borrow_mut();
        worlds.get_mut(&type_url("cds")).expect("it was asked for").head.additions = Commit(99);
    }));
    assert_eq!(types_of(&fixture.drain()), ["cds", "rds"]);
}

/// Upstream sends one type after the other, so that the route may come later than the clusters.
#[test]
fn o01_what_is_replaced_goes_once_its_successor_is_ready_and_the_route_has_moved() {
    for dialect in [Delta, Sotw] {
        let mut fixture = client_of(dialect, &["cds", "eds", "rds"]);
        fixture.world("cds", |world| world.warming = ["new".into()].into());
        fixture.world("cds", |world| world.new_clusters = vec!["new".into()]);
        fixture.adds("cds");
        fixture.removes("cds");
        let (nonce, asked) = fixture.only();
        assert_eq!((asked.type_url, asked.hold_removals), ("cds", true), "{dialect}");
        fixture.removes("eds");
        assert_eq!(fixture.drain(), [], "{dialect}: it is on its way");
        fixture.adds("rds");
        // Without what is gone, it is another version.
        fixture.world("cds", |world| (world.warming, world.version) = (HashSet::new(), Version(99)));
        fixture.says(match dialect {
            Sotw => replace("cds", &nonce, &["a"]),
            Delta => patch("cds", &nonce, &[], &[]),
        });
        assert_eq!(types_of(&fixture.drain()), ["rds", "eds", "cds"], "{dialect}");
    }
}

/// Where nothing has to get ready, or nobody would ask for its endpoints here, both leave at once.
#[test]
fn o01_what_is_replaced_by_nothing_that_warms_goes_with_it() {
    for (mode, warming) in [(Mode::Aggregated, false), (Mode::SingleType, true)] {
        let mut fixture = Fixture::with_mode(Delta, mode);
        fixture.says(patch("cds", "", &["a"], &[]));
        fixture.drain();
        fixture.world("cds", |world| world.warming.extend(warming.then(|| "new".into())));
        fixture.adds("cds");
        fixture.removes("cds");
        let (_, asked) = fixture.only();
        assert!(!asked.hold_removals, "{mode:?}");
    }
}

#[test]
fn o03_endpoints_of_changed_clusters_are_owed_in_delta_on_one_stream() {
    let modes =
        [(Delta, Mode::Aggregated, true), (Delta, Mode::SingleType, false), (Sotw, Mode::Aggregated, false)];
    for (dialect, mode, owed) in modes {
        let mut fixture = Fixture::with_mode(dialect, mode);
        for (short, name) in [("cds", "c"), ("eds", "svc")] {
            fixture.says(match dialect {
                Sotw => replace(short, "", &[name]),
                Delta => patch(short, "", &[name], &[]),
            });
        }
        fixture.drain();
        fixture.world("cds", |world| world.warming = ["svc".into(), "unasked".into()].into());
        fixture.adds("cds");
        let left = fixture.drain();
        let endpoints: Vec<_> = left.iter().filter(|a| a.type_url == "eds").map(|a| a.owed.clone()).collect();
        let wanted = if owed { vec![vec!["svc".to_string()]] } else { vec![] };
        assert_eq!(endpoints, wanted, "{dialect}, {mode:?}");
    }
}

#[test]
fn p18_that_a_changed_cluster_has_no_endpoints_is_not_sent_again() {
    let mut fixture = client_of(Delta, &["cds", "eds"]);
    fixture.world("cds", |world| world.warming = ["a".into()].into());
    fixture.world("eds", |world| world.absent = ["a".into()].into());
    fixture.adds("cds");
    let left: Vec<_> = fixture.drain().iter().map(|asked| asked.type_url).collect();
    assert_eq!(left, ["cds"]);
}

#[test]
fn o03_endpoints_that_a_returning_client_holds_are_owed_when_it_asks_for_them() {
    let mut fixture = Fixture::new(Delta);
    fixture.world("cds", |world| world.warming = ["a".into(), "b".into()].into());
    fixture.says(patch("cds", "", &["c"], &[]));
    fixture.drain();
    fixture.adds("cds");
    fixture.only();
    fixture.says(holding(patch("eds", "", &["a", "b"], &[]), &["a"]));
    assert_eq!(fixture.only().1.owed, ["a"], "what it does not hold is sent anyway");
}
