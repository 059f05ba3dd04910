//! The control plane's gRPC service: reads what is subscribed and answers it.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};
use weir_wire::discovery::aggregated_discovery_service_server::{
    AggregatedDiscoveryService, AggregatedDiscoveryServiceServer,
};
use weir_wire::discovery::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse, ResourceLocator,
};

use super::{BACKLOG, State, Stream};
use crate::load::resources::{self, Key};

const MAX_REQUEST: usize = 64 << 20;

pub(super) async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    let service =
        AggregatedDiscoveryServiceServer::new(Service(state)).max_decoding_message_size(MAX_REQUEST);
    // Large responses would wait for delayed acknowledgements otherwise: 40 ms for every 64 KiB.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let server = tonic::transport::Server::builder().add_service(service);
    // If it ends, the run does not get on and reports it.
    let _ = server.serve_with_incoming(incoming).await;
}

struct Service(Arc<Mutex<State>>);

type Replies<T> = ReceiverStream<Result<T, Status>>;

#[tonic::async_trait]
impl AggregatedDiscoveryService for Service {
    type StreamAggregatedResourcesStream = Replies<DiscoveryResponse>;
    type DeltaAggregatedResourcesStream = Replies<DeltaDiscoveryResponse>;

    async fn stream_aggregated_resources(
        &self,
        _: Request<Streaming<DiscoveryRequest>>,
    ) -> Result<Response<Self::StreamAggregatedResourcesStream>, Status> {
        Err(Status::unimplemented("this control plane supports the incremental dialect only"))
    }

    async fn delta_aggregated_resources(
        &self,
        request: Request<Streaming<DeltaDiscoveryRequest>>,
    ) -> Result<Response<Self::DeltaAggregatedResourcesStream>, Status> {
        let (responses, replies) = mpsc::channel(BACKLOG);
        tokio::spawn(read(Arc::clone(&self.0), request.into_inner(), responses));
        Ok(Response::new(ReceiverStream::new(replies)))
    }
}

async fn read(
    state: Arc<Mutex<State>>,
    mut requests: Streaming<DeltaDiscoveryRequest>,
    responses: super::Responses,
) {
    let stream = {
        let mut state = state.lock();
        state.streams.push(Stream { responses: responses.clone(), subscribed: Default::default() });
        state.streams.len() - 1
    };
    let mut known = HashSet::new();
    while let Ok(Some(request)) = requests.message().await {
        let first = known.insert(request.type_url.clone());
        let answer = subscribe(&mut state.lock(), stream, request, first);
        if let Some(answer) = answer
            && responses.send(Ok(answer)).await.is_err()
        {
            return;
        }
    }
}

/// Records what is wanted from now on; `first`: whether this is the first request of this type.
fn subscribe(
    state: &mut State,
    stream: usize,
    request: DeltaDiscoveryRequest,
    first: bool,
) -> Option<DeltaDiscoveryResponse> {
    if let Some(error) = request.error_detail {
        state.rejected.get_or_insert(error.message);
    }
    let type_url = request.type_url;
    let mut added = keys(request.resource_names_subscribe, request.resource_locators_subscribe);
    let gone = keys(request.resource_names_unsubscribe, request.resource_locators_unsubscribe);
    if first && added.is_empty() && request.response_nonce.is_empty() {
        added.insert(Key { name: "*".to_owned(), variant: None });
    }
    let subscribed = state.streams[stream].subscribed.entry(type_url.clone()).or_default();
    subscribed.0.retain(|key| !gone.contains(key));
    subscribed.0.extend(added.iter().cloned());
    (!added.is_empty()).then(|| state.answer(&type_url, &added))
}

fn keys(names: Vec<String>, locators: Vec<ResourceLocator>) -> HashSet<Key> {
    let named = names.into_iter().map(|name| Key { name, variant: None });
    let located = locators.into_iter().map(|mut locator| Key {
        variant: locator.dynamic_parameters.remove(resources::KEY),
        name: locator.name,
    });
    named.chain(located).collect()
}
