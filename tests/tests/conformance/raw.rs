//! A stream that carries whatever bytes the test sends, for what no well-behaved client sends.

use std::net::SocketAddr;

use bytes::Bytes;
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic::{Request, Status};
use weir_testkit::Dialect;
use weir_testkit::raw::Raw;

/// Sends one message that consists of these bytes, and returns the status that the stream ends with.
pub async fn send(dialect: Dialect, server: SocketAddr, message: Bytes) -> Status {
    let channel = Endpoint::from_shared(format!("http://{server}")).expect("an address is a URI");
    let mut grpc = Grpc::new(channel.connect().await.expect("the server listens"));
    grpc.ready().await.expect("the connection stands");
    let method = match dialect {
        Dialect::Sotw => "StreamAggregatedResources",
        Dialect::Delta => "DeltaAggregatedResources",
    };
    let path = format!("/envoy.service.discovery.v3.AggregatedDiscoveryService/{method}");
    // The requests do not end: the server has to end the stream by itself.
    let requests = tokio_stream::StreamExt::chain(tokio_stream::once(message), tokio_stream::pending());
    match grpc.streaming(Request::new(requests), path.parse().expect("a path"), Raw).await {
        Err(status) => status,
        Ok(response) => {
            let ended = response.into_inner().message().await;
            ended.expect_err("the stream ends with an error")
        }
    }
}
