//! Streams of one request, with nothing but a version to go by.

use super::*;

/// A world in which there are endpoints and clusters.
fn world() -> Fixture {
    let mut fixture = Fixture::new(Sotw);
    for short in ["eds", "cds"] {
        fixture.commit(short, &["b"]);
        fixture.commit_body(short, "a", "1");
        fixture.answer(short);
    }
    fixture
}

/// The version of what these names stand for.
fn version(fixture: &mut Fixture, short: &str, names: &[&str]) -> String {
    fixture.poll(replace(short, "", names));
    fixture.only().version
}

#[test]
fn r01_a_poll_waits_for_another_version_whatever_is_subscribed() {
    for (short, names) in [("cds", &[][..]), ("cds", &["a"]), ("eds", &["a", "b"])] {
        let mut fixture = world();
        let version = version(&mut fixture, short, names);
        fixture.poll(stating(replace(short, "", names), &version));
        assert_eq!(fixture.drain(), [], "{short} {names:?}");
        fixture.commit(short, &["a"]);
        assert_eq!(fixture.only().short, short);
    }
}

#[test]
fn r01_a_poll_with_another_version_or_none_is_answered_at_once() {
    for stated in ["", "0000000000000001"] {
        for (short, names, whole) in [("cds", &[][..], 2), ("eds", &["a"], 1)] {
            let mut fixture = world();
            fixture.poll(stating(replace(short, "", names), stated));
            assert_eq!(fixture.only().resources.len(), whole);
        }
    }
}

#[test]
fn r01_a_content_that_comes_back_within_a_poll_is_no_change() {
    let mut fixture = world();
    let version = version(&mut fixture, "cds", &[]);
    fixture.poll(stating(replace("cds", "", &[]), &version));
    assert_eq!(fixture.drain(), []);
    fixture.commit_body("cds", "a", "2");
    fixture.commit_body("cds", "a", "1");
    assert_eq!(fixture.drain(), []);
}

#[test]
fn d06_what_a_poll_rejects_is_not_sent_again() {
    for stated in ["", "0000000000000001"] {
        let mut fixture = world();
        let rejected = version(&mut fixture, "cds", &[]);
        let verdict = fixture.poll(nack(stating(replace("cds", &rejected, &[]), stated)));
        assert!(matches!(verdict, Some(Verdict::Nack { nonce: None, .. })), "{verdict:?}");
        assert_eq!(fixture.drain(), []);
        fixture.commit("cds", &["a"]);
        fixture.only();
    }
}

#[test]
fn s11_the_first_answer_to_a_poll_waits_for_upstream() {
    let mut fixture = Fixture::new(Sotw);
    fixture.poll(replace("cds", "", &[]));
    assert_eq!(fixture.drain(), []);
    fixture.answer("cds");
    assert_eq!(fixture.only().resources, [""; 0]);
}
