//! What nobody can be asked for: counted, told to those who want to be told, and never taken for an answer.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use support::{Fixture, anyone, cds, plain, prod};
use weir_database::{Away, Diff, Query, Shape, Unsettled};
use weir_types::{Batch, Code, Constraints, Provenance, ResourceError, ResourceLocator, Selector, WILDCARD};

const GLOB: &str = "xdstp://x/envoy.config.cluster.v3.Cluster/all/*";

/// Says of all of these, for `env=prod`, that there is nobody to ask, or that there is.
fn say(f: &Fixture, error: fn(Constraints) -> ResourceError) {
    let mut batch = Batch::new(cds(), Provenance::Named);
    for name in ["a", "b", GLOB, WILDCARD] {
        batch.fail(&ResourceLocator::new(name, prod()), error(Constraints::unconstrained()));
    }
    f.database.commit(batch);
}

fn away(names: usize, globs: usize, wildcards: usize) -> Away {
    Away { names, globs, wildcards }
}

fn told(stream: &support::Stream, sends_unavailable: bool, owed: &[Selector]) -> Vec<String> {
    let owed = owed.iter().cloned().collect();
    let base = Query::new(stream.attachment.cursor(), Shape::Changes);
    let diff: Diff = stream.attachment.diff(&Query { resend: &owed, sends_unavailable, ..base });
    let mut told: Vec<_> = diff.errors.told.iter().map(|error| error.name.to_string()).collect();
    told.sort_unstable();
    told
}

#[test]
fn u14_it_is_no_answer_and_is_told_to_those_who_want_to_know_but_not_of_wildcards() {
    let f = Fixture::new();
    let stream = f.attach(&[plain("a"), plain("b"), plain(GLOB), plain(WILDCARD)]);
    let before = stream.attachment.unsettled();
    assert_eq!((before.names, before.collections, before.away), (2, 2, away(0, 0, 0)));
    for _ in 0..2 {
        say(&f, ResourceError::unavailable);
        assert_eq!(stream.attachment.unsettled(), Unsettled { away: away(2, 1, 1), ..before });
    }
    assert_eq!(told(&stream, true, &[]), ["a", "b", GLOB]);
    assert!(told(&stream, false, &[plain("a"), plain(WILDCARD)]).is_empty());
    assert_eq!(told(&stream, true, &[plain("a")]), ["a", "b", GLOB]);
}

#[test]
fn u14_it_is_over_when_somebody_can_be_asked_and_with_any_answer() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a"), plain("b"), plain(GLOB), plain(WILDCARD)]);
    say(&f, ResourceError::unavailable);
    f.put(Provenance::Named, anyone("a"), "1");
    assert_eq!(stream.attachment.unsettled().away, away(1, 1, 1));
    f.put(Provenance::Named, anyone("xdstp://x/envoy.config.cluster.v3.Cluster/all/c"), "1");
    f.answer(&plain(GLOB));
    assert_eq!(stream.attachment.unsettled().away, away(1, 0, 1));
    stream.step(Shape::Changes, false);
    say(&f, ResourceError::unavailable);
    assert!(told(&stream, true, &[plain("a"), plain(GLOB)]).is_empty(), "something is known of them");
    say(&f, ResourceError::available);
    assert_eq!(stream.attachment.unsettled().away, away(0, 0, 0));
    assert!(told(&stream, true, &[plain("b")]).is_empty());
    let late = f.attach(&[plain("b")]);
    assert_eq!(late.attachment.unsettled().away, away(0, 0, 0));
    say(&f, ResourceError::unavailable);
    assert_eq!(late.attachment.unsettled().away, away(1, 0, 0));
    let later = f.attach(&[plain("b"), plain(WILDCARD)]);
    assert_eq!(later.attachment.unsettled().away, away(1, 0, 1), "who comes later finds it");
    let mut batch = Batch::new(cds(), Provenance::Named);
    batch.fail(&ResourceLocator::new("b", prod()), ResourceError::new(Code::UNAVAILABLE, "no luck"));
    f.database.commit(batch);
    let unsettled = later.attachment.unsettled();
    assert_eq!((unsettled.failing, unsettled.away), (1, away(0, 0, 1)), "that is upstream's own word");
}
