//! Frames: what a step of a view is in bytes, made once for all streams that make the step.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use foldhash::fast::RandomState;
use moka::sync::Cache;
use weir_database::{Diff, Query, Refresh, Shape};
use weir_protocol::Dialect;
use weir_protocol::server::{Framed, Framer, Nonce, Step, View};
use weir_types::{Cursor, Fingerprint, Form, Kind, Name, Selector, TypeUrl, Variant};
use weir_wire::trace;

use crate::encoder::{Encoded, Encoder};
use crate::large::Large;
use crate::lookups::Lookups;
use crate::view::Attached;
use crate::wrapping::Wrapping;

/// How long a frame is kept that no stream has asked for.
const IDLE: Duration = Duration::from_secs(10);

/// What two streams must have in common to be sent the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    view: u64,
    dialect: Dialect,
    wrapping: Wrapping,
    refresh: Refresh,
    tells_away: bool,
    after: Cursor,
    nonce: Nonce,
    everything: bool,
    hold_removals: bool,
    forced: bool,
    owed: Fingerprint,
    unsaid: Fingerprint,
    known: u64,
    limit: usize,
    /// Whether it states what trace it belongs to, which is that of its content.
    noted: bool,
    /// Where it states how long something lives: when.
    second: Option<u64>,
}

/// A step in bytes, and when it was made if it states how long something lives.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) framed: Framed<Bytes>,
    /// Whether any of it must not be kept for anyone else.
    pub(crate) uncacheable: bool,
    second: Option<u64>,
}

/// The frames that streams may still ask for.
pub struct Frames {
    control_plane: String,
    /// The largest message that clients take, in bytes.
    limit: usize,
    cache: Cache<Key, Made, RandomState>,
    lookups: Arc<Lookups>,
    large: Large,
    /// What seconds are counted from.
    epoch: Instant,
}

impl Made {
    /// With what trace it belongs to.
    fn with(mut self, note: Option<&[u8]>) -> Self {
        let Some(note) = note else { return self };
        let noted = |frame: &Bytes| trace::append(frame, note);
        self.framed.frame = self.framed.frame.as_ref().map(noted);
        self.framed.rest = self.framed.rest.map(|rest| rest.iter().map(noted).collect());
        self
    }
}

impl Frames {
    /// No frames yet; at most `capacity` bytes are kept. Responses state that they are from `control_plane`, and
    /// none is larger than `limit` bytes that can be split.
    pub fn new(control_plane: String, capacity: u64, limit: usize) -> Self {
        let weight = |_: &Key, made: &Made| {
            let rest = made.framed.rest.iter().flat_map(|rest| rest.iter());
            let frames = made.framed.frame.iter().chain(rest);
            let bytes = frames.map(Bytes::len).sum::<usize>() + size_of::<Key>();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        let lookups: Arc<Lookups> = Arc::default();
        let counted = Arc::clone(&lookups);
        let cache = Cache::builder()
            .max_capacity(capacity)
            .weigher(weight)
            .time_to_idle(IDLE)
            .eviction_listener(move |_, _, cause| counted.evicted(cause))
            .build_with_hasher(RandomState::default());
        Self { control_plane, limit, cache, lookups, large: Large::new(), epoch: now() }
    }

    /// Shows how many frames there are, and how often they were found.
    pub(crate) fn observe(&self) {
        self.lookups.observe();
        let cache = self.cache.clone();
        weir_metrics::RESPONSE_CACHE_SIZE
            .observe(move |observer| observer.observe(cache.weighted_size(), &[]));
    }

    /// The bytes of what `key` identifies.
    fn get(&self, key: &Key, make: impl FnOnce() -> Made) -> Made {
        let mut made = false;
        let found = self.cache.get_with_by_ref(key, || {
            made = true;
            make()
        });
        self.lookups.count(made);
        found
    }

    /// The frames of a stream, whose state-of-the-world resources are wrapped or not.
    pub fn of_stream(&self, wrapping: Wrapping) -> StreamFrames<'_> {
        StreamFrames { frames: self, wrapping, limit: self.limit, noted: false }
    }

    /// How many seconds have passed.
    fn second(&self) -> u64 {
        now().saturating_duration_since(self.epoch).as_secs()
    }
}

/// What time it is, for the machine.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
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

/// What identifies a set of selectors.
fn fingerprint(selectors: &BTreeSet<Selector>) -> Fingerprint {
    let mut fingerprint = Fingerprint::default();
    selectors.iter().for_each(|selector| fingerprint += Fingerprint::of(selector));
    fingerprint
}

/// The frames of one stream.
pub struct StreamFrames<'a> {
    frames: &'a Frames,
    wrapping: Wrapping,
    limit: usize,
    noted: bool,
}

impl StreamFrames<'_> {
    /// Whether the client reads what trace a response belongs to.
    #[must_use]
    pub fn noted(self, noted: bool) -> Self {
        Self { noted, ..self }
    }

    /// For a client that takes messages of any size: it may not know what to make of a part.
    #[must_use]
    pub(crate) fn unlimited(self) -> Self {
        Self { limit: usize::MAX, ..self }
    }

    /// Works out and encodes a step that is made in this second.
    fn make(&self, step: &Step<'_, Attached>, key: &Key, second: u64) -> Made {
        let view = step.logical.view();
        let diff = view.place.diff(&Query {
            after: step.after,
            shape: if step.everything { Shape::Everything } else { Shape::Changes },
            hold_removals: step.hold_removals,
            owed: &view.placed(step.owed()),
            unsaid: &view.placed(step.unsaid()),
            known: step.known().map(|known| &**known),
            refresh: key.refresh,
            // The frame is shared until the second is over.
            at: Some(self.frames.epoch + Duration::from_secs(second + 1)),
            tells_away: key.tells_away,
            marks_missing: step.dialect == Dialect::Delta,
        });
        let tells_ttl = step.dialect == Dialect::Delta || key.wrapping.for_ttl;
        let encoder = Encoder {
            control_plane: &self.frames.control_plane,
            wrapped: key.wrapping.always,
            limit: self.limit,
            at: tells_ttl.then(|| self.frames.epoch + Duration::from_secs(second)),
            large: &self.frames.large,
        };
        let Encoded { mut frames, errs } = encoder.encode(step, &diff);
        let rest = (frames.len() > 1).then(|| frames.split_off(1).into());
        let warming = warming(step.logical.type_url(), &diff);
        let new_clusters = (!diff.new_endpoints.is_empty()).then(|| Arc::from(&*diff.new_endpoints));
        let uncacheable = diff.resources.iter().any(|(variant, _)| variant.content().do_not_cache);
        let mut said = diff.resources.iter().chain(&diff.heartbeats);
        let counts = tells_ttl && said.any(|(variant, _)| variant.lease().is_some());
        let framed = Framed {
            to: diff.to,
            frame: frames.pop(),
            rest,
            version: diff.version,
            refreshes: diff.refreshed || !diff.heartbeats.is_empty(),
            disputed: diff.disputed,
            errs,
            postponed: diff.errors.postponed.into(),
            waiting: diff.waiting.into(),
            warming,
            new_clusters,
        };
        Made { framed, uncacheable, second: counts.then_some(second) }
    }

    /// How this client is sent heartbeats.
    fn refresh(&self, step: &Step<'_, Attached>) -> Refresh {
        match step.dialect {
            Dialect::Sotw if self.wrapping.for_ttl => Refresh::Whole,
            Dialect::Sotw => Refresh::Unsaid,
            // A client that lacks what it rejected cannot know what a heartbeat is for.
            Dialect::Delta if step.logical.rejects() => Refresh::Whole,
            Dialect::Delta => Refresh::Heartbeat,
        }
    }
}

impl Framer<Attached> for StreamFrames<'_> {
    type Frame = Bytes;

    fn frame(&mut self, step: &Step<'_, Attached>) -> Framed<Bytes> {
        self.step(step).framed
    }
}

impl StreamFrames<'_> {
    /// A step in bytes: those of a stream that has made it already, if they are still here.
    pub(crate) fn step(&self, step: &Step<'_, Attached>) -> Made {
        let view = step.logical.view();
        let told = || view.place.note(step.after.removals, view.head().newest());
        let note = self.noted.then(told).flatten();
        let mut key = Key {
            view: view.place.view(),
            dialect: step.dialect,
            wrapping: match step.dialect {
                Dialect::Sotw => self.wrapping,
                Dialect::Delta => Wrapping::default(),
            },
            refresh: self.refresh(step),
            tells_away: view.tells.away,
            after: step.after,
            nonce: step.nonce(view.head().newest()),
            everything: step.everything,
            hold_removals: step.hold_removals,
            forced: step.forced,
            owed: fingerprint(step.owed()),
            unsaid: fingerprint(step.unsaid()),
            known: step.known().map_or(0, |known| known.fingerprint()),
            limit: self.limit,
            noted: note.is_some(),
            second: None,
        };
        let second = self.frames.second();
        let made = self.kept(step, &key, second, note.as_deref());
        if made.second.is_none_or(|made| made == second) {
            return made;
        }
        // Less is left by now.
        key.second = Some(second);
        self.kept(step, &key, second, note.as_deref())
    }

    /// What was made under `key`, or is made now; kept if it may be.
    fn kept(&self, step: &Step<'_, Attached>, key: &Key, second: u64, note: Option<&[u8]>) -> Made {
        let made = self.frames.get(key, || self.make(step, key, second).with(note));
        if made.uncacheable {
            self.frames.cache.invalidate(key);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use weir_database::{Database, Settings, Subscriber};
    use weir_protocol::server::{Inbound, Mode, Names, ServerStream};
    use weir_types::{Batch, Constraints, Content, DynamicParameters, Reach, Selector, VariantKey};
    use weir_wire::discovery::{DeltaDiscoveryResponse, Resource};

    use super::*;
    use crate::view::Attacher;
    use crate::view::Tells;

    struct Nobody;

    impl Subscriber for Nobody {
        fn wake(&self) {}
    }

    /// A stream that asks for `a`, and what it is sent at first.
    fn stream(database: &Database, frames: &Frames) -> (ServerStream<Attached, Bytes>, Bytes) {
        let names = Names::Patch {
            subscribe: vec![Selector::plain("a", DynamicParameters::empty())],
            unsubscribe: Vec::new(),
        };
        let (type_url, nonce) = (TypeUrl::new("t"), String::new());
        let inbound = Inbound { type_url, nonce, nack: None, names, version: None, known: None };
        let subscriber: Arc<dyn Subscriber> = Arc::new(Nobody);
        let mut stream = ServerStream::new(Dialect::Delta, Mode::Aggregated, DynamicParameters::empty());
        let mut views = Attacher { database, subscriber: &subscriber, tells: Tells::default() };
        stream.handle_message(inbound, &mut views, now()).expect("nothing is limited");
        let mut own = frames.of_stream(Wrapping::default());
        let frame = stream.poll_transmit(&mut own, now()).expect("there is something").frame;
        (stream, frame)
    }

    fn ttl(frame: &[u8]) -> Option<i64> {
        let response = DeltaDiscoveryResponse::decode(&frame[5..]).unwrap();
        Resource::decode(&*response.resources[0]).unwrap().ttl.map(|ttl| ttl.seconds)
    }

    fn with(ttl: Option<Duration>) -> (Database, Frames) {
        holding(Content { ttl, ..Content::default() })
    }

    fn holding(content: Content) -> (Database, Frames) {
        let database = Database::new(Settings::default());
        let mut batch = Batch::new(TypeUrl::new("t"), Reach::Local);
        let content = Content { body: Some(Bytes::from_static(b"body")), ..content };
        batch.upserts.push(Variant::new(VariantKey::new("a", Constraints::unconstrained()), content));
        batch.received = Some(now());
        database.commit(batch);
        (database, Frames::new("weir".to_owned(), 1 << 20, 4 << 20))
    }

    #[tokio::test(start_paused = true)]
    async fn t03_a_frame_says_what_is_left_and_is_shared_within_a_second() {
        let (database, frames) = with(Some(Duration::from_secs(60)));
        let (_stays, first) = stream(&database, &frames);
        assert_eq!(ttl(&first), Some(60));
        tokio::time::advance(Duration::from_millis(7_100)).await;
        let (_, late) = stream(&database, &frames);
        assert_eq!(ttl(&late), Some(53));
        tokio::time::advance(Duration::from_millis(800)).await;
        assert_eq!(stream(&database, &frames).1.as_ptr(), late.as_ptr());
        tokio::time::advance(Duration::from_millis(800)).await;
        assert_eq!(ttl(&stream(&database, &frames).1), Some(52));
    }

    #[tokio::test]
    async fn p17_a_frame_with_what_must_not_be_cached_is_not_kept() {
        let (database, frames) = holding(Content::default());
        let (mut waiting, _) = stream(&database, &frames);
        for (do_not_cache, kept) in [(false, 1), (true, 0)] {
            frames.cache.invalidate_all();
            let content = Content {
                body: Some(Bytes::from(format!("{do_not_cache}"))),
                do_not_cache,
                ..Content::default()
            };
            let mut batch = Batch::new(TypeUrl::new("t"), Reach::Local);
            batch.upserts.push(Variant::new(VariantKey::new("a", Constraints::unconstrained()), content));
            database.commit(batch);
            let told = waiting.poll_transmit(&mut frames.of_stream(Wrapping::default()), now());
            assert!(told.is_some_and(|told| !told.frame.is_empty()));
            frames.cache.run_pending_tasks();
            assert_eq!(frames.cache.entry_count(), kept, "{do_not_cache}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_without_times_to_live_is_shared_at_any_time() {
        let (database, frames) = with(None);
        let (_stays, first) = stream(&database, &frames);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(stream(&database, &frames).1.as_ptr(), first.as_ptr());
    }
}
