//! Steps that take more than one response (i08).

use weir_types::{Commit, Dialect};

use super::*;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A client of these types that has been sent everything, and is sent each change of all in three parts.
fn split_client_of(dialect: Dialect, types: &[&'static str]) -> Fixture {
    let mut fixture = Fixture::new(dialect);
    for short in types {
        fixture.commit(short, &NAMES);
        fixture.subscribe(short, &NAMES);
    }
    fixture.drain();
    fixture.body_size = 600;
    fixture
}

/// Type and nonce of what leaves now.
fn leaving(fixture: &mut Fixture) -> Vec<(&'static str, String)> {
    fixture.drain().into_iter().map(|response| (response.short, response.nonce)).collect()
}

#[test]
fn i08_parts_leave_in_one_go_with_nonces_of_one_commit() {
    for dialect in [Sotw, Delta] {
        let mut fixture = split_client_of(dialect, &["eds", "rds"]);
        let parts = |short, commit: Commit, parts: std::ops::Range<u32>| {
            parts.map(|part| (short, Nonce { commit, part }.to_string())).collect::<Vec<_>>()
        };
        let eds = fixture.commit("eds", &NAMES);
        let first = fixture.transmit().expect("the first part");
        assert_eq!((first.short, first.nonce), parts("eds", eds, 0..1)[0]);
        // Neither what comes before it, nor what is newer, comes in between.
        let rds = fixture.commit("rds", &NAMES);
        let newer = fixture.commit("eds", &NAMES);
        let wanted = [parts("eds", eds, 1..3), parts("eds", newer, 0..3), parts("rds", rds, 0..3)];
        assert_eq!(leaving(&mut fixture), wanted.concat(), "{dialect}");
    }
}

#[test]
fn i08_a_client_may_acknowledge_each_part_or_only_the_last() {
    for dialect in [Sotw, Delta] {
        for each in [true, false] {
            let mut fixture = split_client_of(dialect, &["eds"]);
            let watch = fixture.watched("eds", |fixture, batch| {
                batch.upserts = NAMES.iter().map(|name| fixture.fresh("eds", name)).collect();
            });
            for left in (0..3).rev() {
                let part = fixture.transmit().expect("three parts");
                assert_eq!(watch.tally().done(), 0, "{dialect}: answered with the last");
                if each || left == 0 {
                    assert!(fixture.ack("eds", &part.nonce).is_some(), "{dialect}");
                }
            }
            assert_eq!(fixture.drain(), [], "{dialect}: nothing is sent again");
            assert_eq!(watch.tally().accepted, 1, "{dialect}");
        }
    }
}

#[test]
fn i08_parts_that_are_acknowledged_late_are_answered_with_the_last() {
    for dialect in [Sotw, Delta] {
        let mut fixture = split_client_of(dialect, &["eds"]);
        let watch = fixture.watched("eds", |fixture, batch| {
            batch.upserts = NAMES.iter().map(|name| fixture.fresh("eds", name)).collect();
        });
        let parts = leaving(&mut fixture);
        for (nth, (_, nonce)) in parts.iter().enumerate() {
            fixture.ack("eds", nonce);
            assert_eq!(watch.tally().accepted, usize::from(nth == 2), "{dialect}: part {nth}");
        }
    }
}

#[test]
fn i08_d06_a_rejected_part_is_not_sent_again() {
    for dialect in [Sotw, Delta] {
        let mut fixture = split_client_of(dialect, &["eds"]);
        fixture.commit("eds", &NAMES);
        let first = fixture.transmit().expect("the first part");
        fixture.nack("eds", &first.nonce);
        let left = leaving(&mut fixture);
        assert_eq!(left.len(), 2, "{dialect}: the others follow");
        fixture.ack("eds", &left[1].1);
        assert_eq!(fixture.drain(), []);
    }
}

#[test]
fn i08_what_is_asked_for_between_parts_comes_after_them() {
    for dialect in [Sotw, Delta] {
        let mut fixture = split_client_of(dialect, &["eds"]);
        fixture.commit("eds", &["d"]);
        fixture.commit("eds", &NAMES);
        let first = fixture.transmit().expect("the first part");
        fixture.sends(match dialect {
            Sotw => replace("eds", &first.nonce, &["a", "b", "c", "d"]),
            Delta => patch("eds", &first.nonce, &["d"], &[]),
        });
        let left: Vec<_> = fixture.drain().into_iter().map(|response| response.resources).collect();
        assert_eq!((left.len(), &*left[2]), (3, &["d".to_owned()][..]), "{dialect}: framed before");
    }
}
