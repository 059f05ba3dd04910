//! Two processes have the store while one takes over from the other.

use weir_types::Provenance;

use crate::support::*;

#[test]
fn u09_a_second_store_reads_what_the_first_writes_and_writes_itself() {
    let place = Place::new();
    let first = place.open();
    first.note(&native(), &batch(Provenance::Named, |batch| batch.upserts.push(variant(&cds(), "a", "1"))));
    assert!(first.flush());
    let second = place.open();
    assert_eq!(look_up(&second, [locator("a")]).texts, texts([("a", "1")]));
    for round in 0..50 {
        for (store, name) in [(&first, "a"), (&second, "b")] {
            let change = variant(&cds(), name, &round.to_string());
            store.note(&native(), &batch(Provenance::Named, |batch| batch.upserts.push(change)));
        }
        assert!(first.flush() && second.flush());
    }
    drop(first);
    second.note(&native(), &batch(Provenance::Named, |batch| batch.upserts.push(variant(&cds(), "c", "3"))));
    drop(second);
    assert_eq!(place.aside(), [] as [std::path::PathBuf; 0]);
    let known = look_up(&place.open(), ["a", "b", "c"].map(locator));
    assert_eq!(known.texts, texts([("a", "49"), ("b", "49"), ("c", "3")]));
}

#[test]
fn u09_two_that_write_at_once_lose_nothing() {
    let place = Place::new();
    let write = |prefix: &'static str| {
        let store = place.open();
        std::thread::spawn(move || {
            for number in 0..100 {
                let change = variant(&cds(), &format!("{prefix}{number}"), prefix);
                store.note(&native(), &batch(Provenance::Wildcard, |batch| batch.upserts.push(change)));
                assert!(store.flush());
            }
        })
    };
    let writers = ["x", "y"].map(write);
    writers.into_iter().for_each(|writer| writer.join().expect("it has written"));
    assert_eq!(look_up(&place.open(), [locator("*")]).texts.len(), 200);
}
