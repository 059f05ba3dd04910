//! What is particular to globs, which share a stream with names.

use super::super::collections::QUIET;
use super::*;

const GLOB: &str = "xdstp://s/T/dir/*";
const A: &str = "xdstp://s/T/dir/a";
const B: &str = "xdstp://s/T/dir/b";
const OTHER: &str = "xdstp://s/T/other/c";

fn both() -> Vec<Variant> {
    vec![variant(A, "1"), variant(B, "1")]
}

#[test]
fn w04_a_glob_brings_its_names_and_no_others() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        for type_url in [cds(), eds()] {
            let mut f = Fixture::named(dialect);
            f.subscribe(&type_url, &[GLOB]);
            assert_eq!(f.connect()[0].subscribe, locators(&[GLOB]));
            let batch =
                f.respond(&type_url, both().into_iter().chain([variant(OTHER, "1")]).collect(), &[]).batch;
            assert_eq!((batch.provenance, upserts(&batch).len()), (Provenance::Named, 2), "w01: as names do");
            let complete = dialect == Dialect::Sotw && type_url == cds();
            let absence = if complete { Absence::Known } else { Absence::TimedOut };
            let whom = Answered { collection: Some(GLOB.into()), scope: prod_scope(), absence };
            assert_eq!(batch.answered, [whom]);
            assert_eq!(f.stream.is_in_sync(), complete, "there may be more");
            assert!(f.completes().stream.is_in_sync());
        }
    }
}

#[test]
fn w04_an_empty_glob_is_answered_by_its_name_or_where_nothing_else_is_meant() {
    let mut f = Fixture::native(Dialect::Delta);
    f.subscribe(&eds(), &[GLOB, OTHER]);
    f.connect();
    assert_eq!(f.respond(&eds(), vec![variant(OTHER, "1")], &[]).batch.answered, []);
    assert!(!f.stream.is_in_sync());
    let batch = f.respond(&eds(), vec![], &[GLOB]).batch;
    assert_eq!((batch.answered, batch.absent), (vec![answered(GLOB)], vec![]));

    let mut f = Fixture::native(Dialect::Delta);
    f.subscribe(&eds(), &[GLOB]);
    f.connect();
    assert_eq!(f.respond(&eds(), vec![], &[]).batch.answered, [answered(GLOB)]);

    let mut f = Fixture::native(Dialect::Sotw);
    f.subscribe(&cds(), &[GLOB, OTHER]);
    f.connect();
    let batch = f.respond(&cds(), vec![variant(OTHER, "1")], &[]).batch;
    assert_eq!(batch.answered, [answered(GLOB)], "the state of the world is all there is");
}

#[test]
fn w04_a_glob_without_an_answer_is_taken_to_be_empty_after_a_while() {
    let mut f = Fixture::native(Dialect::Delta);
    f.subscribe(&eds(), &[GLOB, OTHER]);
    f.connect();
    let batches = f.time_out();
    assert_eq!(
        (&batches[0].answered[..], absent(&batches[0], Absence::TimedOut)),
        (&[Answered { absence: Absence::TimedOut, ..answered(GLOB) }][..], locators(&[OTHER]))
    );
}

#[test]
fn w04_a_glob_that_is_empty_now_has_lost_what_only_it_asked_for() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &[GLOB, A], both());
    let batch = f.respond(&eds(), vec![], &[GLOB]).batch;
    assert_eq!(removals(&batch), keys(&[B]));
    assert_eq!(removals(&f.respond(&eds(), vec![], &[A]).batch), keys(&[A]));
}

#[test]
fn w04_who_comes_late_to_a_glob_hears_that_it_was_answered() {
    let mut f = Fixture::named(Dialect::Delta).with(&eds(), &[GLOB], both());
    let answered = Answered { collection: Some(GLOB.into()), scope: prod_scope(), absence: Absence::Known };
    assert_eq!(f.stream.recall(&eds(), &locator(GLOB)).unwrap().answered, [answered]);
}

#[test]
fn w04_a_glob_beside_names_that_are_held_is_not_answered_by_them() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &[A], vec![variant(A, "1")]);
    f.subscribe(&eds(), &[GLOB]);
    assert_eq!(f.request().subscribe, locators(&[GLOB]));
    assert_eq!(f.stream.recall(&eds(), &locator(GLOB)).map(|batch| batch.answered), None);
    let batch = f.respond(&eds(), both(), &[]).batch;
    assert_eq!(batch.answered, [partly(GLOB)]);
}

#[test]
fn w06_what_a_name_or_its_glob_still_asks_for_is_kept() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &[GLOB, A], both());
    f.unsubscribe(&eds(), &[A]);
    assert_eq!(f.request().unsubscribe, locators(&[A]));
    assert_eq!(removals(&f.respond(&eds(), vec![], &[A]).batch), keys(&[A]), "the glob had it");
    f.respond(&eds(), vec![variant(A, "2")], &[]);
    f.subscribe(&eds(), &[B]);
    f.unsubscribe(&eds(), &[GLOB]);
    f.sent();
    assert_eq!(removals(&f.respond(&eds(), vec![], &[A]).batch), keys(&[]), "it is forgotten already");
    assert_eq!(removals(&f.respond(&eds(), vec![], &[B]).batch), keys(&[B]));
}

#[test]
fn w06_what_takes_the_place_of_a_glob_is_subscribed_before_that_is_given_up() {
    for (held, wanted) in [(GLOB, A), (A, GLOB)] {
        let mut f = Fixture::native(Dialect::Delta).with(&eds(), &[held], vec![variant(A, "1")]);
        f.unsubscribe(&eds(), &[held]);
        f.subscribe(&eds(), &[wanted]);
        let stated: Vec<_> = f.sent().into_iter().map(|r| (r.subscribe, r.unsubscribe)).collect();
        assert_eq!(stated, [(locators(&[wanted]), vec![]), (vec![], locators(&[held]))]);
    }
}

#[test]
fn u05_after_a_reconnect_what_is_gone_of_a_glob_is_removed() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect).with(&cds(), &[GLOB], both());
        let stated = f.connect()[0].initial_versions.len();
        assert_eq!(stated, if dialect == Dialect::Delta { 2 } else { 0 });
        let (sent, removed) = match dialect {
            Dialect::Sotw => (vec![variant(A, "1")], &[][..]),
            Dialect::Delta => (vec![], &[B][..]),
        };
        assert_eq!(removals(&f.respond(&cds(), sent, removed).batch), keys(&[B]));
    }
}

#[test]
fn s11_a_collection_is_complete_when_nothing_more_has_come_for_a_second() {
    let mut f = Fixture::native(Dialect::Delta);
    f.subscribe(&cds(), &["*{env=prod}"]);
    f.connect();
    let step = QUIET * 3 / 4;
    assert_eq!(f.respond(&cds(), vec![variant("a", "1")], &[]).batch.answered, [partly("*{env=prod}")]);
    for name in ["b", "c", "d"] {
        f.now += step;
        assert!(f.stream.handle_timeout(f.now).is_empty(), "{name} is on its way");
        assert_eq!(f.respond(&cds(), vec![variant(name, "1")], &[]).batch.answered, []);
    }
    // What changes all the time puts nothing off.
    f.now += step;
    f.respond(&cds(), vec![variant("a", "2")], &[]);
    f.now += step;
    let [batch] = &f.stream.handle_timeout(f.now)[..] else { panic!("nothing more has come") };
    assert_eq!(batch.answered, [answered("*{env=prod}")]);
    assert_eq!((f.stream.poll_timeout(), f.time_out().len()), (None, 0));
}

#[test]
fn s11_a_collection_that_was_cut_short_is_complete_on_the_next_stream() {
    let mut f = Fixture::native(Dialect::Delta);
    f.subscribe(&cds(), &["*"]);
    f.connect();
    f.respond(&cds(), vec![variant("a", "1")], &[]);
    f.stream.disconnected();
    assert_eq!((f.stream.poll_timeout(), f.time_out().len()), (None, 0), "the rest may never have come");
    f.connect();
    f.respond(&cds(), vec![variant("b", "1")], &[]);
    f.stream.disconnected();
    f.connect();
    assert_eq!(
        f.time_out()[0].answered,
        [answered("*")],
        "it states what it has, and nothing is to be added"
    );
    assert_eq!((f.stream.poll_timeout(), f.time_out().len()), (None, 0));

    let mut f = Fixture::native(Dialect::Delta);
    f.subscribe(&cds(), &["*"]);
    f.connect();
    f.respond(&cds(), vec![variant("a", "1")], &[]);
    f.connect();
    f.respond(&cds(), vec![variant("b", "1")], &[]);
    f.now += QUIET;
    assert_eq!(f.stream.handle_timeout(f.now)[0].answered, [answered("*")]);
}

#[test]
fn w02_wildcards_are_answered() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::named(dialect);
        f.subscribe(&cds(), &["*{env=prod}"]);
        f.connect();
        let applied = f.respond(&cds(), vec![], &[]);
        assert_eq!(
            (applied.batch.provenance, applied.batch.answered),
            (Provenance::Wildcard, vec![Answered::wildcard(prod_scope())])
        );
        assert_eq!(f.respond(&cds(), vec![], &[]).batch.answered, []);

        let mut f = Fixture::native(dialect);
        f.subscribe(&cds(), &["*{env=prod}"]);
        f.connect();
        assert_eq!(f.respond(&cds(), vec![], &[]).batch.answered, [answered("*{env=prod}")]);
        f.subscribe(&cds(), &["*{env=test}", "*{env=dev}"]);
        f.sent();
        assert_eq!(f.respond(&cds(), vec![variant("a[env=prod]", "1")], &[]).batch.answered, []);
        let both = vec![variant("a[env=prod]", "1"), variant("a[env=test]", "1")];
        let of_test = if dialect == Dialect::Sotw { answered } else { partly };
        assert_eq!(f.respond(&cds(), both, &[]).batch.answered, [of_test("*{env=test}")]);
        assert_eq!(f.time_out()[0].answered, [answered("*{env=dev}")]);
    }
}
