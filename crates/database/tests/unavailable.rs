//! What nobody can be asked for: counted, sent to those who want to know, and never taken for an answer.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use support::{Fixture, anyone, cds, plain, prod};
use weir_database::{Diff, Query, Shape, UnavailableCounts, Unsettled};
use weir_types::{Batch, Code, Constraints, Provenance, ResourceError, ResourceLocator, Selector, WILDCARD};

const GLOB: &str = "xdstp://x/envoy.config.cluster.v3.Cluster/all/*";

/// Reports all of these, for `env=prod`, as unavailable, or as available again.
fn report(f: &Fixture, error: fn(Constraints) -> ResourceError) {
    let mut batch = Batch::new(cds(), Provenance::Named);
    for name in ["a", "b", GLOB, WILDCARD] {
        batch.fail(&ResourceLocator::new(name, prod()), error(Constraints::unconstrained()));
    }
    f.database.commit(batch);
}

fn away(names: usize, globs: usize, wildcards: usize) -> UnavailableCounts {
    UnavailableCounts { names, globs, wildcards }
}

fn sent(stream: &support::Stream, sends_unavailable: bool, owed: &[Selector]) -> Vec<String> {
    let owed = owed.iter().cloned().collect();
    let base = Query::new(stream.attachment.cursor(), Shape::Changes);
    let diff: Diff = stream.attachment.diff(&Query { resend: &owed, sends_unavailable, ..base });
    let mut sent: Vec<_> = diff.errors.sent.iter().map(|error| error.name.to_string()).collect();
    sent.sort_unstable();
    sent
}

#[test]
fn u14_it_is_no_answer_and_is_told_to_those_who_want_to_know_but_not_of_wildcards() {
    let f = Fixture::new();
    let stream = f.attach(&[plain("a"), plain("b"), plain(GLOB), plain(WILDCARD)]);
    let before = stream.attachment.unsettled();
    assert_eq!((before.names, before.collections, before.unavailable), (2, 2, away(0, 0, 0)));
    for _ in 0..2 {
        report(&f, ResourceError::unavailable);
        assert_eq!(stream.attachment.unsettled(), Unsettled { unavailable: away(2, 1, 1), ..before });
    }
    assert_eq!(sent(&stream, true, &[]), ["a", "b", GLOB]);
    assert!(sent(&stream, false, &[plain("a"), plain(WILDCARD)]).is_empty());
    assert_eq!(sent(&stream, true, &[plain("a")]), ["a", "b", GLOB]);
}

#[test]
fn u14_it_is_over_when_somebody_can_be_asked_and_with_any_answer() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a"), plain("b"), plain(GLOB), plain(WILDCARD)]);
    report(&f, ResourceError::unavailable);
    f.put(Provenance::Named, anyone("a"), "1");
    assert_eq!(stream.attachment.unsettled().unavailable, away(1, 1, 1));
    f.put(Provenance::Named, anyone("xdstp://x/envoy.config.cluster.v3.Cluster/all/c"), "1");
    f.answer(&plain(GLOB));
    assert_eq!(stream.attachment.unsettled().unavailable, away(1, 0, 1));
    stream.step(Shape::Changes, false);
    report(&f, ResourceError::unavailable);
    assert!(sent(&stream, true, &[plain("a"), plain(GLOB)]).is_empty(), "something is known of them");
    report(&f, ResourceError::available);
    assert_eq!(stream.attachment.unsettled().unavailable, away(0, 0, 0));
    assert!(sent(&stream, true, &[plain("b")]).is_empty());
    let late = f.attach(&[plain("b")]);
    assert_eq!(late.attachment.unsettled().unavailable, away(0, 0, 0));
    report(&f, ResourceError::unavailable);
    assert_eq!(late.attachment.unsettled().unavailable, away(1, 0, 0));
    let later = f.attach(&[plain("b"), plain(WILDCARD)]);
    assert_eq!(later.attachment.unsettled().unavailable, away(1, 0, 1), "who comes later finds it");
    let mut batch = Batch::new(cds(), Provenance::Named);
    batch.fail(&ResourceLocator::new("b", prod()), ResourceError::new(Code::UNAVAILABLE, "no luck"));
    f.database.commit(batch);
    let unsettled = later.attachment.unsettled();
    assert_eq!((unsettled.failing, unsettled.unavailable), (1, away(0, 0, 1)), "that is upstream's own word");
}
