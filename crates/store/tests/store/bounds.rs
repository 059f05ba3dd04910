//! The store does not grow without bounds, and does not keep for ever what nobody wants.

use std::time::Duration;

use weir_config::ByteSize;
use weir_store::Store;
use weir_types::{Absence, Provenance, WILDCARD};

use crate::support::*;

const MEBIBYTE: u64 = 1 << 20;

fn note(store: &Store, provenance: Provenance, names: impl IntoIterator<Item = String>, size: usize) {
    for name in names {
        let resource = variant(&cds(), &name, &"x".repeat(size));
        store.note(&native(), &batch(provenance, |batch| batch.upserts.push(resource)));
        let asked = if provenance == Provenance::Wildcard { locator(WILDCARD) } else { locator(&name) };
        store.want(&native(), &cds(), &asked, true);
    }
    assert!(store.flush());
}

fn names(prefix: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{prefix}{number}"))
}

#[test]
fn u09_a_full_store_keeps_what_is_wanted_and_says_what_it_does_not_keep() {
    let mut place = Place::new();
    place.settings.max_size = ByteSize::mib::<1>();
    let store = place.open();
    note(&store, Provenance::Wildcard, names("small", 100), 1000);
    store.note(&native(), &batch(Provenance::Wildcard, |batch| batch.mark_answered(&locator(WILDCARD))));
    assert!(store.flush());
    assert_eq!(store.status().refused, 0);
    assert_eq!(look_up(&store, [locator(WILDCARD)]).known, [(locator(WILDCARD), Absence::Known)]);

    note(&store, Provenance::Wildcard, names("big", 200), 10_000);
    let status = store.status();
    assert!(status.refused > 50, "{status:?}");
    assert!(status.size <= MEBIBYTE + MEBIBYTE / 8, "{status:?}");
    let known = look_up(&store, [locator(WILDCARD)]);
    assert!(known.texts.len() >= 100 && known.texts.len() < 300, "{}", known.texts.len());
    assert_eq!(known.known, [], "it is not all there is");
    // What is there already may change, and what is gone makes room.
    note(&store, Provenance::Wildcard, ["small1".to_owned()], 500);
    assert_eq!(look_up(&store, [locator(WILDCARD)]).texts["small1[anyone]"].len(), 500);
    let gone = names("big", 200).map(|name| variant(&cds(), &name, "").key().clone());
    store.note(&native(), &batch(Provenance::Wildcard, |batch| batch.removals.extend(gone)));
    assert!(store.flush());
    note(&store, Provenance::Wildcard, ["another".to_owned()], 10_000);
    let known = look_up(&store, [locator(WILDCARD)]);
    assert_eq!((known.texts.len(), known.known.len()), (101, 1));
}

#[test]
fn u09_what_nobody_wants_makes_room_for_what_somebody_does() {
    let mut place = Place::new();
    place.settings.max_size = ByteSize::mib::<1>();
    drop(place.after(|store| note(store, Provenance::Named, names("old", 60), 10_000)));
    let store = place.open();
    store.want(&native(), &cds(), &locator("old7"), true);
    note(&store, Provenance::Named, names("new", 60), 10_000);
    assert_eq!(store.status().refused, 0);
    let new = names("new", 60).map(|name| locator(&name));
    assert_eq!(look_up(&store, new).texts.len(), 60);
    assert_eq!(look_up(&store, [locator("old7")]).texts.len(), 1, "it is wanted still");
    let old = names("old", 60).map(|name| locator(&name));
    assert!(look_up(&store, old).texts.len() < 60);
}

#[test]
fn u09_what_nobody_has_wanted_for_long_is_given_up_with_what_only_that_reached() {
    let filled = || {
        let place = Place::new();
        drop(place.after(|store| {
            note(store, Provenance::Named, names("a", 3), 10);
            let named =
                batch(Provenance::Named, |b| b.upserts.push(aliased(variant(&cds(), "b", "B"), &["beta"])));
            store.note(&native(), &named);
            store.want(&native(), &cds(), &locator("beta"), true);
            store.want(&native(), &cds(), &locator("a0"), false);
        }));
        place
    };
    // Nothing has been unwanted for as long as that.
    let long = filled();
    assert_eq!(look_up(&long.open(), ["a0", "a1", "beta"].map(locator)).texts.len(), 3);

    let mut place = filled();
    place.settings.keep_unwanted = Duration::ZERO;
    // The second after the start is over: what nobody has asked for by then is unwanted.
    let aged = |store: &Store| look_up(store, ["a0", "a1", "a2", "b", "beta"].map(locator)).texts.is_empty();
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !aged(&place.open()) {
        assert!(std::time::Instant::now() < deadline, "nothing is ever given up");
    }
}
