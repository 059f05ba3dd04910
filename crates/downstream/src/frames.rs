//! Frames: what a step of a view is in bytes, made once for all streams that make the step.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use moka::sync::Cache;
use weir_database::{Diff, Query, Removed, Shape};
use weir_protocol::Dialect;
use weir_protocol::server::{Framed, Framer, Nonce, Step, View};
use weir_types::{Constraints, Cursor, Fingerprint, Form, Kind, Name, TypeUrl, Variant};
use weir_wire::frame::Response;

use crate::view::Attached;

/// How long a frame is kept that no stream has asked for.
const IDLE: Duration = Duration::from_secs(10);

/// What two streams must have in common to be sent the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    view: u64,
    dialect: Dialect,
    wrapped: bool,
    after: Cursor,
    nonce: Nonce,
    everything: bool,
    hold_removals: bool,
    forced: bool,
    owed: Fingerprint,
    known: u64,
}

/// The frames that streams may still ask for.
pub struct Frames {
    control_plane: String,
    cache: Cache<Key, Framed<Bytes>>,
}

impl Frames {
    /// No frames yet; at most `capacity` bytes are kept. Responses say that they are from `control_plane`.
    pub fn new(control_plane: String, capacity: u64) -> Self {
        let weight = |_: &Key, framed: &Framed<Bytes>| {
            let bytes = framed.frame.as_ref().map_or(0, Bytes::len) + size_of::<Key>();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(capacity).weigher(weight).time_to_idle(IDLE).build();
        Self { control_plane, cache }
    }

    /// The frames of a stream, whose state-of-the-world resources are `wrapped` or not.
    pub fn of_stream(&self, wrapped: bool) -> StreamFrames<'_> {
        StreamFrames { frames: self, wrapped }
    }

    /// Works out and encodes a step.
    fn make(&self, step: &Step<'_, Attached>, wrapped: bool) -> Framed<Bytes> {
        let type_url = step.logical.type_url();
        let diff = step.logical.view().0.diff(&Query {
            after: step.after,
            shape: if step.everything { Shape::Everything } else { Shape::Changes },
            hold_removals: step.hold_removals,
            owed: step.owed(),
            known: step.known().map(|known| &**known),
        });
        let gone = Gone::new(&diff.removed, step.dialect);
        let says_something = match (step.everything, step.dialect) {
            (true, _) => diff.changed,
            (false, Dialect::Delta) => !diff.resources.is_empty() || !diff.removed.is_empty(),
            (false, Dialect::Sotw) => !diff.resources.is_empty() || !gone.located.is_empty(),
        };
        let frame = (says_something || step.forced).then(|| {
            let response = Response {
                type_url,
                nonce: &step.nonce(diff.to).to_string(),
                version: diff.version,
                control_plane: &self.control_plane,
                resources: &diff.resources,
                removed: &gone.plain,
                removed_variants: if step.everything { &[] } else { &gone.located },
                wrapped,
            };
            match step.dialect {
                Dialect::Sotw => response.sotw(),
                Dialect::Delta => response.delta(),
            }
        });
        let warming = warming(type_url, &diff);
        Framed { to: diff.to, frame, version: diff.version, disputed: diff.disputed, warming }
    }
}

/// What is gone, as the encoder takes it.
struct Gone<'a> {
    plain: Vec<&'a str>,
    located: Vec<(&'a str, Option<&'a Constraints>)>,
}

impl<'a> Gone<'a> {
    fn new(removed: &'a [Removed], dialect: Dialect) -> Self {
        let mut gone = Self { plain: Vec::new(), located: Vec::new() };
        for removed in removed {
            match removed {
                Removed::Variant(key) if key.constraints.is_unconstrained() => match dialect {
                    Dialect::Delta => gone.plain.push(&key.name),
                    Dialect::Sotw => gone.located.push((&key.name, None)),
                },
                Removed::Name(name) => gone.plain.push(name),
                Removed::Variant(key) => gone.located.push((&key.name, Some(&key.constraints))),
                Removed::Locator(name) => gone.located.push((name, None)),
            }
        }
        gone
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

/// The frames of one stream.
pub struct StreamFrames<'a> {
    frames: &'a Frames,
    wrapped: bool,
}

impl Framer<Attached> for StreamFrames<'_> {
    type Frame = Bytes;

    fn frame(&mut self, step: &Step<'_, Attached>) -> Framed<Bytes> {
        let view = step.logical.view();
        let mut owed = Fingerprint::default();
        step.owed().iter().for_each(|selector| owed += Fingerprint::of(selector));
        let key = Key {
            view: view.0.view(),
            dialect: step.dialect,
            wrapped: self.wrapped,
            after: step.after,
            nonce: step.nonce(view.head().newest()),
            everything: step.everything,
            hold_removals: step.hold_removals,
            forced: step.forced,
            owed,
            known: step.known().map_or(0, |known| known.fingerprint()),
        };
        self.frames.cache.get_with(key, || self.frames.make(step, self.wrapped))
    }
}
