//! The JSON of frames, made once for all polls that are answered with it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use moka::sync::Cache;
use weir_protocol::server::{Framed, Framer, Step};
use weir_types::Version;
use weir_wire::json::discovery::{ResponseError, response_to_json};
use weir_wire::scan;
use xxhash_rust::xxh3::Xxh3;

use crate::frames::{Made, StreamFrames};
use crate::view::Attached;

/// How long the JSON of a frame is kept that no poll has asked for.
const IDLE: Duration = Duration::from_secs(10);

/// The length of a gRPC frame's header.
const HEADER: usize = 5;

/// The field of a `DiscoveryResponse` that holds errors of resources.
const RESOURCE_ERRORS: u32 = 7;

/// A response, or why it has no JSON form.
pub(super) type Json = Result<Bytes, Arc<ResponseError>>;

/// The JSON of the frames that polls may still ask for.
pub(crate) struct JsonFrames {
    /// By the address of the frame, which stays where it is as long as it is kept here.
    cache: Cache<(usize, usize), (Bytes, Json)>,
}

impl JsonFrames {
    /// Nothing yet; about `capacity` bytes are kept.
    pub(crate) fn new(capacity: u64) -> Self {
        let weight = |_: &(usize, usize), (frame, json): &(Bytes, Json)| {
            let bytes = frame.len() + json.as_ref().map_or(0, Bytes::len);
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self { cache: Cache::builder().max_capacity(capacity).weigher(weight).time_to_idle(IDLE).build() }
    }

    fn of(&self, frame: Bytes, version: Version) -> Json {
        let key = (frame.as_ptr() as usize, frame.len());
        let make = || {
            let json = Self::make(&frame, version);
            (frame, json)
        };
        self.cache.get_with(key, make).1
    }

    fn make(frame: &[u8], version: Version) -> Json {
        let json = response_to_json(frame.get(HEADER..).unwrap_or_default(), &version.to_string());
        json.map_err(Arc::new)
    }
}

/// The frames of one poll.
pub(super) struct PollFrames<'a> {
    pub(super) json: &'a JsonFrames,
    pub(super) frames: StreamFrames<'a>,
}

impl Framer<Attached> for PollFrames<'_> {
    type Frame = Json;

    fn frame(&mut self, step: &Step<'_, Attached>) -> Framed<Json> {
        let Made { framed, uncacheable, .. } = self.frames.step(step);
        let version =
            framed.frame.as_ref().map_or(framed.version, |frame| with_errors(framed.version, frame));
        let Framed {
            to, frame, refreshes, disputed, errs, postponed, waiting, warming, new_clusters, ..
        } = framed;
        let frame = frame.map(|frame| match uncacheable {
            true => JsonFrames::make(&frame, version),
            false => self.json.of(frame, version),
        });
        Framed {
            to,
            frame,
            rest: None,
            version,
            refreshes,
            disputed,
            errs,
            postponed,
            waiting,
            warming,
            new_clusters,
        }
    }
}

/// The version of resources and errors together: by it alone a poll shows what it was sent already.
fn with_errors(version: Version, frame: &[u8]) -> Version {
    let mut hash = Xxh3::with_seed(version.0);
    let mut any = false;
    for field in scan::fields(frame.get(HEADER..).unwrap_or_default()).map_while(Result::ok) {
        if field.number == RESOURCE_ERRORS {
            hash.update(field.raw);
            any = true;
        }
    }
    if any { Version(hash.digest()) } else { version }
}
