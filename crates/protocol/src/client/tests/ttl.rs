//! Times to live: what refreshes what, and what is stated of what may die in silence.

use weir_types::Heartbeat;

use super::*;

const TTL: Duration = Duration::from_secs(9);

fn with_ttl(name: &str, version: &str) -> Variant {
    Variant::new(key(name), Content { ttl: Some(TTL), ..content(version) })
}

fn beat(name: &str, version: &str) -> Variant {
    Variant::new(key(name), Content { body: None, ttl: Some(TTL), ..content(version) })
}

fn beats(batch: &Batch) -> Vec<VariantKey> {
    batch.heartbeats.iter().map(|Heartbeat { key, .. }| key.clone()).collect()
}

#[test]
fn t02_a_heartbeat_is_no_new_version() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let held = vec![with_ttl("a", "1"), variant("b", "1")];
        let mut f = Fixture::named(dialect).with(&cds(), &["a", "b"], held);
        f.now += TTL;
        let applied = f.respond(&cds(), vec![beat("a", "1"), beat("b", "1")], &[]);
        assert_eq!(beats(&applied.batch), keys(&["a[env=prod]", "b[env=prod]"]), "{dialect}");
        assert_eq!(applied.batch.heartbeats[0].ttl, TTL);
        assert_eq!(applied.batch.received, Some(f.now));
        assert_eq!(
            (upserts(&applied.batch), removals(&applied.batch)),
            (vec![], vec![]),
            "nothing is absent"
        );
        assert_eq!(f.request().nack, None);
    }
}

#[test]
fn t02_a_heartbeat_is_for_the_variant_and_the_version_that_is_held() {
    for (dialect, version, refreshes) in [
        (Dialect::Delta, "1", true),
        (Dialect::Delta, "", true),
        (Dialect::Delta, "2", false),
        (Dialect::Delta, "v1", false),
        (Dialect::Sotw, "1", true),
        (Dialect::Sotw, "2", false),
        // A wrapper without a version of its own is read with that of the response.
        (Dialect::Sotw, "v1", true),
        (Dialect::Sotw, "v2", true),
    ] {
        let held = vec![with_ttl("a[env=prod]", "1"), with_ttl("a[env=test]", "1")];
        let mut f = Fixture::native(dialect).with(&cds(), &["a{env=prod}", "a{env=test}"], held);
        let batch =
            f.respond(&cds(), vec![beat("a[env=prod]", version), with_ttl("a[env=test]", "1")], &[]).batch;
        let expected = if refreshes { keys(&["a[env=prod]"]) } else { vec![] };
        assert_eq!(beats(&batch), expected, "{dialect} {version}");
        assert_eq!(upserts(&batch), keys(&["a[env=test]"]));
        assert_eq!((removals(&batch), batch.absent.len()), (vec![], 0), "it is there, in whatever version");
    }
}

#[test]
fn t02_a_heartbeat_of_what_is_not_held_is_ignored() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect).with(&cds(), &["a", "b"], vec![with_ttl("a", "1")]);
        assert!(f.respond(&cds(), vec![beat("b", "1"), with_ttl("a", "1")], &[]).batch.heartbeats.is_empty());
    }
}

#[test]
fn u06_no_body_and_no_ttl_is_a_removal() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect).with(&eds(), &["a"], vec![with_ttl("a", "1")]);
        let gone = Variant::new(key("a"), Content { body: None, ..content("1") });
        assert_eq!(removals(&f.respond(&eds(), vec![gone], &[]).batch), keys(&["a"]), "{dialect}");
    }
}

#[test]
fn t01_what_may_die_in_silence_is_sent_again_after_a_reconnect() {
    let mut f = Fixture::native(Dialect::Delta).with(
        &cds(),
        &["a", "b"],
        vec![with_ttl("a", "1"), variant("b", "1")],
    );
    f.stream.disconnected();
    let stated = f.connect().remove(0).initial_versions;
    assert_eq!(stated[0].0, "a".into());
    assert_ne!((&*stated[0].1, &*stated[1].1), ("1", "1"));
    assert_eq!(&*stated[1].1, "1");

    for (held, version) in [(variant("a", "1"), "v1"), (with_ttl("a", "1"), "")] {
        let mut f = Fixture::native(Dialect::Sotw).with(&cds(), &["a"], vec![held]);
        f.stream.disconnected();
        assert_eq!(&*f.connect()[0].version, version);
    }
}

#[test]
fn t02_heartbeats_alone_are_no_state_of_the_world() {
    for (version, gone) in [("v1", vec![]), ("v2", keys(&["b"]))] {
        let held = vec![with_ttl("a", "1"), variant("b", "1")];
        let mut f = Fixture::native(Dialect::Sotw).with(&cds(), &["*"], held);
        let response = Response {
            type_url: cds(),
            version: version.into(),
            nonce: "n2".into(),
            resources: vec![Ok(beat("a", version))],
            removed: vec![],
            errors: vec![],
        };
        let batch = f.stream.handle_response(response, f.now).batch;
        assert_eq!(
            (beats(&batch), removals(&batch)),
            (keys(&["a"]), gone),
            "another version is another state"
        );
    }
}
