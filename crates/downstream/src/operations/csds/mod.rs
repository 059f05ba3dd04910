//! CSDS (`envoy.service.status.v3`): what each client is supposed to have, and its errors.
//!
//! Each request is answered from what is there when it comes. Clients come a few in a response, so that the status of
//! a whole fleet takes no more memory than its largest part; only who fetches gets all in one.

mod matching;
mod status;

use std::iter::Peekable;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use prost::Message;
use tonic::{Request, Response, Status, Streaming};
use tonic_reflection::server::v1::{ServerReflection, ServerReflectionServer};
use weir_database::Database;
use weir_wire::status::client_status_discovery_service_server::{
    ClientStatusDiscoveryService, ClientStatusDiscoveryServiceServer,
};
use weir_wire::status::{ClientConfig, ClientStatusRequest, ClientStatusResponse};

use super::{SharedSources, Sources};
use crate::clients::Registry;
use matching::Matchers;
use status::Contents;

/// The most matchers in a request.
const MAX_MATCHERS: usize = 1000;

/// The largest request, in bytes.
const MAX_REQUEST: usize = 1 << 20;

pub(super) fn service(
    registry: Registry,
    database: Database,
    limit: usize,
) -> ClientStatusDiscoveryServiceServer<Statuses> {
    let sources = Arc::new(Sources { registry, database });
    let server = ClientStatusDiscoveryServiceServer::new(Statuses { sources, limit });
    // A client with more than others can take is shown all the same, to those who raise their limit.
    server.max_decoding_message_size(MAX_REQUEST).max_encoding_message_size(usize::MAX)
}

/// Reflection for all that is served here, with every type of Envoy's API, so that tools can show resources.
pub(super) fn reflection()
-> Result<ServerReflectionServer<impl ServerReflection>, tonic_reflection::server::Error> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(weir_wire::json::descriptors())
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
}

pub(super) struct Statuses {
    sources: SharedSources,
    /// The largest response, in bytes, as far as it can be cut.
    limit: usize,
}

type Answers = Pin<Box<dyn Stream<Item = Result<ClientStatusResponse, Status>> + Send>>;

impl Statuses {
    /// The clients that a request asks about, one after the other.
    fn clients(
        &self,
        request: ClientStatusRequest,
    ) -> Result<impl Iterator<Item = ClientConfig> + Send + use<>, Status> {
        let matchers = Matchers::new(&request.node_matchers, MAX_MATCHERS)?;
        let sources = Arc::clone(&self.sources);
        let mut contents = Contents::new(sources.database.clone(), !request.exclude_resource_contents);
        Ok(sources.registry.ids().into_iter().filter_map(move |id| {
            let snapshot = sources.registry.get(id)?;
            let node = snapshot.client.node();
            matchers.admit(&node).then(|| contents.config(&snapshot, node))
        }))
    }

    /// The answer to a request in responses of bounded size; at least one.
    fn answer(&self, request: ClientStatusRequest) -> Answers {
        let limit = self.limit;
        let clients = match self.clients(request) {
            Ok(clients) => clients.peekable(),
            Err(status) => return Box::pin(stream::once(async { Err(status) })),
        };
        Box::pin(stream::try_unfold((clients, true), move |(mut clients, first)| async move {
            // Whom the matchers pass over is looked at too, and clients are not to wait for that.
            let made = tokio::task::spawn_blocking(move || (next_clients(&mut clients, limit), clients));
            let (config, clients) = made.await.map_err(|error| Status::internal(error.to_string()))?;
            let any = first || !config.is_empty();
            Ok(any.then(|| (ClientStatusResponse { config }, (clients, false))))
        }))
    }
}

/// As many of the next ones as fit into `limit` bytes, but one at least, if there is any.
fn next_clients(
    clients: &mut Peekable<impl Iterator<Item = ClientConfig>>,
    limit: usize,
) -> Vec<ClientConfig> {
    let (mut config, mut size) = (Vec::new(), 0);
    while let Some(next) = clients.peek() {
        size += next.encoded_len();
        if size > limit && !config.is_empty() {
            break;
        }
        config.extend(clients.next());
    }
    config
}

#[tonic::async_trait]
impl ClientStatusDiscoveryService for Statuses {
    type StreamClientStatusStream = Answers;

    async fn stream_client_status(
        &self,
        request: Request<Streaming<ClientStatusRequest>>,
    ) -> Result<Response<Answers>, Status> {
        let this = Self { sources: Arc::clone(&self.sources), limit: self.limit };
        let answers = request.into_inner().map_ok(move |request| this.answer(request));
        Ok(Response::new(Box::pin(answers.try_flatten())))
    }

    async fn fetch_client_status(
        &self,
        request: Request<ClientStatusRequest>,
    ) -> Result<Response<ClientStatusResponse>, Status> {
        let mut answers = self.answer(request.into_inner());
        let first = answers.next().await.unwrap_or_else(|| Ok(ClientStatusResponse::default()))?;
        if answers.next().await.is_some() {
            let limit = self.limit;
            return Err(Status::resource_exhausted(format!(
                "the clients do not fit into a response of {limit} bytes (downstream.max_response_size): \
                 ask for fewer by node_matchers, without exclude_resource_contents = false, or by StreamClientStatus"
            )));
        }
        Ok(Response::new(first))
    }
}
