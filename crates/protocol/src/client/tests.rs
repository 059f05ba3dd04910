//! Conversations, as tables of what is stated and what it comes to.

mod collections;
mod convergence;
mod delta;
mod emptied;
mod errors;
mod holding;
mod in_flight_removals;
mod made_up;
mod memory;
mod rejected;
mod renewal;
mod shrink;
mod siblings;
mod sotw;
mod ttl;

use bytes::Bytes;
use weir_types::{Absence, Batch, Content, Provenance, ResourceLocator, Variant};

use super::*;

const TIMEOUT: Duration = Duration::from_secs(15);

fn cds() -> TypeUrl {
    TypeUrl::from_short_name("cds").unwrap()
}

fn eds() -> TypeUrl {
    TypeUrl::from_short_name("eds").unwrap()
}

fn params(text: &str) -> DynamicParameters {
    text.split(',').filter_map(|pair| pair.split_once('=')).collect()
}

/// `name` or `name{key=value,…}`.
fn locator(text: &str) -> ResourceLocator {
    let (name, parameters) = text.split_once('{').unwrap_or((text, ""));
    ResourceLocator::new(name, params(parameters.trim_end_matches('}')))
}

/// `name` or `name[key=value,…]`, where `!key` is absence.
fn key(text: &str) -> VariantKey {
    let (name, constraints) = text.split_once('[').unwrap_or((text, ""));
    let parts = constraints.trim_end_matches(']').split(',').filter(|part| !part.is_empty());
    let all = parts.map(|part| match part.split_once('=') {
        Some((key, value)) => Expr::value(key, value),
        None => Expr::not(Expr::exists(part.trim_start_matches('!'))),
    });
    VariantKey::new(name, Constraints::new(Expr::All(all.collect())))
}

fn content(version: &str) -> Content {
    let body = Some(Bytes::from(format!("body {version}")));
    Content { body, upstream_version: version.into(), ..Content::default() }
}

fn variant(name: &str, version: &str) -> Variant {
    Variant::new(key(name), content(version))
}

/// A stream with a clock, and a count of the responses it got.
struct Fixture {
    stream: UpstreamSession,
    now: Instant,
    responses: usize,
}

impl Fixture {
    fn new(dialect: Dialect, naming: Naming) -> Self {
        let drop_on_errors = Arc::from([Code::NOT_FOUND]);
        let settings = Settings {
            dialect,
            naming,
            does_not_exist: TIMEOUT,
            polled: false,
            drop_on_errors,
            shrink_guard: None,
            endpoint_guard: None,
        };
        Self { stream: UpstreamSession::new(settings), now: Instant::now(), responses: 0 }
    }

    fn native(dialect: Dialect) -> Self {
        Self::new(dialect, Naming::Locators)
    }

    /// By names, for `env=prod`.
    fn named(dialect: Dialect) -> Self {
        Self::new(dialect, Naming::names(Arc::from([Arc::from("env")]), &params("env=prod,zone=a")))
    }

    fn subscribe(&mut self, type_url: &TypeUrl, locators: &[&str]) {
        locators.iter().for_each(|text| self.stream.subscribe(type_url, locator(text)));
    }

    fn unsubscribe(&mut self, type_url: &TypeUrl, locators: &[&str]) {
        locators.iter().for_each(|text| self.stream.unsubscribe(type_url, &locator(text)));
    }

    /// The requests that are due.
    fn sent(&mut self) -> Vec<Request> {
        std::iter::from_fn(|| self.stream.poll_transmit(self.now)).collect()
    }

    /// The one request that is due.
    fn request(&mut self) -> Request {
        let mut sent = self.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        sent.remove(0)
    }

    fn connect(&mut self) -> Vec<Request> {
        self.stream.connected();
        self.sent()
    }

    fn respond(&mut self, type_url: &TypeUrl, variants: Vec<Variant>, removed: &[&str]) -> Applied {
        let resources = variants.into_iter().map(Ok).collect();
        self.respond_with(type_url, resources, removed)
    }

    fn respond_with(
        &mut self,
        type_url: &TypeUrl,
        resources: Vec<Result<Variant, Rejected>>,
        removed: &[&str],
    ) -> Applied {
        self.respond_in_full(type_url, resources, removed, Vec::new())
    }

    fn respond_in_full(
        &mut self,
        type_url: &TypeUrl,
        resources: Vec<Result<Variant, Rejected>>,
        removed: &[&str],
        errors: Vec<Reported>,
    ) -> Applied {
        self.responses += 1;
        let response = Response {
            type_url: type_url.clone(),
            version: format!("v{}", self.responses).into(),
            nonce: format!("n{}", self.responses).into(),
            resources,
            removed: removed.iter().map(|text| key(text)).collect(),
            errors,
        };
        self.stream.handle_response(response, self.now)
    }

    /// Subscribes, connects, and gets the first answer.
    fn with(mut self, type_url: &TypeUrl, locators: &[&str], variants: Vec<Variant>) -> Self {
        self.subscribe(type_url, locators);
        self.connect();
        self.respond(type_url, variants, &[]);
        self.sent();
        self.completes()
    }

    /// As much time passes as shows that collections are complete.
    fn completes(mut self) -> Self {
        self.now += super::collections::QUIET;
        self.stream.handle_timeout(self.now);
        self
    }

    fn time_out(&mut self) -> Vec<Batch> {
        self.now += TIMEOUT;
        self.stream.handle_timeout(self.now)
    }
}

fn rejected(name: Option<&str>, message: &str) -> Result<Variant, Rejected> {
    Err(Rejected { name: name.map(Into::into), message: message.to_owned() })
}

fn upserts(batch: &Batch) -> Vec<VariantKey> {
    let mut keys: Vec<_> = batch.upserts.iter().map(|variant| variant.key().clone()).collect();
    keys.sort_unstable();
    keys
}

fn removals(batch: &Batch) -> Vec<VariantKey> {
    let mut keys = batch.removals.clone();
    keys.sort_unstable();
    keys
}

fn keys(texts: &[&str]) -> Vec<VariantKey> {
    let mut keys: Vec<_> = texts.iter().map(|text| key(text)).collect();
    keys.sort_unstable();
    keys
}

fn locators(texts: &[&str]) -> Vec<ResourceLocator> {
    texts.iter().map(|text| locator(text)).collect()
}

/// The locators of a native stream that are stated to be absent.
fn absent(batch: &Batch, absence: Absence) -> Vec<ResourceLocator> {
    let absent = batch.absent.iter().map(|absent| {
        let Scope::Exactly(parameters) = &absent.scope else { panic!("{absent:?}") };
        assert_eq!(absent.absence, absence);
        ResourceLocator::new(absent.name.clone(), parameters.clone())
    });
    let mut absent: Vec<_> = absent.collect();
    absent.sort_unstable();
    absent
}

fn answered(text: &str) -> Answered {
    Naming::Locators.answered(&locator(text), Absence::Known)
}

/// There may be more.
fn partly(text: &str) -> Answered {
    Naming::Locators.answered(&locator(text), Absence::TimedOut)
}

fn prod_scope() -> Scope {
    Scope::Projected { keys: Arc::from([Arc::from("env")]), parameters: params("env=prod") }
}

#[test]
fn nothing_is_sent_while_away_and_the_node_once() {
    let mut f = Fixture::native(Dialect::Delta);
    f.subscribe(&cds(), &["a"]);
    f.subscribe(&eds(), &["a"]);
    assert_eq!(f.sent(), []);
    let first: Vec<_> = f.connect().into_iter().map(|r| (r.type_url, r.first)).collect();
    assert_eq!(first, [(cds(), true), (eds(), false)]);
    f.stream.disconnected();
    assert_eq!(f.sent(), []);
    assert_eq!(f.connect().len(), 2, "all is asked for again");
}

#[test]
fn u07_responses_are_acknowledged_in_order() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect).with(&cds(), &["a"], vec![]);
        f.respond(&cds(), vec![variant("a", "1")], &[]);
        f.respond_with(&cds(), vec![rejected(Some("a"), "a: bad")], &[]);
        let acks: Vec<_> = f.sent().into_iter().map(|r| (r.nonce.to_string(), r.nack)).collect();
        assert_eq!(acks, [("n2".into(), None), ("n3".into(), Some("a: bad".into()))], "{dialect}");
    }
}

#[test]
fn e03_good_resources_are_applied_beside_bad_ones() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect).with(
            &cds(),
            &["a", "b", "c"],
            vec![variant("a", "1"), variant("b", "1"), variant("c", "1")],
        );
        let resources = vec![
            rejected(Some("a"), "a: malformed"),
            Ok(variant("b", "2")),
            Ok(variant("c", "2")),
            Ok(variant("c", "3")),
            Ok(variant("b[env=prod]", "1")),
        ];
        let applied = f.respond_with(&cds(), resources, &[]);
        assert_eq!(upserts(&applied.batch), keys(&["b"]), "{dialect}: nobody asked for b[env=prod]");
        assert_eq!(removals(&applied.batch), [], "{dialect}: the last good content stays");
        assert_eq!(applied.batch.absent, []);
        let request = f.request();
        assert_eq!(request.nack.as_deref(), Some("a: malformed; c: sent 2 times in one response"));
        assert_eq!(&*request.version, if dialect == Dialect::Sotw { "v1" } else { "" });
    }
}

#[test]
fn p06_one_name_may_come_with_different_constraints_but_not_with_equal_ones() {
    let mut f = Fixture::native(Dialect::Delta).with(&cds(), &["a{env=prod}", "a{env=test}"], vec![]);
    let both = vec![variant("a[env=prod]", "1"), variant("a[env=test]", "1")];
    assert_eq!(f.respond(&cds(), both, &[]).rejected, []);
    let twice = vec![variant("a[env=prod]", "2"), variant("a[env=prod]", "3")];
    let applied = f.respond(&cds(), twice, &[]);
    assert!(applied.batch.is_empty());
    assert_eq!(
        applied.rejected[0].message,
        "a: sent 2 times in one response with equal constraints (env=prod)"
    );
}

#[test]
fn resources_that_nobody_asked_for_are_ignored() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect).with(&cds(), &["a{env=prod}"], vec![]);
        let applied = f.respond(&cds(), vec![variant("b", "1"), variant("a[env=test]", "1")], &[]);
        assert!(applied.batch.is_empty(), "{dialect}");
        assert!(f.respond(&eds(), vec![variant("a", "1")], &[]).batch.is_empty());
        assert_eq!(f.sent().len(), 1, "a type that was never asked for is not acknowledged");
    }
}

#[test]
fn i14_i15_a_resource_without_body_makes_its_aliases_absent_until_another_resource_lists_them() {
    let vhds = TypeUrl::from_short_name("vhds").unwrap();
    let of =
        |name: &str, version: &str| Content { aliases: Arc::from([Name::from(name)]), ..content(version) };
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::named(dialect).with(&vhds, &["r/x"], vec![]);
        let marker = Variant::new(key("r/none"), Content { body: None, ..of("r/x", "") });
        let batch = f.respond(&vhds, vec![marker], &[]).batch;
        assert_eq!((upserts(&batch), removals(&batch)), (vec![], vec![]), "{dialect}");
        let absent: Vec<_> = batch.absent.iter().map(|absent| (&*absent.name, absent.absence)).collect();
        assert_eq!(absent, [("r/x", Absence::Known)]);
        assert_eq!(f.time_out().len(), 0, "the alias is answered");
        let batch = f.respond(&vhds, vec![Variant::new(key("r/vh"), of("r/x", "1"))], &[]).batch;
        assert_eq!(upserts(&batch), keys(&["r/vh[env=prod]"]));
        assert!(!f.connect()[0].initial_versions.iter().any(|(name, _)| &**name == "r/none"));
    }
}

#[test]
fn the_timeout_answers_only_for_what_nobody_answered() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let mut f = Fixture::native(dialect);
        f.subscribe(&eds(), &["a", "b"]);
        assert_eq!((f.stream.poll_timeout(), f.time_out().len()), (None, 0), "{dialect}: not while away");
        f.connect();
        let deadline = f.now + TIMEOUT;
        assert_eq!(f.stream.poll_timeout(), Some(deadline));
        f.respond(&eds(), vec![variant("a", "1")], &[]);
        let batches = f.time_out();
        assert_eq!(absent(&batches[0], Absence::TimedOut), locators(&["b"]));
        assert_eq!(f.stream.poll_timeout(), None);

        f.subscribe(&eds(), &["c"]);
        f.sent();
        f.stream.disconnected();
        assert_eq!(f.time_out().len(), 0, "{dialect}: the upstream is away");
        f.connect();
        assert_eq!(absent(&f.time_out()[0], Absence::TimedOut), locators(&["c"]), "{dialect}: counted anew");
    }
}

#[test]
fn the_timeout_uses_for_the_parameter_set_of_its_stream() {
    let mut f = Fixture::named(Dialect::Delta);
    f.subscribe(&eds(), &["a{env=prod}"]);
    f.connect();
    let batches = f.time_out();
    assert_eq!(
        batches[0].absent,
        [Absent { name: "a".into(), scope: prod_scope(), absence: Absence::TimedOut }]
    );
}

#[test]
fn p15_a_stream_for_one_parameter_set_constrains_what_it_brings() {
    let mut f = Fixture::named(Dialect::Delta).with(&cds(), &["a{env=prod}"], vec![]);
    let applied = f.respond(&cds(), vec![variant("a", "1"), variant("a[zone=x]", "1")], &[]);
    assert_eq!(upserts(&applied.batch), keys(&["a[env=prod]", "a[env=prod,zone=x]"]));
    assert!(f.sent()[0].subscribe.is_empty());

    let naming = Naming::names(Arc::from([Arc::from("env"), Arc::from("zone")]), &params("env=prod"));
    let mut f = Fixture::new(Dialect::Sotw, naming).with(&eds(), &["a"], vec![]);
    let applied = f.respond(&eds(), vec![variant("a", "1")], &[]);
    assert_eq!(upserts(&applied.batch), keys(&["a[env=prod,!zone]"]));
}

#[test]
fn a_type_moves_to_another_stream_with_what_is_held() {
    let mut from = Fixture::native(Dialect::Delta).with(&cds(), &["a"], vec![variant("a", "1")]);
    let mut to = Fixture::native(Dialect::Delta);
    to.connect();
    to.stream.take_over(from.stream.hand_over(&cds()).unwrap());
    let request = to.request();
    assert_eq!(
        (request.subscribe, request.initial_versions),
        (locators(&["a"]), vec![("a".into(), "1".into())])
    );
    assert!(from.respond(&cds(), vec![variant("a", "2")], &[]).batch.is_empty());
    assert_eq!(removals(&to.respond(&cds(), vec![], &["a"]).batch), keys(&["a"]));
}
