//! u09: what an earlier process knew is taken in, stated, and reconciled by differences.

use super::*;

/// A stream that remembers `a` and `b` of a wildcard, all there is.
fn remembering(dialect: Dialect, naming: fn(Dialect) -> Fixture) -> Fixture {
    let mut fixture = naming(dialect);
    fixture.subscribe(&cds(), &["*"]);
    let stored = |name| {
        let variant = variant(name, "1");
        Variant::new(fixture.stream.settings().naming.stored(variant.key()), variant.content().clone())
    };
    let variants = vec![stored("a"), stored("b")];
    let batch = fixture.stream.remember(&cds(), variants, vec![(locator("*"), Absence::Known)], true);
    let batch = batch.expect("it is news");
    assert_eq!((batch.provenance, batch.upserts.len(), batch.answered.len()), (Provenance::Wildcard, 2, 1));
    assert_eq!(fixture.stream.unconfirmed(&cds()), 2);
    fixture
}

#[test]
fn u09_what_is_remembered_is_stated_and_something_is_always_answered() {
    for naming in [Fixture::native, Fixture::named] {
        let mut fixture = remembering(Dialect::Delta, naming);
        let request = fixture.connect().remove(0);
        let stated: Vec<_> =
            request.initial_versions.iter().map(|(name, version)| (&**name, &**version)).collect();
        assert_eq!(stated, [("a", requests::UNSTATABLE_VERSION), ("b", "1")]);
        let applied = fixture.respond(&cds(), vec![variant("a", "1")], &[]);
        assert!(applied.batch.removals.is_empty());
        assert_eq!(fixture.stream.unconfirmed(&cds()), 0, "the server knows the rest");
        fixture.sent();
        let request = fixture.connect().remove(0);
        assert!(request.initial_versions.iter().all(|(_, version)| &**version == "1"), "{request:?}");
    }
}

#[test]
fn u09_what_has_gone_meanwhile_is_removed_once_the_server_says_so() {
    for naming in [Fixture::native, Fixture::named] {
        let mut fixture = remembering(Dialect::Delta, naming);
        fixture.connect();
        let applied = fixture.respond(&cds(), vec![variant("a", "2")], &["b"]);
        assert_eq!((applied.batch.upserts.len(), applied.batch.removals.len()), (1, 1));

        let mut fixture = remembering(Dialect::Sotw, naming);
        let request = fixture.connect().remove(0);
        assert_eq!(&*request.version, "", "no version stands for what is remembered");
        let applied = fixture.respond(&cds(), vec![variant("a", "1")], &[]);
        assert_eq!(applied.batch.removals.len(), 1);
        assert_eq!(fixture.stream.unconfirmed(&cds()), 0);
    }
}

#[test]
fn u09_in_sotw_what_is_left_out_of_other_types_is_not_vouched_for() {
    let mut fixture = Fixture::native(Dialect::Sotw);
    fixture.subscribe(&eds(), &["a", "b"]);
    fixture.stream.remember(&eds(), vec![variant("a", "1"), variant("b", "1")], Vec::new(), true);
    fixture.connect();
    fixture.respond(&eds(), vec![variant("a", "1")], &[]);
    assert_eq!(fixture.stream.unconfirmed(&eds()), 1);
    fixture.unsubscribe(&eds(), &["b"]);
    assert_eq!(fixture.stream.unconfirmed(&eds()), 0);
}

#[test]
fn u09_absence_is_remembered_of_names_that_nothing_answers() {
    let mut fixture = Fixture::native(Dialect::Delta);
    fixture.subscribe(&cds(), &["a", "b", "c"]);
    let known = ["a", "b", "unwanted"].map(|name| (locator(name), Absence::Known));
    let batch = fixture.stream.remember(&cds(), vec![variant("a", "1")], known.to_vec(), true).unwrap();
    let absent: Vec<_> = batch.absent.iter().map(|absent| &*absent.name).collect();
    assert_eq!(absent, ["b"]);
    assert!(fixture.stream.recall(&cds(), &locator("b")).is_some());
    assert!(fixture.stream.recall(&cds(), &locator("c")).is_none(), "nothing is known of it");
    // What a late-comer remembers does not take the place of what is held, nor of what is wanted no more.
    let again = vec![variant("a", "0"), variant("z", "0")];
    assert!(fixture.stream.remember(&cds(), again, Vec::new(), true).is_none());
}

#[test]
fn u09_only_before_the_server_has_answered_is_memory_of_use() {
    for (dialect, collection) in [(Dialect::Delta, Memory::Undecided), (Dialect::Sotw, Memory::Welcome)] {
        let mut fixture = Fixture::native(dialect);
        assert_eq!(fixture.stream.may_remember(&cds(), &locator("a")), None);
        fixture.subscribe(&cds(), &["a"]);
        let may = |fixture: &mut Fixture, text: &str| {
            fixture.subscribe(&cds(), &[text]);
            fixture.stream.may_remember(&cds(), &locator(text))
        };
        let glob = "xdstp://x/acme/*";
        assert_eq!(may(&mut fixture, glob), Some(Memory::Welcome), "there is no connection");
        fixture.stream.connected();
        assert_eq!(may(&mut fixture, "b"), Some(Memory::Welcome), "nothing was asked");
        fixture.sent();
        assert_eq!(may(&mut fixture, "c"), Some(Memory::Welcome));
        assert_eq!(may(&mut fixture, glob), Some(collection));
        fixture.respond(&cds(), vec![variant("a", "1")], &[]);
        assert_eq!(may(&mut fixture, "d"), Some(Memory::Outdated));
        assert_eq!(may(&mut fixture, glob), Some(Memory::Outdated));
        fixture.stream.disconnected();
        assert_eq!(may(&mut fixture, "d"), Some(Memory::Welcome));
    }
}

#[test]
fn u09_what_is_held_of_a_locator() {
    let mut fixture = Fixture::native(Dialect::Delta);
    fixture.subscribe(&cds(), &["*"]);
    fixture.connect();
    fixture.respond(&cds(), vec![variant("a", "1"), variant("b", "1")], &[]);
    assert_eq!(fixture.stream.held_of(&cds(), &locator("*")).len(), 2);
    assert_eq!(fixture.stream.held_of(&cds(), &locator("a")), [key("a")].into());
    assert!(fixture.stream.held_of(&eds(), &locator("a")).is_empty());
}

#[test]
fn u09_versions_of_another_server_are_not_stated() {
    let mut fixture = Fixture::native(Dialect::Delta);
    fixture.subscribe(&cds(), &["*"]);
    let variants = vec![variant("a", "1"), variant("b", "1")];
    fixture.stream.remember(&cds(), variants, vec![(locator("*"), Absence::Known)], false);
    let request = fixture.connect().remove(0);
    let stated: Vec<_> = request.initial_versions.iter().map(|(_, version)| &**version).collect();
    assert_eq!(stated, [requests::UNSTATABLE_VERSION; 2]);
}

#[test]
fn late_comers_receive_what_is_known() {
    let mut f = Fixture::named(Dialect::Delta).with(&eds(), &["a", "b", "c"], vec![variant("a", "1")]);
    f.respond(&eds(), vec![], &["b"]);
    let mut recall = |name| f.stream.recall(&eds(), &locator(name)).map(|batch| batch.absent);
    assert_eq!((recall("a"), recall("c")), (None, None));
    let known = Absent { name: "b".into(), scope: prod_scope(), absence: Absence::Known };
    assert_eq!(recall("b"), Some(vec![known]));
    let mut f = Fixture::named(Dialect::Delta).with(&cds(), &["*"], vec![]);
    assert_eq!(f.stream.recall(&cds(), &locator("*")).unwrap().answered, [Answered::wildcard(prod_scope())]);
}
