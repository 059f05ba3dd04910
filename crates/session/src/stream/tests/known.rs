//! What a client holds from an earlier stream (`initial_resource_versions`).

use super::*;
use weir_types::Dialect::Delta;

#[test]
fn i05_what_is_stated_counts_until_everything_is_answered() {
    let mut fixture = Fixture::new(Delta);
    fixture.world("eds", |world| world.unsettled = (1, 0));
    fixture.says(holding(patch("eds", "", &["a", "b"], &[]), &["a", "b"]));
    fixture.drain();
    fixture.adds("eds");
    assert!(fixture.only().1.known);
    fixture.world("eds", |world| world.unsettled = (0, 0));
    fixture.adds("eds");
    assert!(fixture.only().1.known, "the last answer came with this");
    fixture.adds("eds");
    assert!(!fixture.only().1.known);
}

#[test]
fn i06_what_is_stated_counts_while_only_silence_speaks_against_it() {
    let mut fixture = Fixture::new(Delta);
    fixture.world("eds", |world| world.disputed = true);
    fixture.says(holding(patch("eds", "", &["a"], &[]), &["a"]));
    fixture.drain();
    for disputed in [true, false] {
        fixture.world("eds", |world| world.disputed = disputed);
        fixture.adds("eds");
        assert!(fixture.only().1.known);
    }
    fixture.adds("eds");
    assert!(!fixture.only().1.known);
}

#[test]
fn i05_a_first_response_to_a_client_that_holds_something_is_not_forced() {
    let mut fixture = Fixture::new(Delta);
    fixture.says(holding(patch("cds", "", &[], &[]), &["a"]));
    assert_eq!(fixture.next(), None);
}

#[test]
fn i05_removals_that_had_to_wait_are_looked_for_afterwards() {
    let mut fixture = Fixture::new(Delta);
    fixture.says(holding(patch("cds", "", &[], &[]), &["a"]));
    fixture.says(patch("lds", "", &[], &[]));
    let mut framed = Vec::new();
    while let Some((_, asked)) = fixture.next() {
        framed.push(asked);
    }
    assert_eq!(framed.len(), 1, "{framed:?}");
    let cursors: Vec<Cursor> = fixture.stream.logical().iter().map(|l| l.view().cursor()).collect();
    assert!(
        cursors.iter().all(|cursor| cursor.removals == cursor.additions),
        "nothing stays behind: {cursors:?}"
    );
}

#[test]
fn i05_what_is_no_longer_asked_for_is_no_longer_held() {
    let mut fixture = Fixture::new(Delta);
    fixture.world("cds", |world| world.unsettled = (1, 0));
    fixture.says(holding(patch("cds", "", &["a", "b"], &[]), &["a", "b"]));
    fixture.says(patch("cds", "", &[], &["a"]));
    let known = fixture.stream.logical()[0].known.get().cloned().expect("b is not answered");
    assert!(known.contains(&"b".into()) && !known.contains(&"a".into()));
}

#[test]
fn i05_without_the_wildcard_only_what_is_named_is_still_held() {
    let mut fixture = Fixture::new(Delta);
    fixture.world("cds", |world| world.unsettled = (1, 0));
    fixture.says(holding(patch("cds", "", &["*", "b"], &[]), &["a", "b"]));
    fixture.says(patch("cds", "", &[], &["*"]));
    let known = fixture.stream.logical()[0].known.get().cloned().expect("b is not answered");
    assert!(known.contains(&"b".into()) && !known.contains(&"a".into()));
}

#[test]
fn i05_what_is_asked_for_with_other_parameters_or_by_another_collection_is_still_held() {
    const GLOB: &str = "xdstp://x/acme/d/*";
    let prod = || [("env", "prod")].into_iter().collect::<DynamicParameters>();
    for (asked, given_up) in [
        ([Selector::located("a", prod()), Selector::plain("a", DynamicParameters::empty())], 0),
        ([Selector::located("*", prod()), Selector::located("*", DynamicParameters::empty())], 0),
        ([Selector::plain(GLOB, prod()), Selector::plain("*", prod())], 1),
    ] {
        let held = if &*asked[0].locator.name == GLOB { "xdstp://x/acme/d/1" } else { "a" };
        let mut fixture = Fixture::new(Delta);
        fixture.world("cds", |world| world.unsettled = (1, 1));
        let unsubscribe = vec![asked[given_up].clone()];
        let first = Names::Patch { subscribe: asked.to_vec(), unsubscribe: Vec::new() };
        fixture.says(holding(Inbound { names: first, ..patch("cds", "", &[], &[]) }, &[held]));
        let less = Names::Patch { subscribe: Vec::new(), unsubscribe };
        fixture.says(Inbound { names: less, ..patch("cds", "", &[], &[]) });
        let known = fixture.stream.logical()[0].known.get().cloned().expect("nothing is answered");
        assert!(known.contains(&held.into()), "{asked:?}");
    }
}

#[test]
fn i02_what_is_asked_for_again_is_sent_though_it_is_stated_to_be_held() {
    for (again, doubted) in [("a", ["a"].as_slice()), ("*", &["a", "b"])] {
        let mut fixture = Fixture::new(Delta);
        fixture.world("cds", |world| world.unsettled = (2, 1));
        fixture.says(holding(patch("cds", "", &["*", "a", "b"], &[]), &["a", "b"]));
        let current = |fixture: &Fixture, name: &str| {
            let name = name.into();
            let known = fixture.stream.logical()[0].known.get().cloned().expect("nothing is answered");
            assert!(known.contains(&name));
            known.is_current(&name, Version(1))
        };
        assert!(current(&fixture, "a") && current(&fixture, "b"));
        fixture.says(patch("cds", "", &[again], &[]));
        fixture.world("cds", |world| assert_eq!(world.asked_again, selectors(&[again]), "p17"));
        for name in ["a", "b"] {
            assert_eq!(current(&fixture, name), !doubted.contains(&name), "{name} after {again}");
        }
    }
}
