//! What a client holds from an earlier stream (`initial_resource_versions`).

use weir_types::{Absence, Cursor, DynamicParameters, KnownVersions, Selector, Version};

use super::messages::patch_selectors;
use super::*;

/// A version that nothing has.
const OTHER: &str = "0000000000000001";

/// What the client is still known to hold of a type.
fn known(fixture: &Fixture, short: &str) -> Option<std::sync::Arc<KnownVersions>> {
    fixture.type_of(short).initial_versions.get().cloned()
}

#[test]
fn i05_what_is_stated_counts_until_everything_is_answered() {
    let mut fixture = Fixture::new(Delta);
    let variants = ["a", "b"].map(|name| fixture.fresh("eds", name));
    let (a, b) = (fixture.version("eds", "a"), fixture.version("eds", "b"));
    fixture.sends(holding(patch("eds", "", &["a", "b"], &[]), &[("a", &a), ("b", &b)]));
    for (variant, counts) in variants.into_iter().zip([true, false]) {
        fixture.commit_batch("eds", |_, batch| batch.upserts.push(variant));
        assert_eq!(fixture.drain(), [], "it holds that");
        assert_eq!(known(&fixture, "eds").is_some(), counts);
    }
}

#[test]
fn i06_what_is_stated_counts_while_only_silence_speaks_against_it() {
    let mut fixture = Fixture::new(Delta);
    fixture.sends(holding(patch("eds", "", &["a"], &[]), &[("a", OTHER)]));
    fixture.absent("eds", &["a"], Absence::TimedOut);
    assert_eq!(fixture.drain(), []);
    assert!(known(&fixture, "eds").is_some());
    fixture.absent("eds", &["a"], Absence::Known);
    assert_eq!(fixture.only().removed, ["a"]);
    assert!(known(&fixture, "eds").is_none());
}

#[test]
fn i05_a_first_response_to_a_client_that_holds_something_is_not_forced() {
    let mut fixture = Fixture::new(Delta);
    fixture.commit("cds", &["a"]);
    fixture.answer("cds");
    let version = fixture.version("cds", "a");
    fixture.sends(holding(patch("cds", "", &[], &[]), &[("a", &version)]));
    assert_eq!(fixture.transmit(), None);
}

#[test]
fn i05_removals_that_had_to_wait_are_looked_for_afterwards() {
    let mut fixture = Fixture::new(Delta);
    fixture.answer("cds");
    fixture.commit("lds", &["x"]);
    fixture.answer("lds");
    fixture.sends(holding(patch("cds", "", &[], &[]), &[("a", OTHER)]));
    fixture.sends(patch("lds", "", &[], &[]));
    let left = fixture.drain();
    assert_eq!(types_of(&left), ["lds", "cds"]);
    assert_eq!(left[1].removed, ["a"]);
    let cursors: Vec<Cursor> = fixture.session.types().iter().map(|l| l.view().cursor()).collect();
    assert!(
        cursors.iter().all(|cursor| cursor.removals == cursor.additions),
        "nothing stays behind: {cursors:?}"
    );
}

#[test]
fn i05_what_is_no_longer_asked_for_is_no_longer_held() {
    let mut fixture = Fixture::new(Delta);
    fixture.sends(holding(patch("cds", "", &["a", "b"], &[]), &[("a", OTHER), ("b", OTHER)]));
    fixture.sends(patch("cds", "", &[], &["a"]));
    let known = known(&fixture, "cds").expect("b is not answered");
    assert!(known.contains(&"b".into()) && !known.contains(&"a".into()));
}

#[test]
fn i05_without_the_wildcard_only_what_is_named_is_still_held() {
    let mut fixture = Fixture::new(Delta);
    fixture.sends(holding(patch("cds", "", &["*", "b"], &[]), &[("a", OTHER), ("b", OTHER)]));
    fixture.sends(patch("cds", "", &[], &["*"]));
    let known = known(&fixture, "cds").expect("b is not answered");
    assert!(known.contains(&"b".into()) && !known.contains(&"a".into()));
}

#[test]
fn i05_what_is_asked_for_with_other_parameters_or_by_another_collection_is_still_held() {
    const GLOB: &str = "xdstp://x/acme/d/*";
    let prod = || [("env", "prod")].into_iter().collect::<DynamicParameters>();
    for (asked, given_up) in [
        ([Selector::located("a", prod()), Selector::plain("a", prod())], 0),
        ([Selector::located("*", prod()), Selector::located("*", DynamicParameters::empty())], 0),
        ([Selector::plain(GLOB, prod()), Selector::plain("*", prod())], 1),
    ] {
        let held = if &*asked[0].locator.name == GLOB { "xdstp://x/acme/d/1" } else { "a" };
        let mut fixture = Fixture::new(Delta);
        fixture.sends(holding(patch_selectors("cds", &asked, &[]), &[(held, OTHER)]));
        fixture.sends(patch_selectors("cds", &[], &asked[given_up..=given_up]));
        let known = known(&fixture, "cds").expect("nothing is answered");
        assert!(known.contains(&held.into()), "{asked:?}");
    }
}

#[test]
fn i02_what_is_asked_for_again_is_sent_though_it_is_stated_to_be_held() {
    for (again, doubted) in [("a", ["a"].as_slice()), ("*", &["a", "b"])] {
        let mut fixture = Fixture::new(Delta);
        fixture.sends(holding(patch("cds", "", &["*", "a", "b"], &[]), &[("a", OTHER), ("b", OTHER)]));
        let current = |fixture: &Fixture, name: &str| {
            let known = known(fixture, "cds").expect("nothing is answered");
            assert!(known.contains(&name.into()));
            known.is_current(&name.into(), Version(1))
        };
        assert!(current(&fixture, "a") && current(&fixture, "b"));
        fixture.sends(patch("cds", "", &[again], &[]));
        for name in ["a", "b"] {
            assert_eq!(current(&fixture, name), !doubted.contains(&name), "{name} after {again}");
        }
    }
}
