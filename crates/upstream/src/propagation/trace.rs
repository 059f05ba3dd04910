//! The spans of a response.
//!
//! ```text
//!  xds.response ─┬─ xds.decode
//!                ├─ xds.commit
//!                ├─ xds.view ── (a Weir below: xds.response ── ...)
//!                └─ xds.view
//! ```
//!
//! Made through `opentelemetry::global`: where nobody traces, nothing is.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use opentelemetry::global::{self, BoxedSpan, BoxedTracer};
use opentelemetry::propagation::Injector;
use opentelemetry::trace::{
    Link, Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt, Tracer as _,
};
use opentelemetry::{Context, KeyValue};
use parking_lot::Mutex;
use prost::Message;
use weir_database::Touched;
use weir_types::Batch;
use weir_wire::discovery::TraceContext;

use super::progress::Counts;
use crate::arrival::{Arrival, Moment};

/// The most views of a commit that have spans of their own; the others are in the sums of the response.
const MAX_VIEWS: usize = 64;

/// The trace of one response, from its arrival on.
pub(crate) struct Trace {
    tracer: BoxedTracer,
    arrived: Instant,
    /// Whose children the other spans are.
    context: Context,
    root: Mutex<BoxedSpan>,
    /// What there is to commit.
    content: Vec<KeyValue>,
}

impl Trace {
    /// None where the response is not sampled.
    pub(super) fn start(authority: &str, batch: &Batch, rejected: usize, arrival: &Arrival) -> Option<Self> {
        let tracer = global::tracer("weir");
        let parent = arrival.parent.clone();
        let parent =
            parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        // A stream lives for days: what opened it is no parent of what comes on it.
        let links = arrival.stream.iter().map(|stream| Link::with_context(stream.clone())).collect();
        let builder = SpanBuilder::from_name("xds.response")
            .with_kind(SpanKind::Consumer)
            .with_start_time(arrival.at.time)
            .with_links(links);
        let mut root = tracer.build_with_context(builder, &parent);
        if !root.is_recording() {
            return None;
        }
        root.set_attributes([
            KeyValue::new("xds.authority", authority.to_owned()),
            KeyValue::new("xds.type_url", batch.type_url.to_string()),
            KeyValue::new("xds.resources.rejected", count(rejected)),
        ]);
        let context = Context::new().with_remote_span_context(root.span_context().clone());
        let decode = SpanBuilder::from_name("xds.decode").with_start_time(arrival.at.time);
        tracer.build_with_context(decode, &context).end_with_timestamp(arrival.decoded.time);
        let names: BTreeSet<_> = batch.upserts.iter().map(|variant| variant.name()).collect();
        let content = vec![
            KeyValue::new("xds.resources", count(names.len())),
            KeyValue::new("xds.variants", count(batch.upserts.len())),
            KeyValue::new("xds.variants.removed", count(batch.removals.len())),
            KeyValue::new("xds.heartbeats", count(batch.heartbeats.len())),
        ];
        Some(Self { tracer, arrived: arrival.at.instant, context, root: Mutex::new(root), content })
    }

    /// For what is logged meanwhile.
    pub(crate) fn context(&self) -> Context {
        self.context.clone()
    }

    pub(super) fn arrived(&self) -> Instant {
        self.arrived
    }

    /// The spans of the views that have one: the first ones.
    pub(super) fn views<'a>(&'a self, views: &'a [Touched<'_>]) -> impl Iterator<Item = ViewSpan> + 'a {
        views.iter().take(MAX_VIEWS).map(|view| self.view(view))
    }

    fn view(&self, view: &Touched<'_>) -> ViewSpan {
        let builder = SpanBuilder::from_name("xds.view").with_kind(SpanKind::Producer).with_attributes([
            KeyValue::new("weir.view", i64::try_from(view.view).unwrap_or_default()),
            KeyValue::new("weir.view.locators", count(view.subscription.iter().count())),
        ]);
        let span = self.tracer.build_with_context(builder, &self.context);
        let note = note(span.span_context());
        ViewSpan { span, note }
    }

    /// The commit was made.
    pub(super) fn committed(&self, views: usize, streams: usize, from: Moment, to: Moment) {
        let mut attributes = self.content.clone();
        attributes.push(KeyValue::new("weir.views", count(views)));
        attributes.push(KeyValue::new("weir.streams", count(streams)));
        let commit =
            SpanBuilder::from_name("xds.commit").with_start_time(from.time).with_attributes(attributes);
        self.tracer.build_with_context(commit, &self.context).end_with_timestamp(to.time);
    }

    /// The response had nothing to commit.
    pub(crate) fn end_empty(&self) {
        self.end(&Counts::default());
    }

    /// Nothing more is waited for.
    pub(super) fn end(&self, counts: &Counts) {
        let mut root = self.root.lock();
        conclude(&mut root, counts);
        root.end();
    }
}

/// The span of one view.
pub(super) struct ViewSpan {
    span: BoxedSpan,
    note: Option<Arc<[u8]>>,
}

impl ViewSpan {
    /// What makes responses to the view part of the trace.
    pub(super) fn note(&self) -> Option<Arc<[u8]>> {
        self.note.clone()
    }

    /// A client has rejected it.
    pub(super) fn rejected(&mut self, client: &str, message: &str, at: Moment) {
        let values = [("xds.client", client), ("xds.message", message)];
        let attributes = values.map(|(key, value)| KeyValue::new(key, value.to_owned()));
        self.span.add_event_with_timestamp("xds.nack", at.time, attributes.into());
        let context = Context::new().with_remote_span_context(self.span.span_context().clone());
        let _within = context.attach();
        tracing::warn!(node = client, reason = message, "client rejected a traced change");
    }

    /// Nothing more is waited for.
    pub(super) fn end(mut self, counts: &Counts, slowest: Option<&(Arc<str>, Moment)>, arrived: Instant) {
        conclude(&mut self.span, counts);
        let Some((client, at)) = slowest else { return self.span.end() };
        let spent = at.instant.saturating_duration_since(arrived).as_secs_f64();
        self.span.set_attributes([
            KeyValue::new("weir.slowest.client", client.to_string()),
            KeyValue::new("weir.slowest.seconds", spent),
        ]);
        match counts.pending() {
            0 => self.span.end_with_timestamp(at.time),
            _ => self.span.end(),
        }
    }
}

fn conclude(span: &mut BoxedSpan, counts: &Counts) {
    span.set_attributes([
        KeyValue::new("weir.streams", count(counts.streams)),
        KeyValue::new("weir.sent", count(counts.sent)),
        KeyValue::new("weir.acked", count(counts.accepted)),
        KeyValue::new("weir.nacked", count(counts.rejected)),
        KeyValue::new("weir.left", count(counts.left)),
        KeyValue::new("weir.pending", count(counts.pending())),
    ]);
    match (counts.rejected, counts.pending()) {
        (0, 0) => {}
        (0, pending) => span.set_status(Status::error(format!("{pending} have not answered in time"))),
        (rejected, _) => span.set_status(Status::error(format!("{rejected} have rejected it"))),
    }
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A context as it goes along with responses; none where contexts are not passed on.
fn note(context: &SpanContext) -> Option<Arc<[u8]>> {
    let mut carrier = Carrier::default();
    let context = Context::new().with_remote_span_context(context.clone());
    global::get_text_map_propagator(|propagator| propagator.inject_context(&context, &mut carrier));
    let is_traced = !carrier.0.traceparent.is_empty();
    is_traced.then(|| carrier.0.encode_to_vec().into())
}

#[derive(Default)]
struct Carrier(TraceContext);

impl Injector for Carrier {
    fn set(&mut self, key: &str, value: String) {
        match key {
            "traceparent" => self.0.traceparent = value,
            "tracestate" => self.0.tracestate = value,
            _ => {}
        }
    }
}
