//! A client that sends what the test wants, over real gRPC, and hands over what comes.
//!
//! It keeps no state but what acknowledging takes: the names that it asked for last (SotW repeats them in
//! each request) and the version that it accepted last.

mod load;
mod received;
mod rest;
mod wire;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use weir_wire::discovery::{self, DeltaDiscoveryRequest, DiscoveryRequest, ResourceLocator};

pub use load::LoadClient;
pub use received::{Received, ReceivedResource};
pub use rest::RestClient;

use self::wire::Stream;
use crate::node::NodeBuilder;
use crate::resource::PROBE;
use crate::service::Service;
use crate::tls::Secured;
use crate::wait::{PATIENCE, within};

/// The two ways to use xDS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// State of the world.
    Sotw,
    /// Incremental.
    Delta,
}

/// Both, for tests that hold for either.
pub const DIALECTS: [Dialect; 2] = [Dialect::Sotw, Dialect::Delta];

/// One stream.
pub struct XdsClient {
    stream: Stream,
    /// Goes out with the first request.
    node: Option<Bytes>,
    topics: BTreeMap<String, Topic>,
    /// What came while something else was waited for.
    pending: Vec<Received>,
    probes: usize,
}

/// A connection, for several streams.
#[derive(Clone)]
pub struct Connection(Channel);

impl Connection {
    /// Connects. Panics if nobody listens.
    pub async fn to(server: SocketAddr) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{server}")).expect("an address is a URI");
        let channel = within(format!("a connection to {server}"), endpoint.connect()).await;
        Self(channel.unwrap_or_else(|e| panic!("connect to {server}: {e:?}")))
    }

    /// Connects, if somebody listens. The server is pinged after so much silence, and taken for dead if it has not
    /// answered, or accepted the connection, within `timeout`.
    pub async fn kept_alive(server: SocketAddr, silence: Duration, timeout: Duration) -> Option<Self> {
        let endpoint = Endpoint::from_shared(format!("http://{server}")).expect("an address is a URI");
        let endpoint = endpoint
            .connect_timeout(timeout)
            .http2_keep_alive_interval(silence)
            .keep_alive_timeout(timeout)
            .keep_alive_while_idle(true);
        endpoint.connect().await.ok().map(Self)
    }

    /// Connects over TLS.
    ///
    /// # Errors
    /// When either side rejects the other, and reports it in time: a server may do so later.
    pub async fn secured(server: SocketAddr, secured: &Secured) -> Result<Self, String> {
        let endpoint = Endpoint::from_static("http://localhost");
        let connecting = endpoint.connect_with_connector(secured.connector(server));
        let channel = within(format!("a TLS connection to {server}"), connecting).await;
        channel.map(Self).map_err(|e| format!("{e:?}"))
    }

    /// Opens an ADS stream.
    pub fn ads(&self, dialect: Dialect, node: &NodeBuilder) -> XdsClient {
        self.open(&Service::Ads.path(dialect), dialect, node)
    }

    /// Opens a stream by calling the method at `path`.
    pub fn open(&self, path: &str, dialect: Dialect, node: &NodeBuilder) -> XdsClient {
        let stream = Stream::open(dialect, self.0.clone(), path);
        let node = Some(node.encode());
        XdsClient { stream, node, topics: BTreeMap::new(), pending: Vec::new(), probes: 0 }
    }
}

#[derive(Default)]
struct Topic {
    names: Vec<String>,
    locators: Vec<ResourceLocator>,
    version: String,
    nonce: String,
}

impl XdsClient {
    /// Opens an ADS stream in this dialect. Panics if nobody listens.
    pub async fn connect(dialect: Dialect, server: SocketAddr, node: &NodeBuilder) -> Self {
        Self::on(Service::Ads, dialect, server, node).await
    }

    /// Opens a stream of this service in this dialect. Panics if nobody listens.
    pub async fn on(service: Service, dialect: Dialect, server: SocketAddr, node: &NodeBuilder) -> Self {
        Connection::to(server).await.open(&service.path(dialect), dialect, node)
    }

    /// Opens a SotW stream.
    pub async fn sotw(server: SocketAddr, node: &NodeBuilder) -> Self {
        Self::connect(Dialect::Sotw, server, node).await
    }

    /// Opens a delta stream.
    pub async fn delta(server: SocketAddr, node: &NodeBuilder) -> Self {
        Self::connect(Dialect::Delta, server, node).await
    }

    /// The protocol version.
    pub fn dialect(&self) -> Dialect {
        self.stream.dialect()
    }

    /// Subscribes to names beside what is subscribed already; to none of them, which is the legacy wildcard in a
    /// first request.
    pub fn subscribe(&mut self, type_url: &str, names: &[&str]) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        self.change(type_url, Change { names, ..Change::default() });
    }

    /// Subscribes to locators beside what is subscribed already.
    pub fn locate(&mut self, type_url: &str, locators: &[ResourceLocator]) {
        self.change(type_url, Change { locators: locators.to_vec(), ..Change::default() });
    }

    /// Takes names back.
    pub fn unsubscribe(&mut self, type_url: &str, names: &[&str]) {
        let unnamed = names.iter().map(|name| (*name).to_owned()).collect();
        self.change(type_url, Change { unnamed, ..Change::default() });
    }

    /// Takes locators back.
    pub fn unlocate(&mut self, type_url: &str, locators: &[ResourceLocator]) {
        self.change(type_url, Change { unlocated: locators.to_vec(), ..Change::default() });
    }

    /// Changes the subscriptions of a type in one request.
    pub fn change(&mut self, type_url: &str, change: Change) {
        let topic = self.topics.entry(type_url.to_owned()).or_default();
        topic.names.retain(|name| !change.unnamed.contains(name));
        topic.locators.retain(|locator| !change.unlocated.contains(locator));
        topic.names.extend(change.names.iter().cloned());
        topic.locators.extend(change.locators.iter().cloned());
        match self.stream.dialect() {
            Dialect::Sotw => {
                if let Some(version) = change.version {
                    topic.version = version;
                }
                let request = self.sotw_request(type_url);
                self.send_sotw(request);
            }
            Dialect::Delta => self.send_delta(DeltaDiscoveryRequest {
                type_url: type_url.to_owned(),
                resource_names_subscribe: change.names,
                resource_names_unsubscribe: change.unnamed,
                resource_locators_subscribe: change.locators,
                resource_locators_unsubscribe: change.unlocated,
                initial_resource_versions: change.initial_versions.into_iter().collect(),
                ..DeltaDiscoveryRequest::default()
            }),
        }
    }

    /// Sends the state of a SotW subscription again, as it is: names, last accepted version, last nonce.
    pub fn ask_again(&mut self, type_url: &str) {
        let request = self.sotw_request(type_url);
        self.send_sotw(request);
    }

    /// Accepts a response.
    pub fn ack(&mut self, received: &Received) {
        self.answer(received, None);
    }

    /// Rejects a response, as Envoy does: the version stays the last accepted one.
    pub fn nack(&mut self, received: &Received, message: &str) {
        let status = discovery::Status { code: Code::InvalidArgument as i32, message: message.to_owned() };
        self.answer(received, Some(status));
    }

    fn answer(&mut self, received: &Received, error: Option<discovery::Status>) {
        let topic = self.topics.entry(received.type_url.clone()).or_default();
        topic.nonce.clone_from(&received.nonce);
        if error.is_none() {
            topic.version.clone_from(&received.version);
        }
        match self.dialect() {
            Dialect::Sotw => {
                let request = self.sotw_request(&received.type_url);
                self.send_sotw(DiscoveryRequest { error_detail: error, ..request });
            }
            Dialect::Delta => self.send_delta(DeltaDiscoveryRequest {
                type_url: received.type_url.clone(),
                response_nonce: received.nonce.clone(),
                error_detail: error,
                ..DeltaDiscoveryRequest::default()
            }),
        }
    }

    fn sotw_request(&self, type_url: &str) -> DiscoveryRequest {
        let topic = self.topics.get(type_url);
        DiscoveryRequest {
            type_url: type_url.to_owned(),
            version_info: topic.map(|t| t.version.clone()).unwrap_or_default(),
            response_nonce: topic.map(|t| t.nonce.clone()).unwrap_or_default(),
            resource_names: topic.map(|t| t.names.clone()).unwrap_or_default(),
            resource_locators: topic.map(|t| t.locators.clone()).unwrap_or_default(),
            ..DiscoveryRequest::default()
        }
    }

    /// Sends a request of the test's own; the node is added if it is the first and has none.
    pub fn send_sotw(&mut self, mut request: DiscoveryRequest) {
        request.node = request.node.or(self.node.take());
        self.stream.send_sotw(request);
    }

    /// Sends a request of the test's own; the node is added if it is the first and has none.
    pub fn send_delta(&mut self, mut request: DeltaDiscoveryRequest) {
        request.node = request.node.or(self.node.take());
        self.stream.send_delta(request);
    }

    /// The next response, of whatever type. Panics if the stream ends, or nothing comes.
    pub async fn receive(&mut self) -> Received {
        if !self.pending.is_empty() {
            return self.pending.remove(0);
        }
        self.receive_from_stream("a response").await
    }

    /// The next response, of whatever type; why the stream ended; or none within `limit`.
    pub async fn try_receive(&mut self, limit: Duration) -> Option<Result<Received, Status>> {
        if !self.pending.is_empty() {
            return Some(Ok(self.pending.remove(0)));
        }
        self.receive_within(limit).await
    }

    /// The next response of this type; others are kept for later.
    pub async fn receive_type(&mut self, type_url: &str) -> Received {
        if let Some(found) = self.pending.iter().position(|r| r.type_url == type_url) {
            return self.pending.remove(found);
        }
        loop {
            let received = self.receive_from_stream(&format!("a response of type {type_url}")).await;
            if received.type_url == type_url {
                return received;
            }
            self.pending.push(received);
        }
    }

    /// The next response of this type, accepted at once.
    pub async fn accept(&mut self, type_url: &str) -> Received {
        let received = self.receive_type(type_url).await;
        self.ack(&received);
        received
    }

    async fn receive_from_stream(&mut self, what: &str) -> Received {
        match self.receive_within(PATIENCE).await {
            Some(Ok(received)) => received,
            Some(Err(status)) => panic!("waiting for {what}, the stream ended: {status}"),
            None => panic!("waited {} s in vain for {what}; pending: {:?}", PATIENCE.as_secs(), self.pending),
        }
    }

    async fn receive_within(&mut self, limit: Duration) -> Option<Result<Received, Status>> {
        tokio::time::timeout(limit, self.stream.next()).await.ok()
    }

    /// Why the server ended the stream; panics if it does not. Responses that come first are kept.
    pub async fn closed(&mut self) -> Status {
        loop {
            match self.receive_within(PATIENCE).await {
                Some(Ok(received)) => self.pending.push(received),
                Some(Err(status)) => return status,
                None => panic!("the stream was not ended within {} s", PATIENCE.as_secs()),
            }
        }
    }

    /// Ends the requests; the server then ends the responses.
    pub fn finish(&mut self) {
        self.stream.finish();
    }

    /// Proves that nothing but acknowledged business is on its way: subscribes to a [`PROBE`], which is
    /// answered behind everything that came before it, and panics if anything else comes first.
    ///
    /// The server must have probes: a [`crate::FakeControlPlane`] has every name of that type, also through
    /// a proxy; a proxy over files has those that the test put there, as `probe-1`, `probe-2`, ….
    pub async fn expect_nothing(&mut self) {
        let surprises = self.drain().await;
        assert!(surprises.is_empty(), "nothing was expected, but there came {surprises:#?}");
    }

    /// Everything that was on its way, by the same means as [`Self::expect_nothing`].
    pub async fn drain(&mut self) -> Vec<Received> {
        self.probes += 1;
        let name = format!("probe-{}", self.probes);
        self.subscribe(PROBE, &[&name]);
        let mut drained = std::mem::take(&mut self.pending);
        loop {
            let received = self.receive_from_stream("the answer to a probe").await;
            if received.type_url != PROBE {
                drained.push(received);
                continue;
            }
            self.ack(&received);
            if received.resources.iter().any(|resource| resource.name == name) {
                return drained;
            }
        }
    }
}

/// What one request changes.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Names to subscribe to.
    pub names: Vec<String>,
    /// Locators to subscribe to.
    pub locators: Vec<ResourceLocator>,
    /// Names to take back.
    pub unnamed: Vec<String>,
    /// Locators to take back.
    pub unlocated: Vec<ResourceLocator>,
    /// SotW: the version that is stated from now on, as if it had been accepted on an earlier stream.
    pub version: Option<String>,
    /// Delta: the versions that are stated.
    pub initial_versions: BTreeMap<String, String>,
}
