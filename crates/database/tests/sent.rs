//! What a stream is sent, seen from outside: questions to an attachment after commits.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

use std::sync::Arc;

use bytes::Bytes;
use weir_database::{
    Database, Diff, Query, RemovalDelivery, Removed, Settings, Shape, ViewHandle, ViewListener,
};
use weir_types::constraints::Expr;
use weir_types::{
    Absence, Answered, Batch, Code, Constraints, Content, Cursor, DynamicParameters, KnownVersions,
    Provenance, ResourceError, ResourceLocator, Selector, SubscriptionChange, TypeUrl, Variant, VariantKey,
    WILDCARD,
};

struct Nobody;

impl ViewListener for Nobody {
    fn wake(&self) {}
}

fn eds() -> TypeUrl {
    TypeUrl::from_short_name("eds").expect("a known type")
}

fn attached(database: &Database, selector: Selector) -> ViewHandle {
    database
        .attach(&eds(), SubscriptionChange::adding(&[selector]), Arc::new(Nobody))
        .expect("nothing is limited")
}

fn declare_absent(database: &Database, name: &str, absence: Absence) {
    let mut batch = Batch::new(eds(), Provenance::Named);
    batch.mark_absent(&ResourceLocator::new(name, DynamicParameters::empty()), absence);
    database.commit(batch);
}

/// What is sent of all that was not sent yet.
fn sent(stream: &mut ViewHandle, known: Option<&KnownVersions>) -> Diff {
    let query = Query { known, marks_missing: true, ..Query::new(stream.cursor(), Shape::Changes) };
    let diff = stream.diff(&query);
    stream.advance(Cursor { removals: diff.to, additions: diff.to });
    diff
}

#[test]
fn i06_what_a_client_holds_is_disputed_while_only_silence_speaks_against_it() {
    let database = Database::new(Settings::default());
    let held: KnownVersions = [("held", "1")].into_iter().collect();
    let mut stream = attached(&database, Selector::plain("held", DynamicParameters::empty()));
    declare_absent(&database, "held", Absence::TimedOut);
    let silence = sent(&mut stream, Some(&held));
    assert!(silence.disputed && silence.removed.is_empty());
    declare_absent(&database, "held", Absence::Known);
    let proof = sent(&mut stream, Some(&held));
    assert!(!proof.disputed);
    assert_eq!(proof.removed, [Removed::Name("held".into())]);
}

#[test]
fn w02_a_wildcard_by_locator_is_told_once_that_there_is_nothing() {
    let database = Database::new(Settings::default());
    let dev: DynamicParameters = [("env", "dev")].into_iter().collect();
    let mut stream = attached(&database, Selector::located(WILDCARD, dev));
    assert_eq!(sent(&mut stream, None).removed, []);
    let mut batch = Batch::new(eds(), Provenance::Wildcard);
    batch.answered.push(Answered::all());
    database.commit(batch);
    assert_eq!(sent(&mut stream, None).removed, [Removed::Locator(WILDCARD.into())]);
    assert_eq!(sent(&mut stream, None).removed, []);
}

#[test]
fn o02_what_is_held_back_is_shown_as_it_was_last() {
    let database = Database::new(Settings::default());
    let mut stream = attached(&database, Selector::plain("a", DynamicParameters::empty()));
    let key = VariantKey::new("a", Constraints::unconstrained());
    let change = |body: Option<&'static str>| {
        let mut batch = Batch::new(eds(), Provenance::Local);
        match body {
            Some(body) => {
                let content =
                    Content { body: Some(Bytes::from_static(body.as_bytes())), ..Content::default() };
                batch.upserts.push(Variant::new(key.clone(), content));
            }
            None => batch.removals.push(key.clone()),
        }
        database.commit(batch);
    };
    let held_back = |stream: &mut ViewHandle| {
        let after = stream.cursor();
        let query = Query { removals: RemovalDelivery::Deferred, ..Query::new(after, Shape::Everything) };
        let diff = stream.diff(&query);
        stream.advance(Cursor { additions: diff.to, ..after });
        let bodies = diff.resources.iter().map(|(variant, _)| variant.content().body.clone());
        bodies.collect::<Vec<_>>()
    };
    let shown = |body: &'static str| vec![Some(Bytes::from_static(body.as_bytes()))];
    change(Some("first"));
    assert_eq!(held_back(&mut stream), shown("first"));
    change(None);
    assert_eq!(held_back(&mut stream), shown("first"));
    change(Some("second"));
    assert_eq!(held_back(&mut stream), shown("second"));
    change(None);
    assert_eq!(held_back(&mut stream), shown("second"), "not what it was in an earlier life");
}

#[test]
fn o02_what_is_held_back_is_what_took_the_place_of_the_others() {
    let database = Database::new(Settings::default());
    let dev: DynamicParameters = [("env", "dev")].into_iter().collect();
    let mut stream = attached(&database, Selector::located("a", dev));
    let keys = ["dev", "any"].map(|which| {
        let expr = if which == "dev" { Expr::value("env", "dev") } else { Expr::exists("env") };
        VariantKey::new("a", Constraints::new(expr))
    });
    let mut held_back = |gone: Option<&VariantKey>, new: Option<&VariantKey>| {
        let mut batch = Batch::new(eds(), Provenance::Local);
        batch.removals.extend(gone.cloned());
        let content = Content { body: Some(Bytes::from_static(b"1")), ..Content::default() };
        batch.upserts.extend(new.map(|key| Variant::new(key.clone(), content.clone())));
        database.commit(batch);
        let after = stream.cursor();
        let diff = stream
            .diff(&Query { removals: RemovalDelivery::Deferred, ..Query::new(after, Shape::Everything) });
        stream.advance(Cursor { additions: diff.to, ..after });
        diff.resources.iter().map(|(variant, _)| variant.key().clone()).collect::<Vec<_>>()
    };
    assert_eq!(held_back(None, Some(&keys[0])), [keys[0].clone()]);
    assert_eq!(held_back(Some(&keys[0]), Some(&keys[1])), [keys[1].clone()]);
    assert_eq!(held_back(Some(&keys[1]), None), [keys[1].clone()], "the other one went when this one came");
}

#[test]
fn i14_a_virtual_host_that_does_not_exist_is_a_resource_without_a_body() {
    let vhds = TypeUrl::from_short_name("vhds").expect("a known type");
    let database = Database::new(Settings::default());
    let nothing = DynamicParameters::empty();
    let attach = |selector| {
        database
            .attach(&vhds, SubscriptionChange::adding(&[selector]), Arc::new(Nobody))
            .expect("nothing is limited")
    };
    let mut plain = attach(Selector::plain("r/x", nothing.clone()));
    let mut located = attach(Selector::located("r/x", nothing.clone()));
    for absence in [Absence::TimedOut, Absence::Known] {
        let mut batch = Batch::new(vhds.clone(), Provenance::Named);
        batch.mark_absent(&ResourceLocator::new("r/x", nothing.clone()), absence);
        database.commit(batch);
    }
    let missing = Variant::missing(&"r/x".into());
    let diff = sent(&mut plain, None);
    assert_eq!(diff.removed, []);
    let contents: Vec<_> = diff.resources.iter().map(|(variant, _)| variant.content().clone()).collect();
    assert_eq!(contents, [missing.content().clone()]);
    assert_eq!((missing.content().body.as_ref(), &*missing.content().aliases), (None, &["r/x".into()][..]));
    assert_eq!(sent(&mut located, None).removed, [Removed::Locator("r/x".into())]);

    // A client that states to hold the virtual host is sent its removal; one that states the answer, nothing.
    let version = missing.version(weir_types::Form::Plain).to_string();
    for (stated, removed) in [("1", vec![Removed::Name("r/x".into())]), (&*version, vec![])] {
        let known: KnownVersions = [("r/x", stated)].into_iter().collect();
        let diff = sent(&mut attach(Selector::plain("r/x", nothing.clone())), Some(&known));
        assert_eq!((diff.resources.len(), diff.removed), (0, removed), "{stated}");
    }
}

#[test]
fn i14_an_error_that_lasts_is_also_a_resource_without_a_body() {
    let vhds = TypeUrl::from_short_name("vhds").expect("a known type");
    let locator = ResourceLocator::new("r/x", DynamicParameters::empty());
    for (code, answers) in [(Code::PERMISSION_DENIED, 1), (Code::UNAVAILABLE, 0)] {
        let database = Database::new(Settings::default());
        let selector = Selector::plain("r/x", DynamicParameters::empty());
        let mut stream = database
            .attach(&vhds, SubscriptionChange::adding(&[selector]), Arc::new(Nobody))
            .expect("nothing is limited");
        let mut batch = Batch::new(vhds.clone(), Provenance::Named);
        batch.fail(&locator, ResourceError::new(code, "why"));
        database.commit(batch);
        let diff = sent(&mut stream, None);
        assert_eq!((diff.resources.len(), diff.errors.sent.len()), (answers, 1), "{code}");
    }
}
