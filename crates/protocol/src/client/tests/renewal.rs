//! What must not be cached: when it is asked for again, and that it is never stated to be held.

use super::*;

const BOTH: [Dialect; 2] = [Dialect::Sotw, Dialect::Delta];

fn uncacheable(name: &str, version: &str) -> Variant {
    Variant::new(key(name), Content { do_not_cache: true, ..content(version) })
}

/// The names in the lists of the requests that are due: what is subscribed, and what is unsubscribed.
fn lists(f: &mut Fixture) -> Vec<(Vec<ResourceLocator>, Vec<ResourceLocator>)> {
    f.sent().into_iter().map(|request| (request.subscribe, request.unsubscribe)).collect()
}

#[test]
fn p17_a_name_is_asked_for_again() {
    for (dialect, sent) in [
        (Dialect::Delta, vec![(locators(&["a"]), vec![])]),
        (Dialect::Sotw, vec![(locators(&["b"]), vec![]), (locators(&["a", "b"]), vec![])]),
    ] {
        let mut f = Fixture::native(dialect).with(
            &eds(),
            &["a", "b"],
            vec![uncacheable("a", "1"), variant("b", "1")],
        );
        assert!(f.stream.is_in_sync());
        f.stream.renew(&eds(), &locator("a"));
        assert!(!f.stream.needs_new_stream());
        assert_eq!(lists(&mut f), sent, "{dialect}");
        assert!(!f.stream.is_in_sync(), "{dialect}");
        assert_eq!(upserts(&f.respond(&eds(), vec![uncacheable("a", "1")], &[]).batch), keys(&["a"]));
        assert!(f.stream.is_in_sync(), "{dialect}");
    }
}

#[test]
fn p17_what_a_stream_does_not_repeat_is_asked_for_on_a_new_one() {
    let (names, wildcard) = (&["a"][..], &["*"][..]);
    for (dialect, type_url, subscribed, polled) in [
        (Dialect::Delta, cds(), wildcard, false),
        (Dialect::Sotw, cds(), wildcard, false),
        (Dialect::Sotw, cds(), names, false),
        (Dialect::Sotw, eds(), names, true),
        (Dialect::Delta, eds(), &["xdstp://auth/T/dir/*"], false),
    ] {
        let member = if type_url == eds() && !polled { "xdstp://auth/T/dir/a" } else { "a" };
        let mut f = Fixture::native(dialect).with(&type_url, subscribed, vec![uncacheable(member, "1")]);
        f.stream.settings.polled = polled;
        f.stream.renew(&type_url, &locator(subscribed[0]));
        let reason = f.stream.reopen_reason();
        assert_eq!(reason, Some(ReopenReason::Renewal), "{dialect} {type_url} {subscribed:?}");
        f.stream.disconnected();
        let again = f.connect().remove(0);
        assert_eq!(again.subscribe, locators(subscribed));
        assert_eq!((&*again.version, f.stream.needs_new_stream()), ("", false));
        assert!(again.initial_versions.iter().all(|(_, version)| &**version != "1"));
    }
}

#[test]
fn p17_it_is_never_stated_to_be_held() {
    let mut f = Fixture::native(Dialect::Delta).with(
        &cds(),
        &["a", "b"],
        vec![uncacheable("a", "1"), variant("b", "1")],
    );
    f.stream.disconnected();
    let stated = f.connect().remove(0).initial_versions;
    assert_ne!((&*stated[0].1, &*stated[1].1), ("1", "1"));
    assert_eq!(&*stated[1].1, "1");
    for (held, version) in [(variant("a", "1"), "v1"), (uncacheable("a", "1"), "")] {
        let mut f = Fixture::native(Dialect::Sotw).with(&cds(), &["a"], vec![held]);
        f.stream.disconnected();
        assert_eq!(&*f.connect()[0].version, version);
    }
}

#[test]
fn p17_silence_means_that_there_is_nothing_for_those_who_wait() {
    for dialect in BOTH {
        let mut f = Fixture::native(dialect).with(&eds(), &["a"], vec![uncacheable("a", "1")]);
        f.stream.renew(&eds(), &locator("a"));
        f.sent();
        let batches = f.time_out();
        assert_eq!(absent(&batches[0], Absence::TimedOut), locators(&["a"]), "{dialect}");
    }
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &["a"], vec![uncacheable("a", "1")]);
    f.stream.renew(&eds(), &locator("a"));
    f.sent();
    let gone = f.respond(&eds(), vec![], &["a"]).batch;
    assert_eq!((removals(&gone), absent(&gone, Absence::Known)), (keys(&["a"]), locators(&["a"])));
}

#[test]
fn p17_who_comes_late_is_not_told_of_it() {
    for (subscribed, asked_again) in [("a", true), ("b", false)] {
        let mut f = Fixture::native(Dialect::Delta).with(
            &eds(),
            &["a", "b"],
            vec![uncacheable("a", "1"), variant("b", "1")],
        );
        assert!(f.stream.recall(&eds(), &locator(subscribed)).is_none());
        assert_eq!(!lists(&mut f).is_empty(), asked_again, "{subscribed}");
    }
    let mut f = Fixture::named(Dialect::Delta).with(&cds(), &["*"], vec![uncacheable("a", "1")]);
    assert!(f.stream.recall(&cds(), &locator("*")).is_none());
    assert!(f.stream.needs_new_stream());
}

#[test]
fn p17_another_locator_of_what_came_waits_for_its_own() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &["a{env=prod}"], vec![uncacheable("a", "1")]);
    f.subscribe(&eds(), &["a{env=test}"]);
    f.sent();
    let batches = f.time_out();
    assert_eq!(absent(&batches[0], Absence::TimedOut), locators(&["a{env=test}"]));
}

#[test]
fn p17_what_is_not_wanted_or_not_asked_for_yet_is_not_asked_for_twice() {
    for dialect in BOTH {
        let mut f = Fixture::native(dialect).with(&eds(), &["b"], vec![]);
        f.stream.renew(&eds(), &locator("a"));
        f.stream.renew(&cds(), &locator("*"));
        assert_eq!(lists(&mut f), vec![]);
        let mut f = Fixture::native(dialect);
        f.subscribe(&cds(), &["*"]);
        f.stream.renew(&cds(), &locator("*"));
        assert!(!f.stream.needs_new_stream());
        assert_eq!(f.connect().len(), 1);
    }
}

#[test]
fn p17_a_collection_that_is_given_up_for_a_moment_needs_a_new_stream() {
    let mut f = Fixture::native(Dialect::Delta).with(&cds(), &["*"], vec![uncacheable("a", "1")]);
    f.unsubscribe(&cds(), &["*"]);
    f.subscribe(&cds(), &["*"]);
    assert_eq!(f.stream.reopen_reason(), Some(ReopenReason::CollectionResubscribed));
}
