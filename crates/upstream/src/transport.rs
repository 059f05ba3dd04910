//! One gRPC stream to a control plane, the same to the eye in both dialects.

use std::pin::Pin;

use futures_core::Stream;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};
use weir_protocol::Dialect;
use weir_protocol::client::{Request, Response};
use weir_wire::discovery::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;

use crate::Settings;
use crate::codec::{Writer, read_delta, read_sotw};

/// How many requests may wait for the connection to take them.
const REQUEST_BUFFER: usize = 4;

/// Both directions of a stream. Dropping it closes the stream.
pub(crate) struct Open {
    pub(crate) requests: mpsc::Sender<Request>,
    pub(crate) responses: Responses,
}

pub(crate) type Responses = Pin<Box<dyn Stream<Item = Result<Response, Status>> + Send>>;

/// A connection to `endpoint`.
pub(crate) async fn connect(settings: &Settings, endpoint: &str) -> Result<Channel, tonic::transport::Error> {
    Endpoint::from_shared(endpoint.to_owned())?
        .connect_timeout(settings.connect_timeout)
        .http2_keep_alive_interval(settings.keepalive_interval)
        .keep_alive_timeout(settings.keepalive_timeout)
        .keep_alive_while_idle(true)
        .http2_adaptive_window(true)
        .tcp_nodelay(true)
        .connect()
        .await
}

/// Opens a stream on `channel`. A server may hold back its headers until it has something to say, so the call
/// is made by reading the responses, while requests can be sent already.
pub(crate) fn open(settings: &Settings, channel: Channel, writer: Writer) -> Open {
    let (requests, outgoing) = mpsc::channel(REQUEST_BUFFER);
    let outgoing = ReceiverStream::new(outgoing);
    let mut client = AggregatedDiscoveryServiceClient::new(channel)
        .max_decoding_message_size(settings.max_message_size)
        .max_encoding_message_size(usize::MAX);
    let responses: Responses = match settings.dialect {
        Dialect::Sotw => {
            let outgoing = outgoing.map(move |request| writer.sotw(request));
            let call = async move { client.stream_aggregated_resources(outgoing).await };
            Box::pin(stream::once(call).map_ok(|answer| answer.into_inner()).try_flatten().map_ok(read_sotw))
        }
        Dialect::Delta => {
            let outgoing = outgoing.map(move |request| writer.delta(request));
            let call = async move { client.delta_aggregated_resources(outgoing).await };
            Box::pin(stream::once(call).map_ok(|answer| answer.into_inner()).try_flatten().map_ok(read_delta))
        }
    };
    Open { requests, responses }
}
