//! What is sent of one locator of a name is not taken for another: TP2 has only the bare name for "nothing matches".

mod support;

use support::*;
use weir_database::{Refresh, Shape};
use weir_types::Provenance::Named;
use weir_types::{Form, KnownVersions};

const NOTHING: [&str; 0] = [];

#[test]
fn p18_the_bare_name_waits_for_all_locators_of_the_name() {
    let fixture = Fixture::new();
    let (test, prod) = (located("a", test()), located("a", prod()));
    let mut stream = fixture.attach(&[test.clone(), prod.clone()]);
    fixture.deny("a", test.locator.parameters.clone());
    let diff = stream.step(Shape::Changes, false);
    assert_eq!(stated(&diff).1, NOTHING, "the other one is not answered");
    assert_eq!(diff.waiting, std::slice::from_ref(&test));
    fixture.put(Named, only("a", "prod"), "1");
    let diff = stream.step_pending(&diff.waiting);
    let (came, gone) = stated(&diff);
    assert_eq!((came.len(), gone), (1, vec!["Locator(\"a\")".to_owned()]));
    assert!(diff.waiting.is_empty());
}

#[test]
fn p18_a_locator_that_is_alone_or_whose_siblings_are_answered_does_not_wait() {
    let fixture = Fixture::new();
    let mut alone = fixture.attach(&[located("a", test()), located("b", prod())]);
    fixture.deny("a", test());
    assert_eq!(alone.sent().1, ["Locator(\"a\")"], "another name is no sibling");
    let mut both = fixture.attach(&[located("a", test()), located("a", prod())]);
    fixture.put(Named, only("a", "prod"), "1");
    assert_eq!(both.sent().1, ["Locator(\"a\")"]);
}

/// A client that distinguishes variants by (name, constraints) would keep it at the bare name.
#[test]
fn i05_p09_a_variant_that_is_stated_and_gone_is_named_with_its_constraints() {
    let fixture = Fixture::new();
    let _others = fixture.attach(&[located("b", test()), located("b", prod())]);
    fixture.put(Named, only("b", "prod"), "1");
    fixture.put(Named, only("b", "test"), "2");
    let version = variant(only("b", "prod"), "1").version(Form::Located).to_string();
    fixture.remove(Named, only("b", "prod"));
    fixture.deny("b", prod());
    for (version, gone) in [
        (version.as_str(), &["Variant(b[env=prod])", "Locator(\"b\")"][..]),
        ("another", &["Variant(b[env=prod])", "Variant(b[env=test])", "Locator(\"b\")"]),
    ] {
        let known: KnownVersions = [("b", version)].into_iter().collect();
        let stream = fixture.attach(&[located("b", prod())]);
        let diff = stream.pending_with(Shape::Changes, Refresh::None, Some(&known));
        assert_eq!(stated(&diff).1, gone, "{version}");
    }
}
