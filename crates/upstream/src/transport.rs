//! One stream to a control plane, the same to the eye in both dialects, over every service, and where it is polled.

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::{StreamExt, TryStreamExt, stream};
use opentelemetry::trace::SpanContext;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataMap;
use tonic::transport::Channel;
use tonic::{Extensions, Status, Streaming};
use weir_protocol::Dialect;
use weir_protocol::client::{Request, Response};
use weir_types::{DynamicParameters, TypeUrl};
use weir_wire::call::SingleCall;
use weir_wire::discovery::{DeltaDiscoveryResponse, DiscoveryResponse};

use crate::arrival::{self, Arrival, Moment, Timed};
use crate::codec::{Writer, read_delta, read_sotw};
use crate::connections::{Carrier, Connections, Lease, Slot};
use crate::driver::chain;
use crate::rest;
use crate::{Services, Settings};

/// How many requests may wait for the connection to take them.
pub(crate) const REQUEST_BUFFER: usize = 4;

/// Both directions of a stream. Dropping it closes the stream.
pub(crate) struct Open {
    pub(crate) requests: mpsc::Sender<Request>,
    pub(crate) responses: Responses,
    /// Its place on the connection; none where it is polled.
    pub(crate) slot: Option<Arc<Slot>>,
}

/// None in it is the word that there is nothing new.
pub(crate) type Responses = Pin<Box<dyn Stream<Item = Result<Option<(Response, Arrival)>, Status>> + Send>>;

/// Somebody who listens.
#[derive(Clone)]
pub(crate) enum Peer {
    Grpc(Lease),
    Rest(Box<rest::Http>, TypeUrl),
}

impl Peer {
    /// The connection to it, where streams share it.
    pub(crate) fn carrier(&self) -> Option<Carrier> {
        match self {
            Self::Grpc(lease) => lease.slot.carrier(),
            Self::Rest(..) => None,
        }
    }
}

/// A connection to `endpoint`, one of `connections` where these can be shared.
///
/// # Errors
/// Why there is none.
pub(crate) async fn connect(
    connections: &Connections,
    settings: &Arc<Settings>,
    endpoint: &str,
    method: &Method,
) -> Result<Peer, Arc<str>> {
    if let (Services::Rest(polling), Some(type_url)) = (settings.services, &method.implied) {
        let http = rest::connect(settings, polling, endpoint, method).await;
        return Ok(Peer::Rest(Box::new(http.map_err(|error| chain(&*error))?), type_url.clone()));
    }
    connections.lease(settings, endpoint).await.map(Peer::Grpc)
}
/// Which method is called.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    /// `/SERVICE/METHOD`.
    pub(crate) path: &'static str,
    /// The type of responses that do not state theirs: a service of a single type need not.
    pub(crate) implied: Option<TypeUrl>,
    /// What headers are filled with.
    pub(crate) header_values: DynamicParameters,
}

/// Opens a stream to `peer`.
pub(crate) fn open(settings: &Settings, peer: Peer, method: &Method, writer: Writer) -> Open {
    match peer {
        Peer::Grpc(lease) => open_grpc(settings, lease, method, writer),
        Peer::Rest(http, type_url) => rest::open(*http, type_url, writer),
    }
}

/// Opens a stream on a connection. A server may hold back its headers until it has something to send, so the call
/// is made by reading the responses, while requests can be sent already.
fn open_grpc(settings: &Settings, Lease { channel, slot }: Lease, method: &Method, writer: Writer) -> Open {
    let (requests, outgoing) = mpsc::channel(REQUEST_BUFFER);
    let outgoing = ReceiverStream::new(outgoing);
    let client = Grpc::new(SingleCall::over(channel))
        .max_decoding_message_size(settings.max_message_size)
        .max_encoding_message_size(usize::MAX);
    let metadata = MetadataMap::from_headers(settings.credentials.headers(&method.header_values));
    let implied = method.implied.as_ref().map(ToString::to_string).unwrap_or_default();
    let responses: Responses = match settings.dialect {
        Dialect::Sotw => {
            let outgoing = outgoing.map(move |request| writer.sotw(request));
            Box::pin(call(client, method.path, metadata, outgoing).map_ok(
                move |(stream, (at, mut message)): Received<DiscoveryResponse>| {
                    imply(&mut message.type_url, &implied);
                    let parent = message.trace_context.take().as_ref().and_then(arrival::of_message);
                    Some((read_sotw(message), Arrival::new(at, parent, stream)))
                },
            ))
        }
        Dialect::Delta => {
            let outgoing = outgoing.map(move |request| writer.delta(request));
            Box::pin(call(client, method.path, metadata, outgoing).map_ok(
                move |(stream, (at, mut message)): Received<DeltaDiscoveryResponse>| {
                    imply(&mut message.type_url, &implied);
                    let parent = message.trace_context.take().as_ref().and_then(arrival::of_message);
                    Some((read_delta(message), Arrival::new(at, parent, stream)))
                },
            ))
        }
    };
    Open { requests, responses, slot: Some(slot) }
}

/// A message, when it came, and what the stream belongs to.
type Received<R> = (Option<SpanContext>, (Moment, R));

fn call<Q, R>(
    mut client: Grpc<SingleCall<Channel>>,
    path: &'static str,
    metadata: MetadataMap,
    outgoing: impl Stream<Item = Q> + Send + 'static,
) -> impl Stream<Item = Result<Received<R>, Status>> + Send
where
    Q: prost::Message + 'static,
    R: prost::Message + Default + 'static,
{
    let call = async move {
        client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let (path, codec) = (PathAndQuery::from_static(path), Timed::<Q, R>::default());
        client
            .streaming(tonic::Request::from_parts(metadata, Extensions::default(), outgoing), path, codec)
            .await
    };
    let messages = |response: tonic::Response<Streaming<(Moment, R)>>| {
        let context = arrival::of_metadata(response.metadata());
        response.into_inner().map_ok(move |message| (context.clone(), message))
    };
    stream::once(call).map_ok(messages).try_flatten()
}

fn imply(type_url: &mut String, implied: &str) {
    if type_url.is_empty() {
        implied.clone_into(type_url);
    }
}
