//! What is particular to the state of the world.

use super::*;

#[test]
fn a_request_repeats_the_whole_list() {
    let mut f = Fixture::named(Dialect::Sotw).with(&eds(), &["b", "a"], vec![variant("a", "1")]);
    f.subscribe(&eds(), &["c"]);
    let request = f.request();
    assert_eq!(request.subscribe, locators(&["a", "b", "c"]));
    assert_eq!((&*request.version, &*request.nonce), ("v1", "n1"));
    f.unsubscribe(&eds(), &["a", "b", "c"]);
    assert_eq!(f.request().subscribe, [], "nothing is subscribed any more");
}

#[test]
fn the_wildcard_is_an_empty_list_where_old_servers_know_it_so() {
    for (type_url, wanted) in [(cds(), &[][..]), (eds(), &["*"])] {
        let mut f = Fixture::named(Dialect::Sotw);
        f.subscribe(&type_url, &["*"]);
        assert_eq!(f.connect()[0].subscribe, locators(wanted));
    }
    let mut f = Fixture::native(Dialect::Sotw);
    f.subscribe(&cds(), &["*"]);
    assert_eq!(f.connect()[0].subscribe, locators(&["*"]), "a server that uses TP2 knows the star");
}

#[test]
fn u05_absence_is_removal_for_full_state_types_once_they_were_seen() {
    let mut f = Fixture::native(Dialect::Sotw).with(
        &cds(),
        &["a", "b", "c"],
        vec![variant("a", "1"), variant("b", "1")],
    );
    f.connect();
    let batch = f.respond(&cds(), vec![variant("a", "1")], &[]).batch;
    assert_eq!((removals(&batch), absent(&batch, Absence::Known)), (keys(&["b"]), locators(&["b"])));

    let mut f =
        Fixture::native(Dialect::Sotw).with(&eds(), &["a", "b"], vec![variant("a", "1"), variant("b", "1")]);
    f.connect();
    let batch = f.respond(&eds(), vec![variant("a", "1")], &[]).batch;
    assert_eq!((removals(&batch), batch.absent.len()), (vec![], 0), "absence states nothing");
}

#[test]
fn u05_what_is_held_from_before_goes_when_everyone_has_got_another_one_after_the_other() {
    let mut f = Fixture::native(Dialect::Sotw).with(&eds(), &["a{env=test}"], vec![variant("a", "1")]);
    f.stream.disconnected();
    f.subscribe(&eds(), &["a{env=prod}"]);
    f.connect();
    let first = f.respond(&eds(), vec![variant("a[env=test]", "2")], &[]);
    assert_eq!(removals(&first.batch), [], "the other may be sent that it still has it");
    let second = f.respond(&eds(), vec![variant("a[env=prod]", "2")], &[]);
    assert_eq!(removals(&second.batch), keys(&["a"]));
}

#[test]
fn e03_a_resource_that_cannot_be_told_may_be_any_missing_one() {
    let mut f = Fixture::native(Dialect::Sotw).with(&cds(), &["a"], vec![variant("a", "1")]);
    let batch = f.respond_with(&cds(), vec![rejected(None, "resource without a usable name: …")], &[]).batch;
    assert!(batch.is_empty());
}

#[test]
fn p10_resource_errors_remove_where_absence_cannot() {
    let mut f = Fixture::native(Dialect::Sotw).with(&eds(), &["a"], vec![variant("a", "1")]);
    let batch = f.respond(&eds(), vec![], &["a"]).batch;
    assert_eq!((removals(&batch), absent(&batch, Absence::Known)), (keys(&["a"]), locators(&["a"])));
}

#[test]
fn a_variant_gives_way_to_the_one_that_replaces_it() {
    let wanted = ["a{env=prod}", "a{env=test}"];
    let mut f = Fixture::native(Dialect::Sotw).with(&eds(), &wanted, vec![variant("a", "1")]);
    let batch = f.respond(&eds(), vec![variant("a[env=prod]", "2")], &[]).batch;
    assert_eq!(removals(&batch), [], "env=test still has it");
    let batch = f.respond(&eds(), vec![variant("a[env=prod]", "2"), variant("a[env=test]", "2")], &[]).batch;
    assert_eq!(removals(&batch), keys(&["a"]));
}

#[test]
fn u03_a_version_is_stated_only_for_what_is_still_held() {
    let held = || {
        Fixture::named(Dialect::Sotw).with(&eds(), &["a", "b"], vec![variant("a", "1"), variant("b", "1")])
    };
    let stated = |mut f: Fixture| f.connect()[0].version.to_string();
    assert_eq!(stated(held()), "v1");

    let mut f = held();
    f.unsubscribe(&eds(), &["b"]);
    assert_eq!(stated(f), "", "b is not held any more");

    let mut f = held();
    f.stream.disconnected();
    f.subscribe(&eds(), &["c"]);
    assert_eq!(stated(f), "", "an equal version would leave c without an answer");

    let mut f = held();
    f.respond_with(&eds(), vec![rejected(Some("a"), "a: bad")], &[]);
    assert_eq!(stated(f), "v1", "the last good one");
}

#[test]
fn a_reconnect_starts_with_no_nonce() {
    let mut f = Fixture::named(Dialect::Sotw).with(&eds(), &["a"], vec![variant("a", "1")]);
    let request = f.connect().remove(0);
    assert_eq!((&*request.nonce, request.first), ("", true));
}

#[test]
fn what_is_dropped_and_wanted_again_is_a_change_for_the_server() {
    let mut f = Fixture::named(Dialect::Sotw).with(&eds(), &["a", "b"], vec![variant("a", "1")]);
    f.unsubscribe(&eds(), &["a"]);
    f.subscribe(&eds(), &["a"]);
    let lists: Vec<_> = f.sent().into_iter().map(|request| request.subscribe).collect();
    assert_eq!(lists, [locators(&["b"]), locators(&["a", "b"])]);
}

#[test]
fn u06_a_nameless_wildcard_that_is_wanted_again_takes_a_new_stream() {
    let mut f = Fixture::named(Dialect::Sotw).with(&cds(), &["*{env=prod}"], vec![variant("a", "1")]);
    f.unsubscribe(&cds(), &["*{env=prod}"]);
    assert_eq!(f.request().subscribe, [], "the server goes on to send everything");
    assert!(!f.stream.needs_new_stream() && f.respond(&cds(), vec![variant("a", "2")], &[]).batch.is_empty());
    f.subscribe(&cds(), &["*{env=prod}"]);
    let reason = f.stream.reopen_reason();
    assert_eq!(
        reason,
        Some(ReopenReason::ImplicitWildcard),
        "the server may take this for an ACK, and be silent"
    );
    let requests = f.connect();
    assert!(!f.stream.needs_new_stream());
    assert_eq!((&*requests[0].version, requests[0].subscribe.len()), ("", 0), "nothing is held");
}

#[test]
fn u04_by_the_node_what_comes_of_a_name_replaces_what_another_server_sent_of_it() {
    let mut f = Fixture::named(Dialect::Sotw).with(&eds(), &["a"], vec![variant("a[zone=x]", "1")]);
    let same_stream = f.respond(&eds(), vec![variant("a[zone=y]", "1")], &[]);
    assert_eq!(removals(&same_stream.batch), [], "it may send one after the other");
    f.connect();
    let batch = f.respond(&eds(), vec![variant("a", "2")], &[]).batch;
    assert_eq!(removals(&batch), keys(&["a[env=prod,zone=x]", "a[env=prod,zone=y]"]));
    assert_eq!(batch.absent, []);
}
