//! What must not be written is not, or encrypted.

use std::path::Path;

use weir_store::Key;
use weir_types::{Absence, Provenance, WILDCARD};

use crate::support::*;

const SECRET: &str = "the quick brown private key";

fn key(digits: &str) -> Key {
    let directory = tempfile::tempdir().expect("a directory");
    let path: &Path = &directory.path().join("key");
    std::fs::write(path, digits.repeat(32)).expect("it is written");
    Key::read(path).expect("it is a key")
}

/// A place where a secret was noted, and a cluster that must not be cached.
fn filled(key: Option<Key>) -> Place {
    let mut place = Place::new();
    place.key = key;
    place.after(|store| {
        let secret = variant(&sds(), "a-secret-name", SECRET);
        store.note(&native(), &batch_of(&sds(), Provenance::Named, |batch| batch.upserts.push(secret)));
        store.want(&native(), &sds(), &locator("a-secret-name"), true);
        let volatile = with(variant(&cds(), "volatile", SECRET), |content| {
            content.do_not_cache = true;
            // As it comes over the wire: field 7, `cache_control`.
            content.extra = bytes::Bytes::from_static(&[0x3a, 2, 8, 1]);
        });
        store.note(
            &native(),
            &batch(Provenance::Wildcard, |batch| {
                batch.upserts.extend([variant(&cds(), "open", "open"), volatile]);
                batch.mark_answered(&locator(WILDCARD));
            }),
        );
    });
    place
}

fn states(place: &Place, text: &str) -> bool {
    place.bytes().windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn u09_secrets_and_what_must_not_be_cached_are_not_written() {
    let place = filled(None);
    assert!(states(&place, "open") && !states(&place, SECRET) && !states(&place, "a-secret-name"));
    let store = place.open();
    assert_eq!(look_up_of(&store, &native(), &sds(), [locator("a-secret-name")]), Known::default());
    let known = look_up(&store, [locator(WILDCARD)]);
    assert_eq!(known.texts, texts([("open", "open")]));
    assert_eq!(known.known, [], "it is not all there is");
}

#[test]
fn u09_a_collection_is_whole_again_when_what_was_not_written_is_gone() {
    let place = filled(None);
    let store = place.after(|store| {
        let key = variant(&cds(), "volatile", "").key().clone();
        store.note(&native(), &batch(Provenance::Wildcard, |batch| batch.removals.push(key)));
    });
    assert_eq!(look_up(&store, [locator(WILDCARD)]).known, [(locator(WILDCARD), Absence::Known)]);
}

#[test]
fn u09_with_a_key_they_are_encrypted() {
    let place = filled(Some(key("5f")));
    assert!(states(&place, "open") && !states(&place, SECRET));
    let store = place.open();
    assert!(store.status().secrets);
    let known = look_up_of(&store, &native(), &sds(), [locator("a-secret-name")]);
    assert_eq!(known.texts, texts([("a-secret-name", SECRET)]));
    let known = look_up(&store, [locator(WILDCARD)]);
    assert_eq!(known.texts, texts([("open", "open")]), "p17: not even encrypted");
    assert_eq!(known.known, []);
}

#[test]
fn u09_with_another_key_or_none_they_are_as_if_they_were_not_there() {
    for other in [Some(key("60")), None] {
        let mut place = filled(Some(key("5f")));
        place.key = other;
        let store = place.open();
        assert_eq!(look_up_of(&store, &native(), &sds(), [locator("a-secret-name")]), Known::default());
        assert_eq!(look_up(&store, [locator(WILDCARD)]).texts, texts([("open", "open")]));
        assert_eq!(store.status().unreadable, 1);
    }
}
