//! Streams of one request, with nothing but a version to go by.

use super::*;

fn states(mut inbound: Inbound, version: u64) -> Inbound {
    inbound.version = Some(Version(version));
    inbound
}

fn rejects(inbound: Inbound, version: u64) -> Inbound {
    nack(Inbound { nonce: Version(version).to_string(), ..inbound })
}

/// A world in which endpoints and clusters are at version 2.
fn world() -> Fixture {
    let mut fixture = Fixture::new(Dialect::Sotw);
    fixture.adds("eds");
    fixture.adds("cds");
    for short in ["eds", "cds"] {
        fixture.world(short, |world| {
            world.version = Version(2);
            // So that the framer has something to send for it from the beginning.
            world.head.removals = Commit(1);
        });
    }
    fixture
}

#[test]
fn r01_a_poll_waits_for_another_version_whatever_is_subscribed() {
    for (short, names) in [("cds", &[][..]), ("cds", &["a"]), ("eds", &["a", "b"])] {
        let mut fixture = world();
        fixture.poll(states(replace(short, "", names), 2));
        assert_eq!(fixture.drain(), [], "{short} {names:?}");
        fixture.adds(short);
        let (_, asked) = fixture.only();
        assert_eq!(asked.type_url, short);
    }
}

#[test]
fn r01_a_poll_with_another_version_or_none_is_answered_at_once() {
    for stated in [None, Some(1)] {
        for (short, names) in [("cds", &[][..]), ("eds", &["a"])] {
            let mut fixture = world();
            let poll = replace(short, "", names);
            fixture.poll(stated.map_or(poll.clone(), |version| states(poll, version)));
            fixture.only();
        }
    }
}

#[test]
fn r01_a_content_that_comes_back_within_a_poll_is_no_change() {
    let mut fixture = world();
    fixture.poll(states(replace("cds", "", &[]), 2));
    assert_eq!(fixture.drain(), []);
    fixture.adds("cds");
    fixture.world("cds", |world| world.version = Version(2));
    assert_eq!(fixture.drain(), []);
}

#[test]
fn d06_what_a_poll_rejects_is_not_sent_again() {
    for version in [None, Some(1)] {
        let mut fixture = world();
        let poll = rejects(replace("cds", "", &[]), 2);
        let verdict = fixture.poll(version.map_or(poll.clone(), |version| states(poll, version)));
        assert!(matches!(verdict, Some(Verdict::Nack { nonce: None, .. })), "{verdict:?}");
        assert_eq!(fixture.drain(), []);
        fixture.adds("cds");
        fixture.only();
    }
}

#[test]
fn s11_the_first_answer_to_a_poll_waits_for_upstream() {
    let mut fixture = world();
    fixture.world("cds", |world| world.unsettled = (0, 1));
    fixture.poll(replace("cds", "", &[]));
    assert_eq!(fixture.drain(), []);
    fixture.world("cds", |world| world.unsettled = (0, 0));
    assert!(fixture.only().1.forced);
}
