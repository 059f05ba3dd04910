//! What is particular to the incremental dialect.

use super::super::requests::UNSTATABLE_VERSION;
use super::*;

fn versions(stated: &[(&str, &str)]) -> Vec<(Name, Arc<str>)> {
    stated.iter().map(|(name, version)| ((*name).into(), (*version).into())).collect()
}

#[test]
fn only_what_changes_is_stated() {
    let mut f = Fixture::named(Dialect::Delta).with(&cds(), &["a", "b"], vec![variant("a", "1")]);
    f.subscribe(&cds(), &["c", "d"]);
    f.unsubscribe(&cds(), &["a", "d", "x"]);
    let request = f.request();
    assert_eq!((request.subscribe, request.unsubscribe), (locators(&["c"]), locators(&["a"])));
    assert_eq!((&*request.nonce, request.initial_versions), ("", vec![]));
    f.subscribe(&cds(), &["c"]);
    assert_eq!(f.request().subscribe, locators(&["c"]), "what is wanted already is asked for again");
}

#[test]
fn wildcards_are_explicit() {
    let mut f = Fixture::named(Dialect::Delta);
    f.subscribe(&cds(), &["*{env=prod}"]);
    assert_eq!(f.connect()[0].subscribe, locators(&["*{env=prod}"]));
}

#[test]
fn u03_a_reconnect_states_what_is_held() {
    let mut f =
        Fixture::named(Dialect::Delta).with(&cds(), &["a", "b"], vec![variant("a", "1"), variant("b", "7")]);
    f.stream.disconnected();
    f.subscribe(&cds(), &["c"]);
    let requests = f.connect();
    assert_eq!(requests[0].subscribe, locators(&["a", "b", "c"]));
    assert_eq!(requests[0].initial_versions, versions(&[("a", "1"), ("b", "7")]));
    assert!(f.respond(&cds(), vec![], &[]).batch.is_empty(), "nothing is withdrawn");
}

#[test]
fn u05_after_a_reconnect_what_is_gone_is_removed() {
    let mut f = Fixture::named(Dialect::Delta).with(&cds(), &["a"], vec![variant("a", "1")]);
    f.connect();
    let batch = f.respond(&cds(), vec![], &["a"]).batch;
    assert_eq!(removals(&batch), keys(&["a[env=prod]"]));
    assert_eq!(batch.absent, [Absent { name: "a".into(), scope: prod_scope(), absence: Absence::Known }]);
}

#[test]
fn p14_several_variants_of_a_name_are_asked_for_again_and_swept() {
    let both = || vec![variant("a[env=prod]", "1"), variant("a[env=test]", "1")];
    let wanted = ["a{env=prod}", "a{env=test}"];
    let held = || Fixture::native(Dialect::Delta).with(&cds(), &wanted, both());

    let mut f = held();
    assert_eq!(f.connect()[0].initial_versions, versions(&[("a", UNSTATABLE_VERSION)]));
    let batch = f.respond(&cds(), vec![variant("a[env=prod]", "1")], &[]).batch;
    assert_eq!((upserts(&batch), removals(&batch)), (keys(&["a[env=prod]"]), keys(&["a[env=test]"])));
    assert_eq!(absent(&batch, Absence::Known), locators(&["a{env=test}"]));

    let mut f = held();
    f.connect();
    let batch = f.respond(&cds(), vec![], &["a"]).batch;
    assert_eq!(removals(&batch), keys(&["a[env=prod]", "a[env=test]"]), "removed by its name");
    assert_eq!(absent(&batch, Absence::Known), locators(&wanted));

    let mut f = held();
    f.connect();
    let batch = f.respond_with(&cds(), vec![rejected(Some("a"), "a: bad")], &[]).batch;
    assert!(batch.is_empty(), "an unacceptable resource sweeps nothing");
}

#[test]
fn p14_a_variant_that_was_swapped_during_an_outage_is_swept() {
    let mut f =
        Fixture::native(Dialect::Delta).with(&cds(), &["a{env=prod}"], vec![variant("a[env=prod]", "1")]);
    assert_eq!(f.connect()[0].initial_versions, versions(&[("a", "1")]));
    let batch = f.respond(&cds(), vec![variant("a", "2")], &[]).batch;
    assert_eq!((upserts(&batch), removals(&batch)), (keys(&["a"]), keys(&["a[env=prod]"])));
    assert_eq!(batch.absent, []);
}

#[test]
fn p14_a_locator_added_after_a_reconnect_sweeps_nothing_that_is_valid() {
    let mut f =
        Fixture::native(Dialect::Delta).with(&cds(), &["a{env=prod}"], vec![variant("a[env=prod]", "1")]);
    f.connect();
    f.subscribe(&cds(), &["a{env=test}"]);
    assert_eq!(
        f.request().subscribe,
        locators(&["a{env=prod}", "a{env=test}"]),
        "all of the name is asked for"
    );
    let both = vec![variant("a[env=prod]", "1"), variant("a[env=test]", "1")];
    assert_eq!(removals(&f.respond(&cds(), both, &[]).batch), []);
}

#[test]
fn w02_a_wildcard_added_after_a_reconnect_leaves_nothing_behind_that_was_swapped() {
    let mut f =
        Fixture::native(Dialect::Delta).with(&cds(), &["*{env=prod}"], vec![variant("a[env=prod]", "1")]);
    f.connect();
    f.subscribe(&cds(), &["*{env=test}"]);
    assert_eq!(
        f.request().subscribe,
        locators(&["*{env=prod}", "*{env=test}"]),
        "nobody can send whether the first was answered by silence"
    );
    let batch = f.respond(&cds(), vec![variant("a", "2")], &[]).batch;
    assert_eq!((upserts(&batch), removals(&batch)), (keys(&["a"]), keys(&["a[env=prod]"])));
}

#[test]
fn p08_a_replacement_is_one_batch() {
    let mut f = Fixture::native(Dialect::Delta).with(&cds(), &["a{env=prod}"], vec![variant("a", "1")]);
    let batch = f.respond(&cds(), vec![variant("a[env=prod]", "2")], &["a"]).batch;
    assert_eq!((upserts(&batch), removals(&batch)), (keys(&["a[env=prod]"]), keys(&["a"])));
    assert_eq!(batch.absent, [], "it is still served");
}

#[test]
fn p09_removal_by_name_spares_constrained_variants() {
    let wanted = ["a{env=prod}", "a{env=test}", "a"];
    let mut f = Fixture::native(Dialect::Delta).with(&cds(), &wanted, vec![variant("a[env=prod]", "1")]);
    let batch = f.respond(&cds(), vec![], &["a"]).batch;
    assert_eq!(removals(&batch), []);
    assert_eq!(absent(&batch, Absence::Known), locators(&["a", "a{env=test}"]));
    assert_eq!(f.time_out().len(), 0);
    let batch = f.respond(&cds(), vec![], &["a[env=prod]"]).batch;
    assert_eq!(removals(&batch), keys(&["a[env=prod]"]));
    assert!(absent(&batch, Absence::Known).contains(&locator("a{env=prod}")));
}

#[test]
fn u06_a_resource_without_body_does_not_exist() {
    let mut f = Fixture::named(Dialect::Delta).with(&cds(), &["a", "b"], vec![variant("a", "1")]);
    let bodyless = |name| Variant::new(key(name), Content { body: None, ..content("") });
    let batch = f.respond(&cds(), vec![bodyless("a"), bodyless("b")], &[]).batch;
    assert_eq!((upserts(&batch), removals(&batch)), (vec![], keys(&["a[env=prod]"])));
    let names: Vec<_> = batch.absent.iter().map(|absent| &*absent.name).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn what_is_unsubscribed_is_not_stated_later() {
    let mut f = Fixture::native(Dialect::Delta).with(
        &cds(),
        &["a{env=prod}", "a{env=test}"],
        vec![variant("a[env=prod]", "1"), variant("a[env=test]", "2")],
    );
    f.unsubscribe(&cds(), &["a{env=prod}"]);
    assert_eq!(f.connect()[0].initial_versions, versions(&[("a", "2")]));
    f.unsubscribe(&cds(), &["a{env=test}"]);
    assert_eq!(f.connect(), []);
}

#[test]
fn i09_removal_reaches_who_asked_by_alias() {
    let aliased = Content { aliases: Arc::from([Name::from("r/x")]), ..content("1") };
    let mut f =
        Fixture::native(Dialect::Delta).with(&cds(), &["r/x"], vec![Variant::new(key("vh"), aliased)]);
    let batch = f.respond(&cds(), vec![], &["vh"]).batch;
    assert_eq!((removals(&batch), absent(&batch, Absence::Known)), (keys(&["vh"]), locators(&["r/x"])));
}

#[test]
fn w02_a_wildcard_that_no_stream_has_answered_is_answered_though_all_is_held() {
    let mut f = Fixture::native(Dialect::Delta).with(&cds(), &["*{env=prod}"], vec![variant("a", "1")]);
    f.subscribe(&cds(), &["*{env=test}"]);
    let stated = f.connect().remove(0).initial_versions;
    assert_eq!(
        stated,
        [("a".into(), requests::UNSTATABLE_VERSION.into())],
        "or there might be nothing to state"
    );
    let batch = f.respond(&cds(), vec![variant("a", "1")], &[]).batch;
    assert!(batch.answered.iter().any(|answered| answered.scope == Scope::Exactly(params("env=test"))));
    assert_eq!(f.connect().remove(0).initial_versions, [("a".into(), "1".into())]);
}

#[test]
fn i05_a_name_that_nothing_answers_any_more_takes_what_answered_it_as_an_alias() {
    for (asked, gone) in [(&["d"][..], keys(&["a"])), (&["d", "a"], vec![])] {
        let aliased = Content { aliases: Arc::from([Name::from("d")]), ..content("1") };
        let mut f =
            Fixture::native(Dialect::Delta).with(&eds(), asked, vec![Variant::new(key("a"), aliased)]);
        f.connect();
        assert_eq!(removals(&f.respond(&eds(), vec![], &["d"]).batch), gone, "{asked:?}");
    }
}
