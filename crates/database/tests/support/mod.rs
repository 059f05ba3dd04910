//! A database with streams that can be asked what they have to be sent.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::expect_used,
    reason = "each test uses what it needs"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use weir_database::{
    Database, Diff, Query, Refresh, RemovalDelivery, Settings, Shape, ViewHandle, ViewListener,
};
use weir_types::constraints::Expr;
use weir_types::{
    Absence, Answered, Batch, Constraints, Content, Cursor, DynamicParameters, KnownVersions, Name,
    Provenance, ResourceLocator, Selector, SubscriptionChange, TypeUrl, Variant, VariantKey, WILDCARD,
};

pub const IDLE: Duration = Duration::from_secs(60);

pub struct Fixture {
    pub database: Database,
    pub now: Instant,
}

/// One stream, and how often it was woken.
pub struct Stream {
    pub attachment: ViewHandle,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl ViewListener for Woken {
    fn wake(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn name(&self) -> Arc<str> {
        "somebody".into()
    }
}

pub fn cds() -> TypeUrl {
    TypeUrl::from_short_name("cds").expect("a known type")
}

pub fn prod() -> DynamicParameters {
    [("env", "prod")].into_iter().collect()
}

pub fn test() -> DynamicParameters {
    [("env", "test")].into_iter().collect()
}

pub fn plain(name: &str) -> Selector {
    Selector::plain(name, prod())
}

pub fn located(name: &str, parameters: DynamicParameters) -> Selector {
    Selector::located(name, parameters)
}

pub fn anyone(name: &str) -> VariantKey {
    VariantKey::new(name, Constraints::unconstrained())
}

pub fn only(name: &str, env: &'static str) -> VariantKey {
    VariantKey::new(name, Constraints::new(Expr::value("env", env)))
}

pub fn variant(key: VariantKey, body: &str) -> Variant {
    aliased(key, body, &[])
}

pub fn aliased(key: VariantKey, body: &str, aliases: &[&str]) -> Variant {
    let content = Content {
        body: Some(Bytes::copy_from_slice(body.as_bytes())),
        aliases: aliases.iter().map(|alias| Name::from(*alias)).collect(),
        ..Content::default()
    };
    Variant::new(key, content)
}

impl Fixture {
    pub fn new() -> Self {
        let database = Database::new(Settings { idle: IDLE, ..Settings::default() });
        Self { database, now: Instant::now() }
    }

    pub fn attach(&self, selectors: &[Selector]) -> Stream {
        self.attach_with(SubscriptionChange::adding(selectors))
    }

    pub fn attach_with(&self, change: SubscriptionChange<'_>) -> Stream {
        let woken = Arc::new(Woken::default());
        let subscriber = Arc::clone(&woken) as Arc<dyn ViewListener>;
        let attachment = self.database.attach(&cds(), change, subscriber).expect("nothing is limited");
        Stream { attachment, woken }
    }

    /// Somebody who subscribes.
    pub fn subscriber(&self) -> Arc<dyn ViewListener> {
        Arc::new(Woken::default())
    }

    pub fn commit(&self, provenance: Provenance, upserts: Vec<Variant>, removals: Vec<VariantKey>) {
        let mut batch = Batch::new(cds(), provenance);
        (batch.upserts, batch.removals) = (upserts, removals);
        self.database.commit(batch);
    }

    pub fn put(&self, provenance: Provenance, key: VariantKey, body: &str) {
        self.commit(provenance, vec![variant(key, body)], vec![]);
    }

    pub fn remove(&self, provenance: Provenance, key: VariantKey) {
        self.commit(provenance, vec![], vec![key]);
    }

    pub fn deny(&self, name: &str, parameters: DynamicParameters) {
        let mut batch = Batch::new(cds(), Provenance::Named);
        batch.mark_absent(&ResourceLocator::new(name, parameters), Absence::Known);
        self.database.commit(batch);
    }

    pub fn answer_wildcards(&self) {
        let mut batch = Batch::new(cds(), Provenance::Wildcard);
        batch.answered.push(Answered::all());
        self.database.commit(batch);
    }

    /// Commits that all there is of a collection was sent.
    pub fn answer(&self, collection: &Selector) {
        let mut batch = Batch::new(cds(), Provenance::Named);
        batch.mark_answered(&collection.locator);
        self.database.commit(batch);
    }

    /// Lets the idle time pass.
    pub fn idle(&mut self) {
        self.database.sweep(self.now);
        self.now += IDLE;
        self.database.sweep(self.now);
    }
}

impl Stream {
    /// What is to be sent, without sending it.
    pub fn pending(&self, shape: Shape, defer_removals: bool) -> Diff {
        self.ask(shape, defer_removals, &[], None, Refresh::None)
    }

    /// As [`Self::pending`], for a client that is sent times to live.
    pub fn pending_with(&self, shape: Shape, refresh: Refresh, known: Option<&KnownVersions>) -> Diff {
        self.ask(shape, false, &[], known, refresh)
    }

    fn ask(
        &self,
        shape: Shape,
        defer_removals: bool,
        pending_errors: &[Selector],
        known: Option<&KnownVersions>,
        refresh: Refresh,
    ) -> Diff {
        let pending_errors = pending_errors.iter().cloned().collect();
        let base = Query::new(self.attachment.cursor(), shape);
        let query = Query {
            removals: if defer_removals { RemovalDelivery::Deferred } else { RemovalDelivery::Now },
            pending_errors: &pending_errors,
            known,
            refresh,
            sends_unavailable: true,
            ..base
        };
        self.attachment.diff(&query)
    }

    /// Sends what is pending.
    pub fn step(&mut self, shape: Shape, defer_removals: bool) -> Diff {
        let diff = self.pending(shape, defer_removals);
        self.advance(&diff, defer_removals);
        diff
    }

    /// Sends what is pending, and the errors that were postponed.
    pub fn step_pending(&mut self, pending_errors: &[Selector]) -> Diff {
        let diff = self.ask(Shape::Changes, false, pending_errors, None, Refresh::None);
        self.advance(&diff, false);
        diff
    }

    fn advance(&mut self, diff: &Diff, defer_removals: bool) {
        let removals = if defer_removals { self.attachment.cursor().removals } else { diff.to };
        self.attachment.advance(Cursor { removals, additions: diff.to });
    }

    /// Sends everything: the resources with their contents, and what is gone.
    pub fn sent(&mut self) -> (Vec<String>, Vec<String>) {
        stated(&self.step(Shape::Changes, false))
    }

    /// Sends the additions only.
    pub fn sent_additions(&mut self) -> (Vec<String>, Vec<String>) {
        stated(&self.step(Shape::Changes, true))
    }

    pub fn change(&mut self, add: &[Selector], remove: &[Selector]) {
        self.attachment.change(SubscriptionChange::new(add, remove)).expect("nothing is limited");
    }

    pub fn woken(&self) -> usize {
        self.woken.0.load(Ordering::Relaxed)
    }
}

/// A difference, for reading.
pub fn stated(diff: &Diff) -> (Vec<String>, Vec<String>) {
    let resource = |variant: &Variant| {
        let body = variant.content().body.clone().unwrap_or_default();
        format!("{:?}={}", variant.key(), String::from_utf8_lossy(&body))
    };
    let resources = diff.resources.iter().map(|(variant, _)| resource(variant)).collect();
    (resources, diff.removed.iter().map(|removed| format!("{removed:?}")).collect())
}

pub fn wildcard() -> Selector {
    plain(WILDCARD)
}
