//! What was noted is known again: contents, absences, times to live; and what is gone is not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_store::{Origin, Store};
use weir_types::constraints::Expr;
use weir_types::{
    Absence, Code, Constraints, Heartbeat, Provenance, ResourceError, Variant, VariantKey, WILDCARD,
};

use crate::support::*;

const GLOB: &str = "xdstp://a/acme.Widget/dir/*";
const MEMBER: &str = "xdstp://a/acme.Widget/dir/one";

#[test]
fn u09_whether_an_authority_has_left_anything_is_known_without_asking_for_it() {
    let place = Place::new();
    let note = |store: &Store, variants: &[Variant], gone: &[&str]| {
        let batch = batch(Provenance::Named, |batch| {
            batch.upserts.extend(variants.iter().cloned());
            batch
                .removals
                .extend(gone.iter().map(|name| VariantKey::new(*name, Constraints::unconstrained())));
        });
        store.note(&native(), &batch);
    };
    let store = place.after(|store| {
        assert!(!store.holds(""), "it is a new one");
        note(store, &[variant(&cds(), "a", "A")], &[]);
    });
    assert!(store.holds("") && !store.holds("other.example"));
    note(&store, &[], &["a"]);
    assert!(!store.holds(""), "it is gone");
}

#[test]
fn u09_a_name_an_alias_a_glob_and_a_wildcard_find_what_they_reach() {
    let place = Place::new();
    let store = place.after(|store| {
        store.note(
            &native(),
            &batch(Provenance::Named, |batch| {
                batch.upserts.push(variant(&cds(), "a", "A"));
                batch.upserts.push(aliased(variant(&cds(), "b", "B"), &["beta", "bee"]));
                batch.upserts.push(variant(&cds(), MEMBER, "M"));
            }),
        );
        let wild = batch(Provenance::Wildcard, |batch| batch.upserts.push(variant(&cds(), "w", "W")));
        store.note(&native(), &wild);
    });
    for (name, found) in [
        ("a", vec![("a", "A")]),
        ("bee", vec![("b", "B")]),
        ("b", vec![("b", "B")]),
        (GLOB, vec![(MEMBER, "M")]),
        (MEMBER, vec![(MEMBER, "M")]),
        (WILDCARD, vec![("w", "W")]),
        ("w", vec![]),
        ("xdstp://a/acme.Widget/other/*", vec![]),
    ] {
        let found: Vec<_> =
            found.into_iter().map(|(name, text)| (format!("{name}[anyone]"), text.to_owned())).collect();
        let known = look_up(&store, [locator(name)]);
        assert_eq!(known.texts.into_iter().collect::<Vec<_>>(), found, "{name}");
    }
    let all = look_up(&store, ["a", "b", "beta", GLOB, MEMBER, WILDCARD].map(locator));
    assert_eq!(all.texts.len(), 4);
}

#[test]
fn u09_what_is_kept_is_kept_byte_for_byte() {
    let place = Place::new();
    let original = with(for_env("a", "prod", "A"), |content| {
        content.aliases = Arc::from(["alias".into()]);
        content.extra = bytes::Bytes::from_static(&[0x7a, 1, b'x']);
        content.upstream_version = "version 7".into();
    });
    let noted = original.clone();
    let store = place.after(|store| {
        store.note(&native(), &batch(Provenance::Named, |batch| batch.upserts.push(noted)));
    });
    let pasts = store.look_up(&native(), vec![(cds(), located("a", env("prod")))]);
    let [found] = &pasts[0].variants[..] else { panic!("{pasts:?}") };
    assert_eq!((found.key(), found.content()), (original.key(), original.content()));
    assert_eq!(found.lease(), None);
}

#[test]
fn u09_parameters_choose_where_upstream_is_asked_by_locators() {
    let place = Place::new();
    let store = place.after(|store| {
        store.note(
            &native(),
            &batch(Provenance::Wildcard, |batch| {
                batch.upserts.extend([for_env("a", "prod", "P"), for_env("a", "test", "T")]);
                batch.mark_answered(&located(WILDCARD, env("prod")));
            }),
        );
    });
    let prod = look_up(&store, [located(WILDCARD, env("prod"))]);
    assert_eq!(prod.texts.values().collect::<Vec<_>>(), ["P"]);
    assert_eq!(prod.known, [(located(WILDCARD, env("prod")), Absence::Known)]);
    let other = look_up(&store, [located(WILDCARD, env("canary"))]);
    assert_eq!(other, Known::default());
    let both = look_up(&store, ["prod", "test"].map(|of| located(WILDCARD, env(of))));
    assert_eq!((both.texts.len(), both.known.len()), (2, 1));
}

#[test]
fn u09_streams_of_other_parameter_sets_authorities_and_types_know_nothing() {
    let place = Place::new();
    let of = |authority: &str, keys: Option<&str>, set: &str| {
        let keys = keys.map(|key| Arc::from([key.into()]));
        Arc::new(Origin { authority: authority.to_owned(), keys, parameters: env(set) })
    };
    let own = of("", Some("env"), "prod");
    let store = place.after(|store| {
        let upsert = batch(Provenance::Named, |batch| batch.upserts.push(for_env("a", "prod", "A")));
        store.note(&own, &upsert);
    });
    let known = |origin: &Arc<Origin>| look_up_of(&store, origin, &cds(), [locator("a")]).texts.len();
    assert_eq!(known(&own), 1);
    for other in [of("", Some("env"), "test"), of("x", Some("env"), "prod"), of("", Some("zone"), "prod")] {
        assert_eq!(known(&other), 0, "{other:?}");
    }
    assert_eq!(look_up_of(&store, &own, &sds(), [locator("a")]), Known::default());
}

#[test]
fn u09_what_is_absent_and_what_is_answered_is_known_until_something_comes() {
    let place = Place::new();
    let absent = [("known", Absence::Known), ("late", Absence::TimedOut), ("back", Absence::Known)];
    let store = place.after(|store| {
        store.note(
            &native(),
            &batch(Provenance::Named, |batch| {
                absent.into_iter().for_each(|(name, absence)| batch.mark_absent(&locator(name), absence));
                batch.mark_absent(&located("back", env("test")), Absence::Known);
                batch.mark_answered(&locator(GLOB));
            }),
        );
        store.note(&native(), &batch(Provenance::Wildcard, |batch| batch.mark_answered(&locator(WILDCARD))));
        assert!(store.flush());
        let back = batch(Provenance::Named, |batch| {
            let not_test = Constraints::new(Expr::not(Expr::exists("env")));
            batch
                .upserts
                .push(weir_types::Variant::new(VariantKey::new("back", not_test), content(&cds(), "B")));
        });
        store.note(&native(), &back);
        // It has gone, and nobody has reported it missing.
        store.note(
            &native(),
            &batch(Provenance::Named, |batch| {
                batch.removals = back.upserts.iter().map(|v| v.key().clone()).collect()
            }),
        );
    });
    let names = ["known", "late", "back", "never", GLOB, WILDCARD].map(locator);
    let known = look_up(&store, names.into_iter().chain([located("back", env("test"))])).known;
    let expected = [
        (locator(WILDCARD), Absence::Known),
        (located("back", env("test")), Absence::Known),
        (locator("known"), Absence::Known),
        (locator("late"), Absence::TimedOut),
        (locator(GLOB), Absence::Known),
    ];
    assert_eq!(known, expected);
}

#[test]
fn t01_what_has_expired_while_weir_was_away_is_gone() {
    let place = Place::new();
    let hour = Duration::from_secs(3600);
    let long_ago = Instant::now().checked_sub(Duration::from_secs(20)).expect("the machine is up for longer");
    let key = |name: &str| VariantKey::new(name, Constraints::unconstrained());
    let store = place.after(|store| {
        store.note(
            &native(),
            &batch(Provenance::Wildcard, |batch| {
                batch.received = Some(long_ago);
                for (name, ttl) in [("over", 10), ("alive", 3600), ("refreshed", 10), ("shortened", 3600)] {
                    batch.upserts.push(mortal(variant(&cds(), name, name), Duration::from_secs(ttl)));
                }
                batch.upserts.push(variant(&cds(), "immortal", "immortal"));
                batch.mark_answered(&locator(WILDCARD));
            }),
        );
        assert!(store.flush());
        let beats = batch(Provenance::Wildcard, |batch| {
            batch.received = Some(long_ago);
            batch.heartbeats.push(Heartbeat { key: key("refreshed"), ttl: hour });
            batch.heartbeats.push(Heartbeat { key: key("shortened"), ttl: Duration::from_secs(15) });
        });
        store.note(&native(), &beats);
    });
    let pasts = store.look_up(&native(), vec![(cds(), locator(WILDCARD))]);
    assert_eq!(pasts[0].known, [(locator(WILDCARD), Absence::Known)], "the rest is all there is");
    // Some seconds may go by while this is written and read.
    let near = |left: Duration| left <= hour - Duration::from_secs(20) && left > hour / 2;
    let variants = pasts[0].variants.iter();
    let mut left: Vec<_> = variants.map(|v| (text(v), v.remaining(Instant::now()).map(near))).collect();
    left.sort();
    let alive = Some(true);
    let wanted = [("alive", alive), ("immortal", None), ("refreshed", alive)];
    assert_eq!(left, wanted.map(|(name, near)| (name.to_owned(), near)));
}

#[test]
fn t01_a_name_that_has_expired_is_absent() {
    let place = Place::new();
    let store = place.after(|store| {
        let expired = batch(Provenance::Named, |batch| {
            batch.received = Instant::now().checked_sub(Duration::from_secs(20));
            batch.upserts.push(mortal(variant(&cds(), "a", "A"), Duration::from_secs(1)));
        });
        store.note(&native(), &expired);
    });
    let known = look_up(&store, [locator("a")]);
    assert_eq!(known.known, [(locator("a"), Absence::TimedOut)]);
    assert!(known.texts.is_empty());
}

#[test]
fn what_is_removed_changed_or_forgotten_is_not_known() {
    let place = Place::new();
    let store = place.after(|store| {
        let upsert = |name: &'static str, text: &'static str| {
            batch(Provenance::Named, move |batch| batch.upserts.push(variant(&cds(), name, text)))
        };
        for name in ["removed", "changed", "forgotten", "held"] {
            store.note(&native(), &upsert(name, "1"));
        }
        store.note(
            &native(),
            &batch(Provenance::Named, |b| b.upserts.push(aliased(variant(&cds(), "a", "1"), &["x"]))),
        );
        assert!(store.flush());
        store.note(&native(), &upsert("changed", "2"));
        let removal = VariantKey::new("removed", Constraints::unconstrained());
        store.note(&native(), &batch(Provenance::Named, |batch| batch.removals.push(removal)));
        store.note(
            &native(),
            &batch(Provenance::Named, |b| b.upserts.push(aliased(variant(&cds(), "a", "1"), &["y"]))),
        );
        store.forget(&native(), &cds(), &locator("forgotten"), [].into());
        let held = VariantKey::new("held", Constraints::unconstrained());
        store.forget(&native(), &cds(), &locator("held"), [held].into());
        // What has just changed counts, whether or not it is written.
        assert_eq!(look_up(store, [locator("changed")]).texts, texts([("changed", "2")]));
    });
    let known = look_up(&store, ["removed", "changed", "forgotten", "held", "x", "y"].map(locator));
    assert_eq!(known.texts, texts([("changed", "2"), ("held", "1"), ("a", "1")]));
}

#[test]
fn u09_of_an_error_what_it_means_for_the_content_outlives_the_process() {
    let place = Place::new();
    let store = place.after(|store| {
        let served = batch(Provenance::Named, |batch| batch.upserts.push(variant(&cds(), "served", "S")));
        store.note(&native(), &served);
        let errors = batch(Provenance::Named, |batch| {
            for name in ["served", "nothing", "missing"] {
                batch.fail(&locator(name), ResourceError::new(Code::UNAVAILABLE, "for now"));
            }
            // An error that drops what is cached reports it.
            batch.mark_absent(&locator("missing"), Absence::Known);
        });
        store.note(&native(), &errors);
    });
    let known = look_up(&store, ["served", "nothing", "missing"].map(locator));
    assert_eq!(known.texts, texts([("served", "S")]));
    assert_eq!(known.known, [(locator("missing"), Absence::Known)], "what nobody reported, nobody knows");
}
