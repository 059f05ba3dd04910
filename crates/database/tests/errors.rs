//! Errors of resources (xRFC TP3): who is sent them, when, and when they are over.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use support::{Fixture, anyone, located, only, plain, prod, test, variant};
use weir_database::{Diff, Removed, Shape, Unsettled};
use weir_types::{Absence, Batch, Code, Commit, Provenance, ResourceError, ResourceLocator};

const CHANGES: Shape = Shape::Changes;

/// A batch that gives an error for `a` with `env=prod`.
fn failing(code: Code) -> Batch {
    let mut batch = Batch::new(support::cds(), Provenance::Named);
    batch.fail(&ResourceLocator::new("a", prod()), ResourceError::new(code, "no luck"));
    batch
}

fn fail(f: &Fixture, code: Code) {
    f.database.commit(failing(code));
}

/// The names for which errors are sent, and their codes.
fn sent(diff: &Diff) -> Vec<(&str, &'static str)> {
    diff.errors.sent.iter().map(|failing| (&*failing.name, failing.error.code.as_str())).collect()
}

#[test]
fn e01_an_error_answers_those_who_have_nothing_once() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a"), plain("b")]);
    fail(&f, Code::UNAVAILABLE);
    assert_eq!(stream.attachment.unsettled(), Unsettled { names: 1, failing: 1, ..Unsettled::default() });
    let diff = stream.step(CHANGES, false);
    assert_eq!((sent(&diff), diff.removed.clone()), (vec![("a", "UNAVAILABLE")], vec![]));
    fail(&f, Code::UNAVAILABLE);
    assert_eq!(sent(&stream.step(CHANGES, false)), [], "it was sent");
    fail(&f, Code::PERMISSION_DENIED);
    assert_eq!(sent(&stream.step(CHANGES, false)), [("a", "PERMISSION_DENIED")], "it is another one");
    assert_eq!(stream.attachment.unsettled().failing, 0, "and not transient");

    let mut late = f.attach(&[plain("a")]);
    assert_eq!(sent(&late.step(CHANGES, false)), [("a", "PERMISSION_DENIED")]);
    let mut other = f.attach(&[located("a", test())]);
    assert_eq!(sent(&other.step(CHANGES, false)), [], "it is not for these parameters");
}

#[test]
fn e01_content_goes_on_beside_an_error_which_follows_as_a_removal_does() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a")]);
    f.put(Provenance::Named, anyone("a"), "1");
    stream.step(CHANGES, false);
    fail(&f, Code::UNAVAILABLE);
    let head = stream.attachment.head();
    assert!(head.removals > head.additions, "nobody waits for it");
    assert_eq!(sent(&stream.pending(CHANGES, true)), [], "others go first");
    let diff = stream.step(CHANGES, false);
    assert_eq!((sent(&diff), diff.resources.len()), (vec![("a", "UNAVAILABLE")], 0));
    assert_eq!(stream.attachment.unsettled(), Unsettled::default());
}

#[test]
fn e01_a_late_subscriber_gets_the_content_and_then_the_error() {
    let f = Fixture::new();
    let _keeps = f.attach(&[plain("a")]);
    f.put(Provenance::Named, anyone("a"), "1");
    fail(&f, Code::UNAVAILABLE);
    let mut late = f.attach(&[plain("a")]);
    let diff = late.step(CHANGES, false);
    assert_eq!((diff.resources.len(), sent(&diff)), (1, vec![]), "never both in one response");
    assert_eq!(diff.errors.postponed, [plain("a")]);
    let diff = late.step_pending(&diff.errors.postponed);
    assert_eq!((diff.resources.len(), sent(&diff)), (0, vec![("a", "UNAVAILABLE")]));
    let full = f.attach(&[plain("a")]).step(Shape::Everything, false);
    assert_eq!((full.resources.len(), sent(&full)), (1, vec![]));
    assert!(full.errors.postponed.is_empty(), "full state has to repeat the content");
}

#[test]
fn e01_an_error_is_over_when_the_resource_is_sent_again_changed_or_not() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a")]);
    f.put(Provenance::Named, anyone("a"), "1");
    fail(&f, Code::UNAVAILABLE);
    stream.step(CHANGES, false);
    f.put(Provenance::Named, anyone("a"), "1");
    let diff = stream.step(CHANGES, false);
    assert_eq!((diff.resources.len(), sent(&diff)), (1, vec![]));
    let late = f.attach(&[plain("a")]).step(CHANGES, false);
    assert!(late.errors.sent.is_empty() && late.errors.postponed.is_empty());
    f.put(Provenance::Named, anyone("a"), "1");
    assert_eq!(stream.step(CHANGES, false).resources.len(), 0, "nothing was wrong any more");
}

#[test]
fn e01_another_variant_of_the_name_does_not_end_an_error() {
    let f = Fixture::new();
    let _both = f.attach(&[plain("a"), located("a", test())]);
    fail(&f, Code::UNAVAILABLE);
    f.put(Provenance::Named, only("a", "test"), "1");
    assert_eq!(sent(&f.attach(&[plain("a")]).step(CHANGES, false)), [("a", "UNAVAILABLE")]);
    f.put(Provenance::Named, only("a", "prod"), "1");
    assert_eq!(sent(&f.attach(&[plain("a")]).step(CHANGES, false)), []);
}

#[test]
fn e02_not_found_is_told_as_a_removal_too() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a")]);
    f.put(Provenance::Named, anyone("a"), "1");
    stream.step(CHANGES, false);
    let mut batch = failing(Code::NOT_FOUND);
    batch.removals = vec![anyone("a")];
    batch.mark_absent(&ResourceLocator::new("a", prod()), Absence::Known);
    f.database.commit(batch);
    let diff = stream.step(CHANGES, false);
    assert_eq!(
        (sent(&diff), diff.removed.clone()),
        (vec![("a", "NOT_FOUND")], vec![Removed::Name("a".into())])
    );
    let late = f.attach(&[located("a", prod())]).step(CHANGES, false);
    assert_eq!(
        (sent(&late), late.removed.clone()),
        (vec![("a", "NOT_FOUND")], vec![Removed::Locator("a".into())])
    );
}

#[test]
fn e02_full_state_tells_what_is_missing_once() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a"), plain("b")]);
    f.put(Provenance::Named, anyone("b"), "1");
    f.deny("a", prod());
    let diff = stream.step(Shape::Everything, false);
    assert_eq!((diff.resources.len(), diff.removed.clone()), (1, vec![Removed::Name("a".into())]));
    f.put(Provenance::Named, anyone("b"), "2");
    assert_eq!(stream.step(Shape::Everything, false).removed, []);
    f.remove(Provenance::Named, anyone("b"));
    let diff = stream.step(Shape::Everything, false);
    assert_eq!(
        (diff.resources.len(), diff.removed.clone()),
        (0, vec![]),
        "what is gone is absent, which shows it"
    );
}

#[test]
fn a_plain_word_on_absence_ends_an_error() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a")]);
    fail(&f, Code::UNAVAILABLE);
    f.deny("a", prod());
    let diff = stream.step(CHANGES, false);
    assert_eq!((sent(&diff), diff.removed.clone()), (vec![], vec![Removed::Name("a".into())]));
    f.commit(Provenance::Named, vec![variant(anyone("a"), "1")], vec![]);
    assert!(stream.attachment.head().additions > Commit::NONE);
    assert_eq!(stream.step(CHANGES, false).resources.len(), 1);
}
