//! Steps that take more than one response (i08).

use super::*;
use weir_types::Dialect::{Delta, Sotw};

fn says(dialect: Dialect, short: &str, nonce: &str, names: &[&str]) -> Inbound {
    match dialect {
        Sotw => replace(short, nonce, names),
        Delta => patch(short, nonce, &[], &[]),
    }
}

/// A client of these types that has been sent everything, and is sent the rest in three parts.
fn split_client_of(dialect: Dialect, types: &[&'static str]) -> Fixture {
    let mut fixture = client_of(dialect, types);
    fixture.answers("eds");
    fixture.framer.more = 2;
    fixture
}

/// Type and nonce of what leaves now.
fn leaving(fixture: &mut Fixture) -> Vec<(&'static str, String)> {
    std::iter::from_fn(|| fixture.next()).map(|(nonce, asked)| (asked.type_url, nonce)).collect()
}

#[test]
fn i08_parts_leave_in_one_go_with_nonces_of_one_commit() {
    for dialect in [Sotw, Delta] {
        let mut fixture = split_client_of(dialect, &["eds", "rds"]);
        fixture.adds("eds");
        let first = fixture.next().expect("the first part").0;
        assert_eq!(first, "2-0");
        // Neither what comes before it, nor what is newer, comes in between.
        fixture.adds("rds");
        fixture.adds("eds");
        let left = leaving(&mut fixture);
        let left: Vec<_> = left.iter().map(|(short, nonce)| (*short, nonce.as_str())).collect();
        let parts = [("eds", "2-1"), ("eds", "2-2")];
        let next =
            [("eds", "4-0"), ("eds", "4-1"), ("eds", "4-2"), ("rds", "3-0"), ("rds", "3-1"), ("rds", "3-2")];
        assert_eq!(left, [&parts[..], &next].concat(), "{dialect}");
    }
}

#[test]
fn i08_a_client_may_acknowledge_each_part_or_only_the_last() {
    for dialect in [Sotw, Delta] {
        for each in [true, false] {
            let mut fixture = split_client_of(dialect, &["eds"]);
            fixture.adds("eds");
            let mut verdicts = Vec::new();
            while let Some((nonce, _)) = fixture.next() {
                if each || nonce.ends_with("-2") {
                    verdicts.push(fixture.says(says(dialect, "eds", &nonce, &["a"])).is_some());
                }
            }
            assert_eq!(verdicts, vec![true; if each { 3 } else { 1 }], "{dialect}");
            assert_eq!(fixture.drain(), [], "{dialect}: nothing is sent again");
            assert_eq!(fixture.answers("eds"), [(2, false)], "{dialect}: answered with the last");
        }
    }
}

#[test]
fn i08_d06_a_rejected_part_is_not_sent_again() {
    for dialect in [Sotw, Delta] {
        let mut fixture = split_client_of(dialect, &["eds"]);
        fixture.adds("eds");
        let (first, _) = fixture.next().expect("the first part");
        fixture.says(nack(says(dialect, "eds", &first, &["a"])));
        let left = leaving(&mut fixture);
        assert_eq!(left.len(), 2, "{dialect}: the others follow");
        fixture.says(says(dialect, "eds", &left[1].1, &["a"]));
        assert_eq!(fixture.drain(), []);
    }
}

#[test]
fn i08_what_is_asked_for_between_parts_comes_after_them() {
    for dialect in [Sotw, Delta] {
        let mut fixture = split_client_of(dialect, &["eds"]);
        fixture.adds("eds");
        let (first, _) = fixture.next().expect("the first part");
        fixture.says(match dialect {
            Sotw => replace("eds", &first, &["a", "b"]),
            Delta => patch("eds", &first, &["b"], &[]),
        });
        let owed = |(_, asked): (String, Asked)| asked.owed;
        let left: Vec<_> = std::iter::from_fn(|| fixture.next()).map(owed).collect();
        assert_eq!(left[..2], [Vec::<String>::new(), vec![]], "{dialect}: framed before");
        assert_eq!(left[2], ["b"], "{dialect}");
    }
}
