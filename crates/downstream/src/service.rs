//! The gRPC methods, by path.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request as HttpRequest, Response as HttpResponse};
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use weir_wire::discovery::{DeltaDiscoveryRequest, DiscoveryRequest};

use crate::messages::Messages;
use crate::request::Request;
use crate::stream::{Shared, Stream};

/// `envoy.service.discovery.v3.AggregatedDiscoveryService`.
#[derive(Clone)]
pub(crate) struct AggregatedDiscovery(pub(crate) Arc<Shared>);

impl NamedService for AggregatedDiscovery {
    const NAME: &'static str = "envoy.service.discovery.v3.AggregatedDiscoveryService";
}

impl AggregatedDiscovery {
    fn stream<R: Request>(&self, request: HttpRequest<Body>) -> HttpResponse<Body> {
        let requests = Messages::<R, _>::new(request.into_body(), self.0.limits.message);
        let mut response = HttpResponse::new(Body::new(Stream::open(Arc::clone(&self.0), requests)));
        response.headers_mut().insert(http::header::CONTENT_TYPE, tonic::metadata::GRPC_CONTENT_TYPE);
        response
    }
}

impl tower_service::Service<HttpRequest<Body>> for AggregatedDiscovery {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest<Body>) -> Self::Future {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default();
        ready(Ok(match method {
            "StreamAggregatedResources" => self.stream::<DiscoveryRequest>(request),
            "DeltaAggregatedResources" => self.stream::<DeltaDiscoveryRequest>(request),
            other => Status::unimplemented(format!("there is no method {other}")).into_http(),
        }))
    }
}
