//! A file that is no good, and one that cannot be: neither is in anyone's way.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};

use weir_store::Store;
use weir_types::{Absence, Provenance, WILDCARD};

use crate::support::*;

fn filled() -> Place {
    let place = Place::new();
    drop(place.after(|store| {
        let resources = (0..2000)
            .map(|number| variant(&cds(), &format!("r{number}"), &format!("<{number}>").repeat(400)));
        store.note(
            &native(),
            &batch(Provenance::Wildcard, |batch| {
                batch.upserts.extend(resources);
                batch.mark_answered(&locator(WILDCARD));
            }),
        );
    }));
    place
}

#[test]
fn u09_a_torn_file_is_set_aside_and_the_next_one_is_used() {
    let place = filled();
    let file = OpenOptions::new().write(true).open(place.path()).expect("it is there");
    file.set_len(100_000).expect("it is cut");
    let store = place.open();
    assert_eq!(look_up(&store, [locator(WILDCARD)]), Known::default());
    assert_eq!(place.aside().len(), 1);
    store.note(&native(), &batch(Provenance::Named, |batch| batch.upserts.push(variant(&cds(), "a", "A"))));
    drop(store);
    assert_eq!(look_up(&place.open(), [locator("a")]).texts.len(), 1);
    assert_eq!(place.aside().len(), 1);
}

#[test]
fn u09_a_file_that_is_torn_while_it_is_used_is_given_up() {
    let place = filled();
    let store = place.open();
    let mut file = OpenOptions::new().write(true).open(place.path()).expect("it is there");
    // More than is kept of it in memory.
    let length = file.metadata().expect("it is there").len();
    assert!(length > 3_000_000, "{length}");
    file.seek(SeekFrom::Start(4096)).expect("it is longer");
    file.write_all(&vec![0xa5; length as usize - 8192]).expect("it is spoiled");
    // The first attempt finds it, the next one has a new file.
    _ = look_up(&store, [locator(WILDCARD)]);
    store.note(&native(), &batch(Provenance::Named, |batch| batch.upserts.push(variant(&cds(), "a", "A"))));
    store.flush();
    assert!(store.flush());
    assert!(!place.aside().is_empty(), "{:?}", place.aside());
    assert_eq!(look_up(&store, [locator("a")]).texts.len(), 1);
}

#[test]
fn u09_a_row_that_has_changed_by_itself_is_not_believed() {
    let place = filled();
    let mut bytes = fs::read(place.path()).expect("it is there");
    for at in 0..bytes.len() - 5 {
        if bytes[at..].starts_with(b"<250>") {
            bytes[at + 1] = b'9';
        }
    }
    fs::write(place.path(), bytes).expect("it is written");
    let store = place.open();
    let known = look_up(&store, [locator(WILDCARD)]);
    assert_eq!((known.texts.len(), known.known), (1999, vec![]), "and it is not all there is");
    assert_eq!(store.status().unreadable, 1);
    let again = (0..2000).map(|number| variant(&cds(), &format!("r{number}"), "again"));
    store.note(&native(), &batch(Provenance::Wildcard, |batch| batch.upserts.extend(again)));
    let known = look_up(&store, [locator(WILDCARD)]);
    assert_eq!((known.texts.len(), known.known), (2000, vec![(locator(WILDCARD), Absence::Known)]));
}

#[test]
fn u09_where_there_can_be_no_file_there_is_an_empty_store_until_there_can() {
    let directory = tempfile::tempdir().expect("a directory");
    let below = directory.path().join("below");
    let store = Store::open(weir_config::Store::at(below.join("store")), None).expect("there is a thread");
    store.note(&native(), &batch(Provenance::Named, |batch| batch.upserts.push(variant(&cds(), "a", "A"))));
    assert!(!store.flush());
    let status = store.status();
    assert!(status.failure.is_some() && status.pending == 1, "{status:?}");
    assert_eq!(look_up(&store, [locator("a")]), Known::default());

    fs::create_dir(&below).expect("it is made");
    assert!(store.flush());
    assert_eq!(look_up(&store, [locator("a")]).texts, texts([("a", "A")]));
    assert_eq!(store.status().failure, None);
}
