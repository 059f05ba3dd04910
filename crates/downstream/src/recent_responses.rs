//! Responses that streams may still ask for: kept by weight and idle time, made once under concurrency.

use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use moka::sync::Cache;

use crate::large::Large;
use crate::lookups::Lookups;
use weir_session::{EncodedResponse, Encoding, ResponseCache, ResponseKey};

/// How long a response is kept that no stream has asked for.
const IDLE: Duration = Duration::from_secs(10);

/// The responses that streams may still ask for.
pub struct RecentResponses {
    cache: Cache<ResponseKey, EncodedResponse, RandomState>,
    lookups: Arc<Lookups>,
    large: Large,
}

impl RecentResponses {
    /// No responses yet; at most `capacity` bytes are kept.
    pub fn new(capacity: u64) -> Self {
        let weight = |_: &ResponseKey, response: &EncodedResponse| {
            u32::try_from(response.size() + size_of::<ResponseKey>()).unwrap_or(u32::MAX)
        };
        let lookups: Arc<Lookups> = Arc::default();
        let counted = Arc::clone(&lookups);
        let cache = Cache::builder()
            .max_capacity(capacity)
            .weigher(weight)
            .time_to_idle(IDLE)
            .eviction_listener(move |_, _, cause| counted.evicted(cause))
            .build_with_hasher(RandomState::default());
        Self { cache, lookups, large: Large::new() }
    }

    /// Shows how many responses there are, and how often they were found.
    pub(crate) fn observe(&self) {
        self.lookups.observe();
        let cache = self.cache.clone();
        weir_metrics::RESPONSE_CACHE_SIZE
            .observe(move |observer| observer.observe(cache.weighted_size(), &[]));
    }
}

impl ResponseCache for RecentResponses {
    fn get_or_make(
        &self,
        key: &ResponseKey,
        make: impl FnOnce() -> (EncodedResponse, Encoding),
    ) -> EncodedResponse {
        let mut made = false;
        let found = self.cache.get_with_by_ref(key, || {
            made = true;
            let (response, encoding) = make();
            self.large.record(&encoding);
            response
        });
        self.lookups.count(made);
        if found.is_uncacheable() {
            self.cache.invalidate(key);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use prost::Message;
    use weir_database::{Database, Settings, ViewListener};
    use weir_types::{
        ApiVersion, Batch, Constraints, Content, Dialect, Provenance, TypeUrl, Variant, VariantKey,
    };
    use weir_wire::discovery::{DeltaDiscoveryRequest, DeltaDiscoveryResponse, Resource};
    use weir_wire::request::DeltaRequest;
    use weir_wire::services::Service;

    use super::*;
    use crate::known::Statements;
    use crate::shared::now;
    use weir_session::{ClientTransport, Env, Responses, Session};

    struct Nobody;

    impl ViewListener for Nobody {
        fn wake(&self) {}
    }

    fn next(session: &mut Session, responses: &Responses<RecentResponses>) -> Option<Bytes> {
        session.poll_transmit(responses, now()).map(|transmit| transmit.frame)
    }

    /// A stream that asks for `a`, and what it is sent at first.
    fn stream(database: &Database, responses: &Responses<RecentResponses>) -> (Session, Bytes) {
        let request = DeltaDiscoveryRequest {
            type_url: "t".to_owned(),
            resource_names_subscribe: vec!["a".to_owned()],
            ..Default::default()
        };
        let request = DeltaRequest::decode(request.encode_to_vec().into()).unwrap();
        let subscriber: Arc<dyn ViewListener> = Arc::new(Nobody);
        let service = Service::of(ApiVersion::V3, None).unwrap();
        let (client, wrapping, settings) = Default::default();
        let mut session =
            Session::new(ClientTransport::Grpc(service, Dialect::Delta), client, wrapping, settings, 0);
        let initial_versions = &Statements::default();
        let env = Env { database, subscriber: &subscriber, initial_versions, now: now() };
        session.handle_request(request, &env).expect("nothing is limited");
        let frame = next(&mut session, responses).expect("there is something");
        (session, frame)
    }

    fn ttl(frame: &[u8]) -> Option<i64> {
        let response = DeltaDiscoveryResponse::decode(&frame[5..]).unwrap();
        Resource::decode(&*response.resources[0]).unwrap().ttl.map(|ttl| ttl.seconds)
    }

    fn with(ttl: Option<Duration>) -> (Database, Responses<RecentResponses>) {
        holding(Content { ttl, ..Content::default() })
    }

    fn holding(content: Content) -> (Database, Responses<RecentResponses>) {
        let database = Database::new(Settings::default());
        let mut batch = Batch::new(TypeUrl::new("t"), Provenance::Local);
        let content = Content { body: Some(Bytes::from_static(b"body")), ..content };
        batch.upserts.push(Variant::new(VariantKey::new("a", Constraints::unconstrained()), content));
        batch.received = Some(now());
        database.commit(batch);
        let cache = RecentResponses::new(1 << 20);
        (database, Responses::new("weir".to_owned(), 4 << 20, now(), cache))
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
            let cache = &frames.cache().cache;
            cache.invalidate_all();
            let content = Content {
                body: Some(Bytes::from(format!("{do_not_cache}"))),
                do_not_cache,
                ..Content::default()
            };
            let mut batch = Batch::new(TypeUrl::new("t"), Provenance::Local);
            batch.upserts.push(Variant::new(VariantKey::new("a", Constraints::unconstrained()), content));
            database.commit(batch);
            assert!(next(&mut waiting, &frames).is_some_and(|frame| !frame.is_empty()));
            cache.run_pending_tasks();
            assert_eq!(cache.entry_count(), kept, "{do_not_cache}");
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
