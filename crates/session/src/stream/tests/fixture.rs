//! A client's stream on a database, and time that passes when a test lets it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use weir_database::{Database, Observer, Settings, ViewHandle, ViewListener, Watch};
use weir_types::{
    Absence, Absent, Answered, ApiVersion, Batch, Code, Commit, Constraints, Content, Dialect,
    DynamicParameters, Failed, Form, Kind, KnownVersions, Provenance, ResourceError, Scope, Selector,
    SubscriptionChange, TypeUrl, Variant, VariantKey, WILDCARD,
};
use weir_wire::discovery::DiscoveryRequest;
use weir_wire::request::{DeltaRequest, Statement};
use weir_wire::scan::ScanError;
use weir_wire::services::Service;

use prost::Message as _;

use super::messages::Response;
use super::*;
use crate::{
    ClientKind, ClientProfile, ClientTransport, EncodedResponse, Encoding, Env, Handled, ResponseCache,
    ResponseKey, Responses, Rights, Session, SessionSettings, StreamError, TypeSubscription, Wrapping,
};

pub(super) fn type_url(short: &str) -> TypeUrl {
    TypeUrl::from_short_name(short).unwrap_or_else(|| TypeUrl::new("type.googleapis.com/acme.Widget"))
}

pub(super) fn types_of(responses: &[Response]) -> Vec<&'static str> {
    responses.iter().map(|response| response.short).collect()
}

const WRAPPING: Wrapping = Wrapping { always: true, for_ttl: true };

struct Nobody;

impl ViewListener for Nobody {
    fn wake(&self) {}
}

impl Observer for Nobody {}

struct Anew;

impl crate::InitialVersions for Anew {
    fn read(&self, statement: &Statement) -> Result<Option<Arc<KnownVersions>>, ScanError> {
        if statement.is_empty() { Ok(None) } else { statement.read().map(|known| Some(Arc::new(known))) }
    }
}

/// Keeps no response. While the next one is made, a change may come.
#[derive(Default)]
pub(super) struct NoCache(RefCell<Option<Box<dyn FnOnce()>>>);

impl ResponseCache for NoCache {
    fn get_or_make(
        &self,
        _: &ResponseKey,
        make: impl FnOnce() -> (EncodedResponse, Encoding),
    ) -> EncodedResponse {
        let (made, _) = make();
        if let Some(midway) = self.0.take() {
            midway();
        }
        made
    }
}

/// A client's stream on a database.
pub(super) struct Fixture {
    pub(super) database: Database,
    pub(super) session: Session,
    pub(super) dialect: Dialect,
    pub(super) now: Instant,
    /// How large the resources are that are committed.
    pub(super) body_size: usize,
    responses: Responses<NoCache>,
    subscriber: Arc<dyn ViewListener>,
    /// Of the newest content of each resource.
    versions: HashMap<(String, String), String>,
    contents: usize,
    others: Vec<ViewHandle>,
}

impl Fixture {
    /// An aggregated stream on an empty database.
    pub(super) fn new(dialect: Dialect) -> Self {
        Self::with(dialect, None, ClientKind::Other, Settings::default())
    }

    /// A stream of all types, or of one, of a client of this kind.
    pub(super) fn with(dialect: Dialect, one: Option<Kind>, kind: ClientKind, settings: Settings) -> Self {
        let now = Instant::now();
        let service = Service::of(ApiVersion::V3, one).expect("there is such a service");
        Self {
            database: Database::new(settings),
            session: session(ClientTransport::Grpc(service, dialect), kind),
            dialect,
            now,
            body_size: 0,
            responses: Responses::new("weir".to_owned(), 1000, now, NoCache::default()),
            subscriber: Arc::new(Nobody),
            versions: HashMap::new(),
            contents: 0,
            others: Vec::new(),
        }
    }

    /// Opens another stream in place of this one.
    pub(super) fn reconnect(&mut self) {
        let service = Service::of(ApiVersion::V3, None).expect("there is ADS");
        self.session = session(ClientTransport::Grpc(service, self.dialect), ClientKind::Other);
    }

    /// Opens the stream of a client with these rights in place of this one.
    pub(super) fn reconnect_with(&mut self, rights: Rights) {
        let service = Service::of(ApiVersion::V3, None).expect("there is ADS");
        let client = ClientProfile { rights, parameters: parameters().into(), ..ClientProfile::default() };
        self.session = session_of(ClientTransport::Grpc(service, self.dialect), client);
    }

    /// Opens a stream with these settings in place of this one.
    pub(super) fn reconnect_under(&mut self, settings: SessionSettings) {
        let service = Service::of(ApiVersion::V3, None).expect("there is ADS");
        let transport = ClientTransport::Grpc(service, self.dialect);
        let client = ClientProfile { parameters: parameters().into(), ..ClientProfile::default() };
        self.session = Session::new(transport, Arc::new(client), WRAPPING, Arc::new(settings), 0);
    }

    /// Polls by REST in place of this stream.
    pub(super) fn poll(&mut self, message: Message) -> Option<Verdict> {
        self.session = session(ClientTransport::Rest, ClientKind::Other);
        self.sends(message)
    }

    /// Handles a request.
    pub(super) fn tries(&mut self, message: Message) -> Result<Handled, StreamError> {
        let (database, subscriber, now) = (&self.database, &self.subscriber, self.now);
        let env = Env { database, subscriber, initial_versions: &Anew, now };
        match message {
            Message::Sotw(request) => self.session.handle_request::<DiscoveryRequest>(request, &env),
            Message::Delta(request) => {
                let request = DeltaRequest::decode(request.encode_to_vec().into()).expect("a request");
                self.session.handle_request(request, &env)
            }
        }
    }

    /// Handles a request of which nothing is refused.
    pub(super) fn sends(&mut self, message: Message) -> Option<Verdict> {
        let handled = self.tries(message).expect("it is not refused");
        assert_eq!(handled.refused, []);
        handled.verdict
    }

    /// Subscribes to `names`, which are all there are in state of the world.
    pub(super) fn subscribe(&mut self, short: &str, names: &[&str]) {
        self.sends(match self.dialect {
            Sotw => replace(short, "", names),
            Delta => patch(short, "", names, &[]),
        });
    }

    /// A request that answers a response, and changes nothing of the subscription.
    pub(super) fn answering(&self, short: &str, nonce: &str) -> Message {
        let names = self.subscribed(short);
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        match self.dialect {
            Sotw => replace(short, nonce, &names),
            Delta => patch(short, nonce, &[], &[]),
        }
    }

    pub(super) fn ack(&mut self, short: &str, nonce: &str) -> Option<Verdict> {
        self.sends(self.answering(short, nonce))
    }

    pub(super) fn nack(&mut self, short: &str, nonce: &str) -> Option<Verdict> {
        self.sends(nack(self.answering(short, nonce)))
    }

    pub(super) fn type_of(&self, short: &str) -> &TypeSubscription {
        let mut types = self.session.types().iter();
        types.find(|of_type| *of_type.type_url() == type_url(short)).expect("it was asked for")
    }

    /// The names that are subscribed, in order.
    pub(super) fn subscribed(&self, short: &str) -> Vec<String> {
        let subscription = self.type_of(short).view().subscription();
        let mut names: Vec<String> = subscription.iter().map(|s| s.locator.name.to_string()).collect();
        names.sort_unstable();
        names
    }

    /// A batch of upstream's, as `change` fills it.
    pub(super) fn commit_batch(&mut self, short: &str, change: impl FnOnce(&mut Self, &mut Batch)) -> Commit {
        let batch = self.batch(short, change);
        self.database.commit(batch).commit
    }

    fn batch(&mut self, short: &str, change: impl FnOnce(&mut Self, &mut Batch)) -> Batch {
        let mut batch = Batch::new(type_url(short), Provenance::Local);
        batch.received = Some(self.now);
        change(self, &mut batch);
        batch
    }

    /// Upstream has these resources, with content that is new.
    pub(super) fn commit(&mut self, short: &str, names: &[&str]) -> Commit {
        self.commit_batch(short, |fixture, batch| {
            batch.upserts = names.iter().map(|name| fixture.fresh(short, name)).collect();
        })
    }

    /// Upstream has this resource, with this content.
    pub(super) fn commit_body(&mut self, short: &str, name: &str, body: &'static str) -> Commit {
        let content = Content { body: Some(Bytes::from_static(body.as_bytes())), ..Content::default() };
        let variant = self.variant(short, name, content);
        self.commit_batch(short, |_, batch| batch.upserts.push(variant))
    }

    /// Upstream has these clusters, which take the endpoints of their names from EDS.
    pub(super) fn commit_clusters(&mut self, names: &[&str]) -> Commit {
        self.commit_batch("cds", |fixture, batch| {
            batch.upserts = names.iter().map(|name| fixture.fresh_cluster(name)).collect();
        })
    }

    /// A cluster with new content.
    pub(super) fn fresh_cluster(&mut self, name: &str) -> Variant {
        let content = Content { eds_name: Some(name.into()), ..self.fresh("cds", name).content().clone() };
        self.variant("cds", name, content)
    }

    /// A resource with new content.
    pub(super) fn fresh(&mut self, short: &str, name: &str) -> Variant {
        self.contents += 1;
        let body = format!("content {:0>1$}", self.contents, self.body_size);
        self.variant(short, name, Content { body: Some(body.into()), ..Content::default() })
    }

    /// A resource with this content.
    pub(super) fn variant(&mut self, short: &str, name: &str, content: Content) -> Variant {
        let variant = Variant::new(VariantKey::new(name, Constraints::unconstrained()), content);
        let version = variant.version(Form::Plain).to_string();
        self.versions.insert((short.to_owned(), name.to_owned()), version);
        variant
    }

    /// The version of the newest content of a resource.
    pub(super) fn version(&self, short: &str, name: &str) -> String {
        self.versions[&(short.to_owned(), name.to_owned())].clone()
    }

    /// Upstream has removed these.
    pub(super) fn remove(&mut self, short: &str, names: &[&str]) -> Commit {
        self.commit_batch(short, |_, batch| batch.removals = names.iter().map(|name| anyones(name)).collect())
    }

    /// Others subscribe, so that upstream has something to answer.
    fn others_subscribe(&mut self, short: &str, names: &[&str]) {
        let names: Vec<_> = names.iter().map(|name| Selector::plain(*name, parameters())).collect();
        self.others_select(short, &names);
    }

    /// As [`Self::others_subscribe`].
    pub(super) fn others_select(&mut self, short: &str, selectors: &[Selector]) {
        let (change, subscriber) = (SubscriptionChange::adding(selectors), Arc::clone(&self.subscriber));
        let others = self.database.attach(&type_url(short), change, subscriber);
        self.others.push(others.expect("nothing is limited"));
    }

    /// Upstream has nothing by these names, as it has sent, or as its silence shows.
    pub(super) fn absent(&mut self, short: &str, names: &[&str], absence: Absence) {
        self.others_subscribe(short, names);
        self.commit_batch(short, |_, batch| {
            let absent = |name: &&str| Absent { name: (*name).into(), scope: Scope::All, absence };
            batch.absent = names.iter().map(absent).collect();
        });
    }

    /// Upstream has sent all of the collections of a type.
    pub(super) fn answer(&mut self, short: &str) {
        self.others_subscribe(short, &[WILDCARD]);
        self.commit_batch(short, |_, batch| batch.answered.push(Answered::all()));
    }

    /// Upstream has an error for these.
    pub(super) fn fail(&mut self, short: &str, names: &[&str], error: &ResourceError) {
        self.others_subscribe(short, names);
        self.commit_batch(short, |_, batch| {
            batch.errors = names.iter().map(|name| failed(name, error)).collect();
        });
    }

    /// Upstream cannot deliver these for now.
    pub(super) fn fail_for_now(&mut self, short: &str, names: &[&str]) {
        self.fail(short, names, &ResourceError::new(Code::UNAVAILABLE, "no luck"));
    }

    /// A batch whose answers are counted.
    pub(super) fn watched(&mut self, short: &str, change: impl FnOnce(&mut Self, &mut Batch)) -> Watch {
        let batch = self.batch(short, change);
        self.database.commit_watched(batch, 100, Arc::new(Nobody))
    }

    /// Does something in the middle of the next response.
    pub(super) fn midway(&mut self, short: &str, name: &str) {
        let (database, variant) = (self.database.clone(), self.fresh(short, name));
        let mut batch = Batch::new(type_url(short), Provenance::Local);
        batch.upserts.push(variant);
        let commit = move || {
            database.commit(batch);
        };
        self.responses.cache().0.replace(Some(Box::new(commit)));
    }

    /// The next response.
    pub(super) fn transmit(&mut self) -> Option<Response> {
        let transmit = self.session.poll_transmit(&self.responses, self.now)?;
        let response = Response::decode(self.dialect, &transmit.frame);
        assert_eq!(response.nonce, transmit.nonce.to_string());
        Some(Response { version: transmit.version.to_string(), ..response })
    }

    /// Everything that leaves now.
    pub(super) fn drain(&mut self) -> Vec<Response> {
        std::iter::from_fn(|| self.transmit()).collect()
    }

    /// Everything that leaves now, and once the client has had the time to leave what is gone.
    pub(super) fn drain_later(&mut self) -> Vec<Response> {
        let mut left = self.drain();
        assert_eq!(self.passes(1000), [Wait::Leaving], "{left:?}");
        left.extend(self.drain());
        left
    }

    /// The one response that leaves now.
    pub(super) fn only(&mut self) -> Response {
        let mut left = self.drain();
        assert_eq!(left.len(), 1, "{left:?}");
        left.remove(0)
    }

    /// Time passes.
    pub(super) fn passes(&mut self, millis: u64) -> Vec<Wait> {
        self.now += Duration::from_millis(millis);
        self.session.handle_timeout(self.now)
    }

    /// In how many milliseconds something will have waited for long enough.
    pub(super) fn due_in(&self) -> Option<u128> {
        self.session.poll_timeout().map(|at| at.saturating_duration_since(self.now).as_millis())
    }
}

/// Those of the client's plain names.
pub(super) fn parameters() -> DynamicParameters {
    [("env", "prod")].into_iter().collect()
}

fn session(transport: ClientTransport, kind: ClientKind) -> Session {
    session_of(transport, ClientProfile { kind, parameters: parameters().into(), ..ClientProfile::default() })
}

fn session_of(transport: ClientTransport, client: ClientProfile) -> Session {
    Session::new(transport, Arc::new(client), WRAPPING, Arc::default(), 0)
}

pub(super) fn anyones(name: &str) -> VariantKey {
    VariantKey::new(name, Constraints::unconstrained())
}

pub(super) fn failed(name: &str, error: &ResourceError) -> Failed {
    Failed { name: name.into(), scope: Scope::All, error: Arc::new(error.clone()) }
}

/// A client of `a` and `b` of all these types that has been sent both.
pub(super) fn client_of(dialect: Dialect, types: &[&'static str]) -> Fixture {
    let mut fixture = Fixture::new(dialect);
    for short in types {
        fixture.commit(short, &["a", "b"]);
        fixture.subscribe(short, &["a", "b"]);
    }
    assert_eq!(fixture.drain().len(), types.len());
    fixture
}
