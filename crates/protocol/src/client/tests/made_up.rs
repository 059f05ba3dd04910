//! Types that come and go: clients make up as many as they like.

use super::*;

fn made_up(number: usize) -> TypeUrl {
    TypeUrl::new(format!("type.googleapis.com/made.up.Type{number}"))
}

/// Someone asks for a type, is answered, and gives it up.
fn pass_through(f: &mut Fixture, type_url: &TypeUrl) {
    f.subscribe(type_url, &["a"]);
    f.sent();
    f.respond(type_url, vec![variant("a", "1")], &[]);
    f.sent();
    f.unsubscribe(type_url, &["a"]);
    f.sent();
}

#[test]
fn e05_types_that_clients_make_up_do_not_heap_up() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect).with(&cds(), &["a"], vec![variant("a", "1")]);
        let mut streams = 0;
        for number in 0..1000 {
            pass_through(&mut f, &made_up(number));
            if f.stream.reopen_reason() == Some(ReopenReason::IdleTypes) {
                let stated: Vec<_> = f.connect().into_iter().map(|request| request.type_url).collect();
                assert_eq!(stated, [cds()], "{dialect}: what is wanted, and nothing else");
                assert!(!f.stream.needs_new_stream() && !f.stream.is_idle());
                streams += 1;
            }
            let known = f.stream.types.len();
            assert!(known <= MAX_IDLE_TYPES + 1, "{dialect}: {known} after {number}");
        }
        assert!(streams <= 1000 / MAX_IDLE_TYPES, "{dialect}: {streams} for a thousand types");
    }
}

#[test]
fn types_that_are_many_and_wanted_need_no_new_stream() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect);
        f.connect();
        for number in 0..1000 {
            f.subscribe(&made_up(number), &["a"]);
        }
        assert_eq!(f.sent().len(), 1000, "{dialect}");
        assert!(!f.stream.needs_new_stream(), "{dialect}");
    }
}

#[test]
fn what_was_stated_of_a_type_counts_when_it_is_wanted_again() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::named(dialect).with(&cds(), &["a"], vec![variant("a", "1")]);
        f.unsubscribe(&cds(), &["a"]);
        f.sent();
        (0..100).for_each(|number| pass_through(&mut f, &made_up(number)));
        // It was on its way when the type was given up.
        f.respond(&cds(), vec![variant("a", "2")], &[]);
        let late = f.responses;
        let acknowledged = f.request();
        assert_eq!((&acknowledged.type_url, &*acknowledged.nonce), (&cds(), &*format!("n{late}")));
        f.subscribe(&cds(), &["*"]);
        assert!(!f.stream.needs_new_stream(), "{dialect}");
        let again = f.request();
        assert_eq!(again.subscribe, locators(&["*"]), "{dialect}: an empty list is no wildcard any more");
        let nonce = if dialect == Dialect::Sotw { format!("n{late}") } else { String::new() };
        assert_eq!(*again.nonce, *nonce, "{dialect}: with none, or an older one, it is stale");
        assert!(
            again.initial_versions.is_empty(),
            "{dialect}: only the first request of a stream states them"
        );
        let applied = f.respond(&cds(), vec![variant("a", "2")], &[]);
        assert_eq!(upserts(&applied.batch).len(), 1, "{dialect}");
    }
}
