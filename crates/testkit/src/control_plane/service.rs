//! The services: REST, and for gRPC a task per stream that answers requests and sends changes.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use prost::Message as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::server::{Grpc, StreamingService};
use tonic::service::{AxumBody, Routes};
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;
use weir_wire::discovery::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse, Node,
};

use super::Shared;
use super::delta::DeltaTopic;
use super::load_stats;
use super::rest;
use super::sotw::SotwTopic;
use super::state::{self, Beat, Injected, Sent, State, Stream};
use super::wanted::Whom;
use crate::client::Dialect;
use crate::listener::Port;

/// The server while it runs.
pub(super) struct Running {
    port: Port,
    serving: JoinHandle<()>,
}

impl Running {
    pub(super) async fn start(address: SocketAddr, shared: Arc<Shared>) -> Self {
        let (port, connections) = Port::listen(address, shared.tls.clone()).await;
        let max_streams = shared.max_streams;
        let routes = Routes::default().into_axum_router().fallback_service(Service { shared });
        let builder = tonic::transport::Server::builder().max_concurrent_streams(max_streams);
        let server = builder.accept_http1(true).add_routes(Routes::from(routes));
        let serving = tokio::spawn(async move {
            server.serve_with_incoming(connections).await.expect("the control plane serves");
        });
        Self { port, serving }
    }

    pub(super) async fn stop(self) {
        self.port.close().await;
        self.serving.abort();
    }
}

#[derive(Clone)]
struct Service {
    shared: Arc<Shared>,
}

/// One logical stream: a type on a stream.
pub(super) trait Topic: Default + Send + 'static {
    /// What is sent on it.
    type Response: Outbound;

    fn handle(&mut self, request: &state::Request, whom: &Whom);

    /// What is to be sent now.
    fn poll(&mut self, state: &State, whom: &Whom, nonce: &str) -> Option<Self::Response>;

    /// What refreshes the client's resources that have a time to live.
    fn beat(&mut self, whole: bool, nonce: &str) -> Option<Self::Response>;
}

/// What differs between the dialects for a stream's task.
pub(super) trait Inbound: Send + 'static {
    fn record(self, stream: usize) -> state::Request;
}

/// A response, as far as the record cares.
pub(super) trait Outbound: Clone + Send + 'static {
    fn type_and_nonce(&self) -> (&str, &str);
    fn resource_count(&self) -> usize;
    /// The same as a response for each resource, where the dialect has that.
    fn apart(self) -> Vec<Self> {
        vec![self]
    }
    /// The injected response, if it is of this dialect.
    fn injected(injected: &Injected) -> Option<&Self>;
}

type Replies<T> = UnboundedReceiverStream<Result<T, Status>>;

/// Whatever the service is called, its methods begin with the dialect: all of them are served by one state.
impl tonic::codegen::Service<Request<AxumBody>> for Service {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<AxumBody>) -> Self::Future {
        let (path, shared) = (request.uri().path().to_owned(), Arc::clone(&self.shared));
        let method = path.rsplit('/').next().unwrap_or_default().to_owned();
        Box::pin(async move {
            Ok(if method == "StreamLoadStats" {
                load_stats::serve(shared, request).await
            } else if method.starts_with("Stream") {
                serve(Opening::<DiscoveryRequest, SotwTopic>::new(shared, Dialect::Sotw, path), request).await
            } else if method.starts_with("Delta") {
                let opening = Opening::<DeltaDiscoveryRequest, DeltaTopic>::new(shared, Dialect::Delta, path);
                serve(opening, request).await
            } else if path.starts_with(rest::PREFIX) {
                rest::answer(shared, request).await
            } else {
                Status::unimplemented(path).into_http()
            })
        })
    }
}

/// A stream that is about to be opened.
struct Opening<Q, T> {
    shared: Arc<Shared>,
    dialect: Dialect,
    path: String,
    messages: PhantomData<fn(Q) -> T>,
}

async fn serve<Q, T>(opening: Opening<Q, T>, request: Request<AxumBody>) -> Response<Body>
where
    Q: Inbound + prost::Message + Default,
    T: Topic,
    T::Response: prost::Message + Default,
{
    let mut grpc = Grpc::new(ProstCodec::<T::Response, Q>::default())
        .max_decoding_message_size(64 << 20)
        .max_encoding_message_size(64 << 20);
    grpc.streaming(opening, request).await
}

impl<Q, T> Opening<Q, T> {
    fn new(shared: Arc<Shared>, dialect: Dialect, path: String) -> Self {
        Self { shared, dialect, path, messages: PhantomData }
    }
}

impl<Q: Inbound, T: Topic> StreamingService<Q> for Opening<Q, T> {
    type Response = T::Response;
    type ResponseStream = Replies<T::Response>;
    type Future = Ready<Result<tonic::Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<Q>>) -> Self::Future {
        let (replies, outbound) = mpsc::unbounded_channel();
        let (shared, dialect, path) = (Arc::clone(&self.shared), self.dialect, self.path.clone());
        let headers = request.metadata().clone().into_headers();
        tokio::spawn(async move {
            let stream = shared.change(|state| {
                state.streams.push(Stream { dialect, path, headers, node: None, open: true, up_to: None });
                state.streams.len() - 1
            });
            drive::<Q, T>(&shared, stream, request.into_inner(), &replies).await;
            shared.change(|state| state.streams[stream].open = false);
        });
        ready(Ok(tonic::Response::new(UnboundedReceiverStream::new(outbound))))
    }
}

/// Answers and pushes until the stream ends, on whichever side.
async fn drive<Q: Inbound, T: Topic>(
    shared: &Shared,
    stream: usize,
    mut inbound: Streaming<Q>,
    replies: &mpsc::UnboundedSender<Result<T::Response, Status>>,
) {
    let mut topics: BTreeMap<String, T> = BTreeMap::new();
    let mut whom = Whom { node: Node::default(), knows: shared.parameters };
    let mut changes = shared.state.subscribe();
    let (resets, mut injected, mut beaten) = {
        let state = changes.borrow_and_update();
        (state.resets, state.injected.len(), state.beats.len())
    };
    let mut nonces = 0_u64;
    loop {
        let mut due = Vec::new();
        let (up_to, known) = {
            let state = changes.borrow_and_update();
            if state.resets != resets {
                let _ = replies.send(Err(Status::unavailable("the test ends this stream")));
                return;
            }
            if !state.paused {
                for topic in topics.values_mut() {
                    let nonce = format!("{stream}-{}", nonces + 1);
                    if let Some(response) = topic.poll(&state, &whom, &nonce) {
                        nonces += 1;
                        match state.manners.sends_one_by_one {
                            true => due.extend(response.apart()),
                            false => due.push(response),
                        }
                    }
                }
            }
            for Beat { type_url, whole } in &state.beats[beaten..] {
                let nonce = format!("{stream}-{}", nonces + 1);
                let response = topics.get_mut(type_url).and_then(|topic| topic.beat(*whole, &nonce));
                nonces += u64::from(response.is_some());
                due.extend(response);
            }
            beaten = state.beats.len();
            let own = state.injected[injected..].iter().filter_map(T::Response::injected);
            due.extend(own.filter(|response| topics.contains_key(response.type_and_nonce().0)).cloned());
            injected = state.injected.len();
            ((!state.paused).then_some(state.revision), state.streams[stream].up_to)
        };
        if !due.is_empty() || up_to != known {
            shared.change(|state| {
                let after = state.requests.len();
                for response in &due {
                    let (type_url, nonce) = response.type_and_nonce();
                    let (type_url, nonce) = (type_url.to_owned(), nonce.to_owned());
                    let resources = response.resource_count();
                    state.sent.push(Sent { stream, type_url, nonce, after, resources });
                }
                state.streams[stream].up_to = up_to;
            });
        }
        for response in due {
            let _ = replies.send(Ok(response));
        }
        tokio::select! {
            _ = changes.changed() => {}
            message = inbound.message() => {
                let Ok(Some(message)) = message else { return };
                let request = message.record(stream);
                if let Some(node) = &request.node {
                    whom.node = node.clone();
                }
                topics.entry(request.type_url.clone()).or_default().handle(&request, &whom);
                shared.change(|state| {
                    state.streams[stream].up_to = None;
                    state.streams[stream].node.get_or_insert_with(|| whom.node.clone());
                    state.requests.push(request);
                });
            }
        }
    }
}

impl Inbound for DiscoveryRequest {
    fn record(self, stream: usize) -> state::Request {
        state::Request {
            stream,
            dialect: Dialect::Sotw,
            type_url: self.type_url,
            names: self.resource_names,
            locators: self.resource_locators,
            unsubscribed: Vec::new(),
            unsubscribed_locators: Vec::new(),
            nonce: self.response_nonce,
            version: self.version_info,
            initial_versions: BTreeMap::new().into_iter().collect(),
            node_bytes: self.node.as_ref().map_or(0, bytes::Bytes::len),
            node: self.node.map(|node| Node::decode(node).expect("a well-formed node")),
            error: self.error_detail,
        }
    }
}

impl Inbound for DeltaDiscoveryRequest {
    fn record(self, stream: usize) -> state::Request {
        state::Request {
            stream,
            dialect: Dialect::Delta,
            type_url: self.type_url,
            names: self.resource_names_subscribe,
            locators: self.resource_locators_subscribe,
            unsubscribed: self.resource_names_unsubscribe,
            unsubscribed_locators: self.resource_locators_unsubscribe,
            nonce: self.response_nonce,
            version: String::new(),
            initial_versions: self.initial_resource_versions,
            node_bytes: self.node.as_ref().map_or(0, bytes::Bytes::len),
            node: self.node.map(|node| Node::decode(node).expect("a well-formed node")),
            error: self.error_detail,
        }
    }
}

impl Outbound for DiscoveryResponse {
    fn type_and_nonce(&self) -> (&str, &str) {
        (&self.type_url, &self.nonce)
    }

    fn resource_count(&self) -> usize {
        self.resources.len()
    }

    fn injected(injected: &Injected) -> Option<&Self> {
        if let Injected::Sotw(response) = injected { Some(response) } else { None }
    }
}

impl Outbound for DeltaDiscoveryResponse {
    fn type_and_nonce(&self) -> (&str, &str) {
        (&self.type_url, &self.nonce)
    }

    fn resource_count(&self) -> usize {
        self.resources.len()
    }

    fn apart(self) -> Vec<Self> {
        let count = self.resources.len().max(1);
        let part = |(index, resource)| Self {
            resources: vec![resource],
            nonce: format!("{}.{index}", self.nonce),
            type_url: self.type_url.clone(),
            control_plane: self.control_plane.clone(),
            ..Self::default()
        };
        let mut parts: Vec<Self> =
            self.resources.iter().take(count - 1).cloned().enumerate().map(part).collect();
        let resources = self.resources.last().cloned().into_iter().collect();
        parts.push(Self { resources, ..self });
        parts
    }

    fn injected(injected: &Injected) -> Option<&Self> {
        if let Injected::Delta(response) = injected { Some(response) } else { None }
    }
}
