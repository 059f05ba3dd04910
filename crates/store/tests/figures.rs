//! What the store costs: `cargo test -p weir-store --test figures -- --ignored --nocapture`, with `--release` for what
//! is shipped.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test ends at the first thing that is not as it should be, and prints what it has found"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message as _;
use weir_store::{Origin, Store};
use weir_types::{
    Batch, Constraints, Content, DynamicParameters, Provenance, ResourceLocator, TypeUrl, Variant,
    VariantKey, WILDCARD,
};

const RESOURCES: u32 = 10_000;
const SIZE: usize = 1024;

#[test]
#[ignore = "it prints figures"]
fn of_ten_thousand_resources() {
    let cds = TypeUrl::from_short_name("cds").expect("a type");
    let any = prost_types::Any { type_url: cds.as_str().to_owned(), value: vec![b'x'; SIZE] };
    let body = Some(bytes::Bytes::from(any.encode_to_vec()));
    let everyone = ResourceLocator::new(WILDCARD, DynamicParameters::empty());
    let mut batch = Batch::new(cds.clone(), Provenance::Wildcard);
    batch.upserts.extend((0..RESOURCES).map(|number| {
        let key = VariantKey::new(format!("resource-{number}"), Constraints::unconstrained());
        Variant::new(key, Content { body: body.clone(), ..Content::default() })
    }));
    batch.mark_answered(&everyone);
    let origin =
        Arc::new(Origin { authority: String::new(), keys: None, parameters: DynamicParameters::empty() });
    let directory = tempfile::tempdir().expect("a directory");
    let settings = weir_config::Store::at(directory.path().join("store"));

    let store = Store::open(settings.clone(), None).expect("there is a thread");
    let send = |what: &str, took: Duration| {
        println!(
            "{what}: {:.1} ms, {:.2} µs each",
            took.as_secs_f64() * 1e3,
            took.as_secs_f64() * 1e6 / f64::from(RESOURCES)
        );
    };
    for round in ["the first time", "again"] {
        let begun = Instant::now();
        store.note(&origin, &batch);
        send(&format!("noted on the way of a commit, {round}"), begun.elapsed());
        let begun = Instant::now();
        assert!(store.flush());
        send(&format!("written by the thread, {round}"), begun.elapsed());
    }
    println!("the file: {} bytes in use", store.status().size);
    drop(store);
    let begun = Instant::now();
    let store = Store::open(settings, None).expect("there is a thread");
    send("opened and checked", begun.elapsed());
    let begun = Instant::now();
    let pasts = store.look_up(&origin, vec![(cds, everyone)]);
    send("looked up", begun.elapsed());
    assert_eq!(pasts[0].variants.len(), usize::try_from(RESOURCES).expect("it fits"));
}
