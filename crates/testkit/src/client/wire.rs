//! The gRPC stream under a client.

use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};
use tonic_prost::ProstCodec;
use weir_wire::call::SingleCall;
use weir_wire::discovery::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};

use super::{Dialect, Received};

/// One side sends, the other is started by the server's first bytes: servers may hold their headers back until
/// they have something to send, so nothing waits for them before it must.
pub(super) enum Stream {
    Sotw(Side<DiscoveryRequest, DiscoveryResponse>),
    Delta(Side<DeltaDiscoveryRequest, DeltaDiscoveryResponse>),
}

pub(super) struct Side<Q, R> {
    requests: Option<mpsc::UnboundedSender<Q>>,
    opening: tokio::task::JoinHandle<Result<Streaming<R>, Status>>,
    responses: Option<Result<Streaming<R>, Status>>,
}

impl Stream {
    pub(super) fn open(dialect: Dialect, channel: Channel, path: &str) -> Self {
        match dialect {
            Dialect::Sotw => Self::Sotw(Side::open(channel, path)),
            Dialect::Delta => Self::Delta(Side::open(channel, path)),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        match self {
            Self::Sotw(_) => Dialect::Sotw,
            Self::Delta(_) => Dialect::Delta,
        }
    }

    /// Requests after the end of the stream are lost, as they would be on the wire.
    pub(super) fn send_sotw(&self, request: DiscoveryRequest) {
        let Self::Sotw(side) = self else { panic!("a SotW request on a delta stream") };
        side.send(request);
    }

    pub(super) fn send_delta(&self, request: DeltaDiscoveryRequest) {
        let Self::Delta(side) = self else { panic!("a delta request on a SotW stream") };
        side.send(request);
    }

    pub(super) async fn next(&mut self) -> Result<Received, Status> {
        match self {
            Self::Sotw(side) => side.next().await.map(Received::from_sotw),
            Self::Delta(side) => side.next().await.map(Received::from_delta),
        }
    }

    pub(super) fn finish(&mut self) {
        match self {
            Self::Sotw(side) => side.requests = None,
            Self::Delta(side) => side.requests = None,
        }
    }
}

impl<Q: Message + 'static, R: Message + Default + 'static> Side<Q, R> {
    fn open(channel: Channel, path: &str) -> Self {
        let (requests, outbound) = mpsc::unbounded_channel();
        let path = PathAndQuery::try_from(path).expect("a path");
        let opening = tokio::spawn(async move {
            let mut client = Grpc::new(SingleCall::over(channel));
            client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            let outbound = tonic::Request::new(UnboundedReceiverStream::new(outbound));
            let opened = client.streaming(outbound, path, ProstCodec::<Q, R>::default()).await;
            opened.map(tonic::Response::into_inner)
        });
        Self { requests: Some(requests), opening, responses: None }
    }
}

impl<Q, R> Side<Q, R> {
    fn send(&self, request: Q) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(request);
        }
    }

    /// Cancel-safe: what came stays if the caller stops waiting.
    async fn next(&mut self) -> Result<R, Status> {
        let responses = match &mut self.responses {
            Some(responses) => responses,
            none => none.insert((&mut self.opening).await.expect("opening a stream does not panic")),
        };
        match responses.as_mut().map_err(|status| status.clone())?.message().await {
            Ok(Some(response)) => Ok(response),
            Ok(None) => Err(Status::new(Code::Ok, "the server ended the stream")),
            Err(status) => Err(status),
        }
    }
}
