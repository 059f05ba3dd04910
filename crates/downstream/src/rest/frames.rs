//! The JSON of frames, made once for all polls that are answered with it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use moka::sync::Cache;
use weir_types::Version;
use weir_wire::json::discovery::{ResponseError, response_to_json};

/// How long the JSON of a frame is kept that no poll has asked for.
const IDLE: Duration = Duration::from_secs(10);

/// The length of a gRPC frame's header.
const HEADER: usize = 5;

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

    /// That of a response in state of the world; kept unless it is `uncacheable`.
    pub(super) fn of(&self, frame: Bytes, version: Version, uncacheable: bool) -> Json {
        if uncacheable {
            return Self::make(&frame, version);
        }
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
