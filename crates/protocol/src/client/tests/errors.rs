//! What the server states of resources that it cannot deliver: for whom it is, and what it does to what is held.

use super::*;

fn reported(text: &str, code: Code) -> Reported {
    Reported { key: key(text), code, message: "no luck".into() }
}

impl Fixture {
    fn fail(&mut self, type_url: &TypeUrl, errors: Vec<Reported>) -> Applied {
        self.respond_in_full(type_url, vec![], &[], errors)
    }

    fn dropping(mut self, codes: &[Code]) -> Self {
        self.stream.settings.drop_on_errors = codes.into();
        self
    }
}

/// The locators of a native stream that get an error, and its code.
fn failed(batch: &Batch) -> Vec<(ResourceLocator, &'static str)> {
    let failed = batch.errors.iter().map(|failed| {
        let Scope::Exactly(parameters) = &failed.scope else { panic!("{failed:?}") };
        assert_eq!(&*failed.error.message, "no luck");
        (ResourceLocator::new(failed.name.clone(), parameters.clone()), failed.error.code.as_str())
    });
    let mut failed: Vec<_> = failed.collect();
    failed.sort_unstable();
    failed
}

const DIALECTS: [Dialect; 2] = [Dialect::Sotw, Dialect::Delta];

#[test]
fn e01_an_error_is_for_the_locators_that_its_constraints_match() {
    for dialect in DIALECTS {
        let mut f = Fixture::native(dialect);
        f.subscribe(&eds(), &["a{env=prod}", "a{env=test}", "b"]);
        f.connect();
        let applied = f.fail(&eds(), vec![reported("a[env=prod]", Code::UNAVAILABLE)]);
        assert_eq!(failed(&applied.batch), [(locator("a{env=prod}"), "UNAVAILABLE")]);
        assert_eq!(applied.batch.errors[0].error.constraints, key("a[env=prod]").constraints);
        assert_eq!(applied.errors, [reported("a[env=prod]", Code::UNAVAILABLE)], "for the log");
        assert!(
            f.time_out()[0].absent.iter().all(|absent| absent.scope != Scope::Exactly(params("env=prod")))
        );
        let ack = f.sent().pop().expect("it is acknowledged");
        assert_eq!(ack.nack, None);
    }
}

#[test]
fn e01_an_error_for_a_name_is_for_those_that_nothing_matches_or_else_for_all() {
    let wanted = ["a{env=prod}", "a{env=test}"];
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &wanted, vec![variant("a[env=prod]", "1")]);
    let batch = f.fail(&eds(), vec![reported("a", Code::UNAVAILABLE)]).batch;
    assert_eq!(failed(&batch), [(locator("a{env=test}"), "UNAVAILABLE")]);
    f.respond(&eds(), vec![variant("a[env=test]", "1")], &[]);
    let batch = f.fail(&eds(), vec![reported("a", Code::UNAVAILABLE)]).batch;
    assert_eq!(failed(&batch).len(), 2);
}

#[test]
fn e01_transient_errors_drop_nothing_whatever_is_configured() {
    let codes = [Code::UNAVAILABLE, Code(13), Code(2), Code(16)];
    for dialect in DIALECTS {
        for type_url in [cds(), eds()] {
            for code in codes {
                let mut f = Fixture::native(dialect).dropping(&codes);
                f = f.with(&type_url, &["a"], vec![variant("a", "1")]);
                let batch = f.fail(&type_url, vec![reported("a", code)]).batch;
                assert_eq!((removals(&batch), batch.absent.len()), (vec![], 0), "{dialect} {code}");
                assert_eq!(failed(&batch), [(locator("a"), code.as_str())]);
            }
        }
    }
}

#[test]
fn e01_data_errors_drop_what_is_held_if_that_is_configured() {
    for dialect in DIALECTS {
        for code in [Code::NOT_FOUND, Code::PERMISSION_DENIED] {
            for drops in [false, true] {
                let mut f = Fixture::native(dialect);
                f.stream.settings.drop_on_errors = [code].into_iter().filter(|_| drops).collect();
                f = f.with(&cds(), &["a"], vec![variant("a", "1")]);
                let batch = f.fail(&cds(), vec![reported("a", code)]).batch;
                let gone = if drops { keys(&["a"]) } else { vec![] };
                assert_eq!((removals(&batch), batch.absent.len()), (gone, usize::from(drops)), "{dialect}");
                assert_eq!(failed(&batch), [(locator("a"), code.as_str())]);
            }
        }
    }
}

#[test]
fn e01_a_resource_that_comes_with_an_error_counts() {
    let mut f = Fixture::native(Dialect::Delta);
    f.subscribe(&eds(), &["a"]);
    f.connect();
    let errors = vec![reported("a", Code::UNAVAILABLE)];
    let batch = f.respond_in_full(&eds(), vec![Ok(variant("a", "1"))], &[], errors).batch;
    assert_eq!((upserts(&batch), failed(&batch)), (keys(&["a"]), vec![]));
}

#[test]
fn e01_errors_about_what_nobody_wants_or_about_wildcards_are_for_nobody() {
    let mut f = Fixture::native(Dialect::Delta).with(&cds(), &["*"], vec![variant("a", "1")]);
    let errors = ["*", "a", "b"].map(|text| reported(text, Code::UNAVAILABLE)).to_vec();
    assert_eq!(failed(&f.fail(&cds(), errors).batch), []);
    assert_eq!(f.connect()[0].initial_versions, [("a".into(), "1".into())]);
}

#[test]
fn e01_who_comes_late_to_a_projected_locator_is_told_too() {
    let mut f = Fixture::named(Dialect::Delta).with(&eds(), &["a{env=prod}"], vec![]);
    let scope = f.fail(&eds(), vec![reported("a", Code::PERMISSION_DENIED)]).batch.errors[0].scope.clone();
    assert_eq!(scope, prod_scope());
    let recalled = f.stream.recall(&eds(), &locator("a{env=prod}")).expect("it was answered");
    assert_eq!((recalled.errors[0].error.code, &recalled.errors[0].scope), (Code::PERMISSION_DENIED, &scope));
    f.respond(&eds(), vec![variant("a", "1")], &[]);
    assert!(f.stream.recall(&eds(), &locator("a{env=prod}")).is_none());
}

#[test]
fn e01_what_had_an_error_is_to_be_sent_again_on_the_next_stream() {
    for (dialect, stated, cleared) in [(Dialect::Sotw, "", "v3"), (Dialect::Delta, "", "")] {
        let mut f = Fixture::native(dialect).with(&eds(), &["a"], vec![variant("a", "1")]);
        f.fail(&eds(), vec![reported("a", Code::UNAVAILABLE)]);
        let again = f.connect().remove(0);
        assert_eq!(&*again.version, stated);
        let versions = |request: &Request| request.initial_versions.iter().any(|(_, v)| &**v == "1");
        assert!(!versions(&again), "{again:?}");
        f.respond(&eds(), vec![variant("a", "1")], &[]);
        let again = f.connect().remove(0);
        assert_eq!((&*again.version, versions(&again)), (cleared, dialect == Dialect::Delta));
    }
}

#[test]
fn u14_what_nothing_is_known_of_cannot_be_had_for_the_moment() {
    let mut f = Fixture::named(Dialect::Delta);
    f.subscribe(&eds(), &["a", "b"]);
    f.subscribe(&cds(), &["*"]);
    let failed = |batches: &[Batch]| {
        let errors = batches.iter().flat_map(|batch| &batch.errors);
        errors.map(|failed| (failed.name.to_string(), failed.error.code)).collect::<Vec<_>>()
    };
    let mut all = failed(&f.stream.unavailable());
    all.sort_unstable();
    let unavailable = |name: &str| (name.to_owned(), Code::UNAVAILABLE);
    assert_eq!(all, ["*", "a", "b"].map(unavailable));
    f.connect();
    f.respond(&eds(), vec![variant("a", "1")], &[]);
    assert_eq!(failed(&f.stream.available()), ["*", "b"].map(|name| (name.to_owned(), Code::OK)));
    f.stream.disconnected();
    let batches = f.stream.unavailable();
    assert_eq!(failed(&batches), ["*", "b"].map(unavailable), "what is held is served");
    let errors: Vec<_> = batches.iter().flat_map(|batch| &batch.errors).collect();
    assert!(errors.iter().all(|failed| failed.error.is_unavailable()));
    assert_eq!(errors[0].error.constraints, key("x[env=prod]").constraints);
}
