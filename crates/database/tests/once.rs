//! Bytes that upstream sends again and again are held once.

mod support;

use std::collections::HashSet;

use weir_database::Shape;
use weir_types::constraints::Expr;
use weir_types::{Constraints, DynamicParameters, Provenance, VariantKey};

use support::{Fixture, Stream, located, variant};

const SETS: usize = 100;

fn environment(n: usize) -> String {
    format!("e{n}")
}

fn key(n: usize) -> VariantKey {
    VariantKey::new("a", Constraints::new(Expr::value("env", environment(n))))
}

/// A stream for each of the parameter sets, which all ask for the same name.
fn streams(fixture: &Fixture) -> Vec<Stream> {
    let parameters = |n: usize| -> DynamicParameters { [("env", environment(n))].into_iter().collect() };
    (0..SETS).map(|n| fixture.attach(&[located("a", parameters(n))])).collect()
}

/// Where the bodies are that these streams are shown.
fn places(streams: &[Stream]) -> HashSet<*const u8> {
    let diffs = streams.iter().map(|stream| stream.pending(Shape::Everything, false));
    let shown: Vec<_> = diffs.flat_map(|diff| diff.resources).collect();
    assert_eq!(shown.len(), streams.len());
    let bodies = shown.iter().filter_map(|(variant, _)| variant.content().body.as_ref());
    bodies.map(|body| body.as_ptr()).collect()
}

#[test]
fn equal_variants_of_one_response_share_their_bytes() {
    let fixture = Fixture::new();
    let streams = streams(&fixture);
    fixture.commit(Provenance::Named, (0..SETS).map(|n| variant(key(n), "body")).collect(), vec![]);
    assert_eq!(places(&streams).len(), 1);
    fixture.commit(Provenance::Named, (0..SETS).map(|n| variant(key(n), "next")).collect(), vec![]);
    assert_eq!(places(&streams).len(), 1, "also of what replaces them");
}

#[test]
fn p15_parameter_sets_that_are_answered_alike_share_their_bytes() {
    let fixture = Fixture::new();
    let streams = streams(&fixture);
    (0..SETS).for_each(|n| fixture.put(Provenance::Named, key(n), "body"));
    assert_eq!(places(&streams).len(), 1);
    fixture.put(Provenance::Named, key(7), "other");
    assert_eq!(places(&streams).len(), 2);
    fixture.put(Provenance::Named, key(7), "body");
    assert_eq!(places(&streams).len(), 1);
}

#[test]
fn d08_what_is_sent_again_is_not_held_again() {
    let fixture = Fixture::new();
    let stream = [fixture.attach(&[located("a", [("env", "e0")].into_iter().collect())])];
    fixture.put(Provenance::Named, key(0), "body");
    let place = places(&stream);
    fixture.put(Provenance::Named, key(0), "body");
    assert_eq!(places(&stream), place);
    let again = fixture.attach(&[located("a", [("env", "e0"), ("x", "y")].into_iter().collect())]);
    assert_eq!(places(&[again]), place, "nor for those who ask later");
}
