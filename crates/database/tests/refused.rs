//! What is asked for by those who may not have it: an error, and nothing else, ever.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use support::{Fixture, Stream, aliased, anyone, located, only, plain, prod, stated, variant};
use weir_database::{Diff, Shape, Unsettled};
use weir_types::{
    Absence, Batch, Code, Provenance, RefusalReason, Refusals, ResourceError, ResourceLocator, Selector,
    SubscriptionChange,
};

const CHANGES: Shape = Shape::Changes;
const GLOB: &str = "xdstp://x/t/d/*";

/// What of `selectors` is not for the client: all of `names`.
fn denied(selectors: &[Selector], names: &[&str]) -> Refusals {
    let denied = selectors.iter().filter(|selector| names.contains(&&*selector.locator.name));
    denied.map(|selector| (selector.clone(), RefusalReason::Denied)).collect()
}

/// A stream that is subscribed to `add`, of which `names` are not for it.
fn attach_denied(f: &Fixture, add: &[Selector], names: &[&str]) -> Stream {
    let refused = denied(add, names);
    f.attach_with(SubscriptionChange { refused: &refused, ..SubscriptionChange::adding(add) })
}

fn sent(diff: &Diff) -> Vec<(&str, &'static str)> {
    diff.errors.sent.iter().map(|failing| (&*failing.name, failing.error.code.as_str())).collect()
}

#[test]
fn e01_a_denied_name_is_an_error_and_nothing_that_comes_reaches_it() {
    let f = Fixture::new();
    let mut stream = attach_denied(&f, &[plain("a"), plain("b")], &["a"]);
    assert_eq!(stream.attachment.unsettled(), Unsettled { names: 1, ..Unsettled::default() });
    assert_eq!(sent(&stream.step(CHANGES, false)), [("a", "PERMISSION_DENIED")]);
    let _allowed = f.attach(&[plain("a")]);
    for change in 0..4 {
        match change {
            0 => f.put(Provenance::Named, anyone("a"), "secret"),
            1 => f.commit(Provenance::Named, vec![variant(only("a", "prod"), "secret")], vec![anyone("a")]),
            2 => f.commit(Provenance::Wildcard, vec![aliased(anyone("x"), "secret", &["a"])], vec![]),
            _ => f.put(Provenance::Local, anyone("a"), "secret"),
        }
        let diff = stream.step(CHANGES, false);
        assert_eq!((stated(&diff), sent(&diff)), (Default::default(), vec![]), "change {change}");
        let mut late = attach_denied(&f, &[plain("a"), located("a", prod())], &["a"]);
        let diff = late.step(Shape::Everything, false);
        assert_eq!(diff.resources.len(), 0, "change {change}");
        assert_eq!(
            sent(&diff),
            [("a", "PERMISSION_DENIED"), ("a", "PERMISSION_DENIED")],
            "one for each form"
        );
    }
}

#[test]
fn e01_what_upstream_says_is_wrong_with_a_denied_name_stays_unknown() {
    let f = Fixture::new();
    let mut stream = attach_denied(&f, &[plain("a")], &["a"]);
    stream.step(CHANGES, false);
    let locator = ResourceLocator::new("a", prod());
    let mut batch = Batch::new(support::cds(), Provenance::Named);
    batch.mark_absent(&locator, Absence::Known);
    batch.fail(&locator, ResourceError::new(Code::NOT_FOUND, "no such thing"));
    f.database.commit(batch);
    assert_eq!(sent(&stream.step(CHANGES, false)), []);
    assert_eq!(
        sent(&attach_denied(&f, &[plain("a")], &["a"]).step(CHANGES, false)),
        [("a", "PERMISSION_DENIED")]
    );
}

#[test]
fn upstream_is_never_asked_for_what_is_refused() {
    let mut f = Fixture::new();
    let stream = attach_denied(&f, &[plain("a"), plain(GLOB)], &["a", GLOB]);
    assert_eq!(f.database.take_demand(), []);
    drop(stream);
    f.idle();
    assert_eq!(f.database.take_demand(), []);
    assert_eq!(f.database.statistics().selections, 0, "nothing is left of it");
}

#[test]
fn u12_what_is_beyond_a_limit_is_an_error_that_says_nothing_of_the_resource() {
    let f = Fixture::new();
    let selectors = [plain("a"), plain("b")];
    let refused: Refusals = [(plain("a"), RefusalReason::OverLimit("why".into()))].into();
    let change = SubscriptionChange { refused: &refused, ..SubscriptionChange::adding(&selectors) };
    let mut stream = f.attach_with(change);
    let unsettled = stream.attachment.unsettled();
    assert_eq!((unsettled.names, unsettled.failing), (1, 1), "who may hold it waits in full state");
    let diff = stream.step(CHANGES, false);
    assert_eq!((sent(&diff), &*diff.removed), (vec![("a", "RESOURCE_EXHAUSTED")], &[][..]));
    assert_eq!(&*diff.errors.sent[0].error.message, "why");
    f.put(Provenance::Local, anyone("a"), "1");
    assert_eq!(sent(&stream.step(CHANGES, false)), []);
    f.database.take_demand();
    stream.attachment.retry(&[plain("a")]).expect("nothing is limited");
    assert_eq!(f.database.take_demand().len(), 1, "now upstream is asked for it");
    assert_eq!(stream.attachment.unsettled().failing, 0);
    assert_eq!(stream.attachment.subscription().refused().len(), 0);
}

#[test]
fn a_locator_may_be_refused_in_one_form_and_given_in_the_other() {
    let f = Fixture::new();
    f.put(Provenance::Local, anyone("a"), "1");
    let all = [plain("a"), located("a", prod())];
    let refused = denied(&all[1..], &["a"]);
    let mut stream =
        f.attach_with(SubscriptionChange { refused: &refused, ..SubscriptionChange::adding(&all) });
    let diff = stream.step(Shape::Everything, false);
    assert_eq!((diff.resources.len(), sent(&diff)), (1, vec![("a", "PERMISSION_DENIED")]));
    f.put(Provenance::Local, anyone("a"), "2");
    let diff = stream.step(CHANGES, false);
    assert_eq!((diff.resources.len(), sent(&diff)), (1, vec![]));
    stream.change(&[], &all[..1]);
    f.put(Provenance::Local, anyone("a"), "3");
    assert_eq!(stream.step(CHANGES, false).resources.len(), 0, "the other goes on to be refused");
}
