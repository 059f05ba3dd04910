//! Responses: what a step of a view is in bytes, made once for all streams that make the step.
//!
//! Owns what identifies a response, and how it is made. Never keeps one: that is for a [`ResponseCache`].

mod key;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use weir_database::{Diff, News, Query, Refresh};
use weir_types::{Commit, Dialect, Form, Kind, Name, Selector, TypeUrl, Variant, Version};
use weir_wire::{scan, trace};
use xxhash_rust::xxh3::Xxh3;

pub use self::key::ResponseKey;
pub use crate::encoder::Encoding;
use crate::encoder::{Encoder, HEADER};
use crate::stream::Step;
use crate::wrapping::Wrapping;

/// The field of a `DiscoveryResponse` that holds errors of resources.
const RESOURCE_ERRORS: u32 = 7;

/// Keeps responses for streams that have yet to make the same step.
pub trait ResponseCache {
    /// The response that `key` identifies: one that was made before, or else what `make` gives now, with what came of its
    /// size.
    fn get_or_make(
        &self,
        key: &ResponseKey,
        make: impl FnOnce() -> (EncodedResponse, Encoding),
    ) -> EncodedResponse;
}

/// A step in bytes, shared by all streams that make it.
#[derive(Clone)]
pub struct EncodedResponse {
    /// Up to where the client has been sent changes with it.
    pub(crate) to: Commit,
    /// The response, with the nonce that [`Step::nonce`] gives for `to`; none if there is nothing to send.
    pub(crate) frame: Option<Bytes>,
    /// What does not fit into that response: further ones, with the nonces that
    /// [`Nonce::following`](crate::Nonce::following) gives.
    pub(crate) rest: Option<Arc<[Bytes]>>,
    /// The version of what the client then has.
    pub(crate) version: Version,
    /// The version of resources and errors together, by which a poll identifies what it was sent.
    pub(crate) poll_version: Version,
    /// Whether it refreshes a time to live, and has to be sent even if no content changed.
    pub(crate) refreshes: bool,
    /// Whether the client states to hold something against which only upstream's silence is evidence.
    pub(crate) disputed: bool,
    /// Whether it contains errors.
    pub(crate) has_errors: bool,
    /// Selectors whose error follows in a later response, because this one contains the resource.
    pub(crate) postponed: Arc<[Selector]>,
    /// Locators that nothing matches, which has to be sent when other locators of their names are answered.
    pub(crate) waiting: Arc<[Selector]>,
    /// For clusters: the endpoints that the client will wait for. Shared, since thousands of streams keep it.
    pub(crate) warming: Option<Arc<HashSet<Name>>>,
    /// Of those, the endpoints of clusters that the client did not have before.
    pub(crate) new_clusters: Option<Arc<[Name]>>,
    /// Whether any of it must not be kept for anyone else.
    pub(crate) uncacheable: bool,
    /// When it was made, if it has times to live in it.
    second: Option<u64>,
}

impl EncodedResponse {
    /// Whether any of it must not be kept for anyone else.
    pub fn is_uncacheable(&self) -> bool {
        self.uncacheable
    }

    /// How many bytes it has.
    pub fn size(&self) -> usize {
        let rest = self.rest.iter().flat_map(|rest| rest.iter());
        self.frame.iter().chain(rest).map(Bytes::len).sum()
    }

    /// With what trace it belongs to.
    fn with(mut self, note: Option<&[u8]>) -> Self {
        let Some(note) = note else { return self };
        let noted = |frame: &Bytes| trace::append(frame, note);
        self.frame = self.frame.as_ref().map(noted);
        self.rest = self.rest.map(|rest| rest.iter().map(noted).collect());
        self
    }
}

/// Makes the responses of all streams that share a cache.
pub struct Responses<C> {
    control_plane: String,
    /// The largest message that clients take, in bytes.
    limit: usize,
    /// What seconds are counted from.
    epoch: Instant,
    cache: C,
}

impl<C: ResponseCache> Responses<C> {
    /// Responses that name `control_plane` as their source, of which none is larger than `limit` bytes that can be split,
    /// and which are kept by `cache`. Seconds are counted from `epoch`.
    pub fn new(control_plane: String, limit: usize, epoch: Instant, cache: C) -> Self {
        Self { control_plane, limit, epoch, cache }
    }

    /// What keeps the responses.
    pub fn cache(&self) -> &C {
        &self.cache
    }

    /// How many seconds have passed at `now`.
    fn second(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.epoch).as_secs()
    }
}

/// The endpoints that a client will wait for once it has these clusters.
fn warming(type_url: &TypeUrl, diff: &Diff) -> Option<Arc<HashSet<Name>>> {
    if type_url.kind() != Kind::Cluster {
        return None;
    }
    let eds_name = |(variant, _): &(Arc<Variant>, Form)| variant.content().eds_name.clone();
    let names: HashSet<Name> = diff.resources.iter().filter_map(eds_name).collect();
    (!names.is_empty()).then(|| Arc::new(names))
}

/// Makes the responses of one stream.
pub(crate) struct StreamResponses<'a, C> {
    pub(crate) responses: &'a Responses<C>,
    pub(crate) wrapping: Wrapping,
    /// Whether the client takes messages of any size: it may not know what to make of a part.
    pub(crate) takes_any_size: bool,
    /// Whether the client reads what trace a response belongs to.
    pub(crate) takes_trace_context: bool,
    pub(crate) now: Instant,
}

impl<C: ResponseCache> StreamResponses<'_, C> {
    fn limit(&self) -> usize {
        if self.takes_any_size { usize::MAX } else { self.responses.limit }
    }

    /// A step in bytes: those of a stream that has made it already, if they are still here.
    pub(crate) fn get_or_make(&self, step: &Step<'_>) -> EncodedResponse {
        let view = step.type_subscription.view();
        let context = || view.attachment().note(step.after.removals, view.head().newest());
        let note = self.takes_trace_context.then(context).flatten();
        let mut key = ResponseKey::new(step, self.wrapping, self.refresh(step), self.limit(), note.is_some());
        let second = self.responses.second(self.now);
        let response = self.get_or_make_keyed(step, &key, second, note.as_deref());
        if response.second.is_none_or(|made| made == second) {
            return response;
        }
        // Less is left by now.
        key.second = Some(second);
        self.get_or_make_keyed(step, &key, second, note.as_deref())
    }

    fn get_or_make_keyed(
        &self,
        step: &Step<'_>,
        key: &ResponseKey,
        second: u64,
        note: Option<&[u8]>,
    ) -> EncodedResponse {
        self.responses.cache.get_or_make(key, || {
            let (response, encoding) = self.make(step, key, second);
            (response.with(note), encoding)
        })
    }

    /// Works out and encodes a step that is made in this second.
    fn make(&self, step: &Step<'_>, key: &ResponseKey, second: u64) -> (EncodedResponse, Encoding) {
        let Responses { control_plane, epoch, .. } = self.responses;
        let view = step.type_subscription.view();
        let diff = view.attachment().diff(&Query {
            after: step.after,
            shape: step.shape,
            removals: step.removals,
            resend: step.resend(),
            pending_errors: step.pending_errors(),
            known: step.known().map(|known| &**known),
            refresh: key.refresh,
            // The response is shared until the second is over.
            at: Some(*epoch + Duration::from_secs(second + 1)),
            sends_unavailable: key.sends_unavailable,
            marks_missing: step.dialect == Dialect::Delta,
        });
        let sends_ttl = step.dialect == Dialect::Delta || key.wrapping.for_ttl;
        let encoder = Encoder {
            control_plane,
            wrapped: key.wrapping.always,
            limit: key.limit,
            at: sends_ttl.then(|| *epoch + Duration::from_secs(second)),
        };
        let (mut frames, has_errors, encoding) = encoder.encode(step, &diff);
        let rest = (frames.len() > 1).then(|| frames.split_off(1).into());
        let frame = frames.pop();
        let mut sent = diff.resources.iter().chain(&diff.heartbeats);
        let counts = sends_ttl && sent.any(|(variant, _)| variant.lease().is_some());
        let response = EncodedResponse {
            poll_version: match &frame {
                Some(frame) if has_errors && step.dialect == Dialect::Sotw => {
                    version_with_errors(diff.version, &frame[HEADER..])
                }
                _ => diff.version,
            },
            uncacheable: diff.resources.iter().any(|(variant, _)| variant.content().do_not_cache),
            second: counts.then_some(second),
            to: diff.to,
            frame,
            rest,
            version: diff.version,
            refreshes: diff.news == News::Refreshed || !diff.heartbeats.is_empty(),
            disputed: diff.disputed,
            has_errors,
            warming: warming(step.type_subscription.type_url(), &diff),
            new_clusters: (!diff.new_endpoints.is_empty()).then(|| Arc::from(&*diff.new_endpoints)),
            postponed: diff.errors.postponed.into(),
            waiting: diff.waiting.into(),
        };
        (response, encoding)
    }

    /// How this client is sent that something lives on.
    fn refresh(&self, step: &Step<'_>) -> Refresh {
        match step.dialect {
            Dialect::Sotw if self.wrapping.for_ttl => Refresh::Whole,
            Dialect::Sotw => Refresh::None,
            // A client that lacks what it rejected cannot know what a heartbeat is for.
            Dialect::Delta if step.type_subscription.rejects() => Refresh::Whole,
            Dialect::Delta => Refresh::Heartbeat,
        }
    }
}

/// The version of resources and errors together, of a state-of-the-world message.
fn version_with_errors(version: Version, message: &[u8]) -> Version {
    let mut hash = Xxh3::with_seed(version.0);
    let errors = scan::fields(message).map_while(Result::ok).filter(|field| field.number == RESOURCE_ERRORS);
    errors.for_each(|error| hash.update(error.raw));
    Version(hash.digest())
}
