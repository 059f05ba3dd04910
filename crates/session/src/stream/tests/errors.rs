//! Errors of resources: what they wait for, and what does not wait for them.

use weir_types::constraints::Expr;
use weir_types::{
    Absence, Constraints, DynamicParameters, ResourceError, Selector, Variant, VariantKey, WILDCARD,
};

use weir_database::Settings;

use super::messages::patch_selectors;
use super::*;
use crate::Rights;

#[test]
fn e01_an_error_that_a_resource_came_with_follows_it() {
    for dialect in [Sotw, Delta] {
        let mut fixture = Fixture::new(dialect);
        fixture.commit("eds", &["a", "b"]);
        fixture.fail_for_now("eds", &["a"]);
        fixture.subscribe("eds", &["a", "b"]);
        let first = fixture.transmit().expect("the resource");
        assert_eq!((first.resources.len(), first.errors.len()), (2, 0), "{dialect}");
        let second = fixture.only();
        assert_eq!((second.resources.len(), second.errors), (0, vec!["a".to_owned()]), "{dialect}");
        fixture.commit("eds", &["b"]);
        assert_eq!(fixture.only().errors, [""; 0], "it is sent once");
    }
}

#[test]
fn e01_a_postponed_error_waits_for_what_other_types_add() {
    let mut fixture = Fixture::new(Delta);
    fixture.commit("eds", &["a"]);
    fixture.fail_for_now("eds", &["a"]);
    fixture.commit("rds", &["r"]);
    fixture.subscribe("eds", &["a"]);
    fixture.subscribe("rds", &["r"]);
    let left = fixture.drain();
    let left: Vec<_> =
        left.iter().map(|left| (left.short, left.resources.len(), left.errors.len())).collect();
    assert_eq!(left, [("eds", 1, 0), ("rds", 1, 0), ("eds", 0, 1)]);
}

#[test]
fn e02_full_state_that_is_the_same_is_sent_for_an_error() {
    let mut fixture = Fixture::new(Sotw);
    fixture.commit_body("cds", "a", "1");
    fixture.absent("cds", &["b"], Absence::Known);
    fixture.subscribe("cds", &["a", "b"]);
    let first = fixture.only();
    fixture.ack("cds", &first.nonce);
    fixture.commit_body("cds", "a", "2");
    fixture.commit_body("cds", "a", "1");
    assert_eq!(fixture.drain(), []);
    fixture.fail_for_now("cds", &["b"]);
    let second = fixture.only();
    assert_eq!((second.resources, second.version), (first.resources, first.version));
    assert_eq!(second.errors, ["b"]);
}

#[test]
fn s11_full_state_waits_for_what_is_failing_if_the_client_may_hold_it() {
    for (version, sent) in [("", 1), ("0000000000000007", 0)] {
        let mut fixture = Fixture::new(Sotw);
        fixture.sends(stating(replace("cds", "", &["a"]), version));
        fixture.fail_for_now("cds", &["a"]);
        assert_eq!(fixture.drain().len(), sent, "{version:?}");
        fixture.commit("cds", &["a"]);
        assert_eq!(fixture.drain().len(), 1, "{version:?}");
    }
}

#[test]
fn p13_a_denied_locator_that_is_given_up_shows_nothing_of_what_others_have_there() {
    let [claimed, everything] =
        [("a", "test"), (WILDCARD, "prod")].map(|(name, env)| Selector::located(name, env_is(env)));
    let mut f = Fixture::new(Delta);
    f.others_select("cds", std::slice::from_ref(&claimed));
    let content = f.fresh("cds", "a").content().clone();
    let theirs = VariantKey::new("a", Constraints::new(Expr::value("env", "test")));
    f.commit_batch("cds", |_, batch| batch.upserts.push(Variant::new(theirs, content)));
    f.answer("cds");
    let keys = Arc::from(["env".to_owned()]);
    let nothing = (&Arc::default(), Box::default());
    f.reconnect_with(Rights::new(nothing, (&keys, env_is("prod")), String::new));
    f.sends(patch_selectors("cds", &[claimed.clone(), everything], &[]));
    assert_eq!(f.only().errors, ["a"]);
    f.sends(patch_selectors("cds", &[], &[claimed]));
    assert_eq!(f.drain(), []);
}

fn env_is(value: &'static str) -> DynamicParameters {
    [("env", value)].into_iter().collect()
}

#[test]
fn u14_a_stream_that_may_be_closed_is_sent_no_error_while_some_of_it_is_unknown() {
    for dialect in [Sotw, Delta] {
        for found in [false, true] {
            let mut fixture = Fixture::with(dialect, None, ClientKind::Grpc, Settings::default());
            fixture.subscribe("rds", &["r"]);
            fixture.subscribe("eds", &["e"]);
            let away = ResourceError::unavailable(Constraints::unconstrained());
            // Of a control plane that cannot be reached, this is noted type by type.
            fixture.fail("eds", &["e"], &away);
            assert!(!fixture.session.may_transmit(), "{dialect:?}");
            assert_eq!(fixture.drain(), [], "{dialect:?}");
            assert_eq!(fixture.session.close_reason(), None);
            if found {
                fixture.commit("rds", &["r"]);
                assert_eq!(types_of(&fixture.drain()).len(), 2, "{dialect:?}: what is there, and the error");
            } else {
                fixture.fail("rds", &["r"], &away);
                assert_eq!(fixture.drain(), [], "{dialect:?}");
            }
            assert_eq!(fixture.session.close_reason().is_some(), !found, "{dialect:?}");
        }
    }
}
