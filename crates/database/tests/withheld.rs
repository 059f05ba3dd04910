//! What is asked for by those who may not have it: an error, and nothing else, ever.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use support::{Fixture, aliased, anyone, located, only, plain, prod, stated, variant};
use weir_database::{Diff, Shape, Unsettled};
use weir_types::{Absence, Batch, Code, Provenance, ResourceError, ResourceLocator, Selector};

const CHANGES: Shape = Shape::Changes;

fn withheld(name: &str) -> Selector {
    Selector::plain(name, prod().withheld())
}

fn sent(diff: &Diff) -> Vec<(&str, &'static str)> {
    diff.errors.sent.iter().map(|failing| (&*failing.name, failing.error.code.as_str())).collect()
}

#[test]
fn e01_a_withheld_name_is_an_error_and_nothing_that_comes_reaches_it() {
    let f = Fixture::new();
    let mut stream = f.attach(&[withheld("a"), plain("b")]);
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
        let mut late = f.attach(&[withheld("a"), located("a", prod().withheld())]);
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
fn e01_what_upstream_says_is_wrong_with_a_withheld_name_stays_unknown() {
    let f = Fixture::new();
    let mut stream = f.attach(&[withheld("a")]);
    stream.step(CHANGES, false);
    let locator = ResourceLocator::new("a", prod());
    let mut batch = Batch::new(support::cds(), Provenance::Named);
    batch.mark_absent(&locator, Absence::Known);
    batch.fail(&locator, ResourceError::new(Code::NOT_FOUND, "no such thing"));
    f.database.commit(batch);
    assert_eq!(sent(&stream.step(CHANGES, false)), []);
    assert_eq!(sent(&f.attach(&[withheld("a")]).step(CHANGES, false)), [("a", "PERMISSION_DENIED")]);
}

#[test]
fn upstream_is_never_asked_for_what_is_withheld() {
    let mut f = Fixture::new();
    let stream = f.attach(&[withheld("a"), withheld("xdstp://x/t/d/*")]);
    assert_eq!(f.database.take_demand(), []);
    drop(stream);
    f.idle();
    assert_eq!(f.database.take_demand(), []);
    assert_eq!(f.database.statistics().selections, 0, "nothing is left of it");
}

#[test]
fn u12_what_is_beyond_a_limit_is_an_error_that_says_nothing_of_the_resource() {
    let f = Fixture::new();
    let beyond = |name: &str, why: &str| Selector::plain(name, prod().exhausted(why));
    let mut stream = f.attach(&[beyond("a", "why"), plain("b")]);
    let unsettled = stream.attachment.unsettled();
    assert_eq!((unsettled.names, unsettled.failing), (1, 1), "who may hold it waits in full state");
    let diff = stream.step(CHANGES, false);
    assert_eq!((sent(&diff), &*diff.removed), (vec![("a", "RESOURCE_EXHAUSTED")], &[][..]));
    assert_eq!(&*diff.errors.sent[0].error.message, "why");
    f.put(Provenance::Local, anyone("a"), "1");
    assert_eq!(sent(&stream.step(CHANGES, false)), []);
    stream.change(&[plain("a")], &[beyond("a", "why")]);
    let wanted = f.database.take_demand();
    assert!(!format!("{wanted:?}").contains("xhausted"), "{wanted:?}");
    assert_eq!(stream.attachment.unsettled().failing, 0);
}
