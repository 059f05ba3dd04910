//! What a client may call, by path.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;

use http::{Request as HttpRequest, Response as HttpResponse, StatusCode, Version};
use http_body_util::Either;
use hyper::body::Incoming;
use tonic::Status;
use tonic::body::Body;
use weir_wire::discovery::DiscoveryRequest;
use weir_wire::request::DeltaRequest;

use crate::connection::Within;
use crate::messages::Messages;
use crate::request::Request;
use crate::stream::{ResponseBody, Shared, Stream};

/// The methods of `envoy.service.discovery.v3.AggregatedDiscoveryService`.
const AGGREGATED: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/";

/// The services, for the clients of one connection.
pub(crate) struct Services {
    pub(crate) shared: Arc<Shared>,
    pub(crate) within: Within,
}

/// A stream, or an answer that is complete.
type Response = HttpResponse<Either<ResponseBody, Body>>;

impl Services {
    fn answer(&self, request: HttpRequest<Incoming>) -> Response {
        if request.version() < Version::HTTP_2 {
            return refuse(StatusCode::NOT_FOUND);
        }
        let path = request.uri().path();
        match path.strip_prefix(AGGREGATED) {
            Some("StreamAggregatedResources") => self.stream::<DiscoveryRequest>(request),
            Some("DeltaAggregatedResources") => self.stream::<DeltaRequest>(request),
            _ => Status::unimplemented(format!("there is no method {path}")).into_http().map(Either::Right),
        }
    }

    fn stream<R: Request>(&self, request: HttpRequest<Incoming>) -> Response {
        let requests = Messages::<R, _>::new(request.into_body(), self.shared.limits.message);
        let body = Stream::open(Arc::clone(&self.shared), requests, &self.within);
        let mut response = HttpResponse::new(Either::Left(body));
        response.headers_mut().insert(http::header::CONTENT_TYPE, tonic::metadata::GRPC_CONTENT_TYPE);
        response
    }
}

fn refuse(status: StatusCode) -> Response {
    let mut response = HttpResponse::new(Either::Right(Body::empty()));
    *response.status_mut() = status;
    response
}

impl hyper::service::Service<HttpRequest<Incoming>> for Services {
    type Response = Response;
    type Error = Infallible;
    type Future = Ready<Result<Response, Infallible>>;

    fn call(&self, request: HttpRequest<Incoming>) -> Self::Future {
        ready(Ok(self.answer(request)))
    }
}
