//! Errors of resources: what they wait for, and what does not wait for them.

use super::*;

fn postponed(f: &mut Fixture, short: &str, names: &[&str]) {
    f.world(short, |world| world.postponed = selectors(names));
}

#[test]
fn e01_an_error_that_a_resource_came_with_follows_it() {
    for (dialect, request) in [
        (Dialect::Sotw, replace("eds", "", &["a", "b"])),
        (Dialect::Delta, patch("eds", "", &["a", "b"], &[])),
    ] {
        let mut f = Fixture::new(dialect);
        f.says(request);
        f.adds("eds");
        f.drain();
        f.adds("eds");
        postponed(&mut f, "eds", &["a"]);
        let (_, first) = f.next().expect("the resource");
        assert_eq!(first.unsaid, Vec::<String>::new());
        postponed(&mut f, "eds", &[]);
        let (_, second) = f.only();
        assert_eq!(second.unsaid, ["a"], "{dialect}");
        f.adds("eds");
        assert_eq!(f.only().1.unsaid, Vec::<String>::new(), "it is sent once");
    }
}

#[test]
fn e01_a_postponed_error_waits_for_what_other_types_add() {
    let mut f = Fixture::new(Dialect::Delta);
    f.says(patch("eds", "", &["a"], &[]));
    f.says(patch("rds", "", &["r"], &[]));
    f.drain();
    f.adds("eds");
    f.adds("rds");
    postponed(&mut f, "eds", &["a"]);
    let (_, eds) = f.next().expect("the endpoints");
    assert_eq!((eds.type_url, eds.hold_removals), ("eds", true));
    postponed(&mut f, "eds", &[]);
    assert_eq!(f.next().expect("the routes").1.type_url, "rds");
    assert_eq!(f.only().1.unsaid, ["a"]);
}

#[test]
fn e02_full_state_that_is_the_same_is_sent_for_an_error() {
    let mut f = Fixture::new(Dialect::Sotw);
    f.says(replace("cds", "", &["a"]));
    f.adds("cds");
    let (nonce, _) = f.only();
    f.says(replace("cds", &nonce, &["a"]));
    for (errs, sent) in [(false, 0), (true, 1)] {
        f.adds("cds");
        f.world("cds", |world| (world.version, world.errs) = (Version(2), errs));
        assert_eq!(f.drain().len(), sent);
    }
}

#[test]
fn s11_full_state_waits_for_what_is_failing_if_the_client_may_hold_it() {
    let returning = |version| Inbound { version, ..replace("cds", "", &["a"]) };
    for (version, sent) in [(None, 1), (Some(Version(7)), 0)] {
        let mut f = Fixture::new(Dialect::Sotw);
        f.world("cds", |world| world.failing = 1);
        f.says(returning(version));
        assert_eq!(f.drain().len(), sent);
        f.world("cds", |world| world.failing = 0);
        assert_eq!(f.drain().len(), 1 - sent);
    }
}
