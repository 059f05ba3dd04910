//! What a client may call, by path.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;

use futures_util::future::{self, BoxFuture, FutureExt};
use http::{Request as HttpRequest, Response as HttpResponse, Version};
use http_body_util::Either;
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::body::Body;
use weir_types::Dialect;
use weir_wire::discovery::DiscoveryRequest;
use weir_wire::request::DeltaRequest;
use weir_wire::services::Service;

use crate::connection::{Watched, Within};
use crate::load_reports::LoadReports;
use crate::messages::{Bounds, Messages};
use crate::operations::Operations;
use crate::peer::Peer;
use crate::rest;
use crate::shared::Shared;
use crate::stream::{ResponseBody, Stream};
use weir_session::Request;

/// Every discovery service, for the clients of one connection: they differ in what their streams may carry, and in
/// nothing else.
pub(crate) struct Services {
    pub(crate) shared: Arc<Shared>,
    pub(crate) operations: Arc<Operations>,
    pub(crate) load_reports: Arc<LoadReports>,
    pub(crate) peer: Arc<Peer>,
    pub(crate) within: Within,
    /// Cancelled when the streams of the connection have to end.
    pub(crate) ending: CancellationToken,
}

/// A stream, or an answer that is complete.
type Answer = HttpResponse<Either<ResponseBody, Body>>;

/// The same, of which it is noted while the client does not read it.
type Response = HttpResponse<Watched<Either<ResponseBody, Body>>>;

impl Services {
    fn answer(&self, request: HttpRequest<Incoming>) -> Answer {
        let path = request.uri().path();
        match Service::at(path) {
            Some((service, Dialect::Sotw)) => self.stream::<DiscoveryRequest>(service, request),
            Some((service, Dialect::Delta)) => self.stream::<DeltaRequest>(service, request),
            None if weir_wire::load_stats::is_at(path) => {
                let Self { shared, peer, within, .. } = self;
                self.load_reports
                    .answer(request, shared, peer, within, self.ending.clone())
                    .map(Either::Right)
            }
            None => {
                Status::unimplemented(format!("there is no method {path}")).into_http().map(Either::Right)
            }
        }
    }

    fn stream<R: Request>(&self, service: &'static Service, request: HttpRequest<Incoming>) -> Answer {
        let opened = match self.shared.gate.open(true) {
            Ok(opened) => opened,
            Err(refusal) => return refusal.into_grpc::<Body>().map(Either::Right),
        };
        let bounds = Bounds::of(&self.shared.settings(), &self.shared.gate);
        let requests = Messages::<R, _>::new(request.into_body(), bounds);
        let (shared, peer) = (Arc::clone(&self.shared), Arc::clone(&self.peer));
        let body = Stream::open(shared, service, requests, peer, &self.within, self.ending.clone(), opened);
        let mut response = HttpResponse::new(Either::Left(body));
        let mut content_type = tonic::metadata::GRPC_CONTENT_TYPE;
        // No secret, but what is marked as one is kept out of the connection's table of header fields, which
        // would take memory for this alone.
        content_type.set_sensitive(true);
        response.headers_mut().insert(http::header::CONTENT_TYPE, content_type);
        response
    }
}

/// gRPC needs HTTP/2; REST does not, and is what anything else is taken for that comes over HTTP/1.1.
fn is_rest(request: &HttpRequest<Incoming>) -> bool {
    request.version() < Version::HTTP_2 || request.uri().path().starts_with(weir_wire::rest::PREFIX)
}

impl hyper::service::Service<HttpRequest<Incoming>> for Services {
    type Response = Response;
    type Error = Infallible;
    type Future =
        future::Either<Ready<Result<Response, Infallible>>, BoxFuture<'static, Result<Response, Infallible>>>;

    fn call(&self, request: HttpRequest<Incoming>) -> Self::Future {
        let within = self.within.clone();
        let watched = move |answer: Answer| Ok(answer.map(|body| within.watch(body)));
        if is_rest(&request) {
            let (shared, peer) = (Arc::clone(&self.shared), Arc::clone(&self.peer));
            let answer = rest::answer(shared, peer, self.ending.clone(), request);
            let answer = answer.map(|answer| answer.map(Body::new).map(Either::Right));
            return future::Either::Right(answer.map(watched).boxed());
        }
        if Operations::serves(request.uri().path()) {
            let lasts = Operations::lasts(request.uri().path());
            let opened = match lasts.then(|| self.shared.gate.open(false)).transpose() {
                Ok(opened) => opened,
                Err(refusal) => {
                    let answer = refusal.into_grpc::<Body>().map(Either::Right);
                    return future::Either::Left(ready(watched(answer)));
                }
            };
            let settings = self.shared.settings();
            let bounds = Bounds::of(&settings, &self.shared.gate);
            let ending = self.ending.clone();
            let answer = self.operations.answer(request, bounds, &settings, &self.peer, ending, opened);
            return future::Either::Right(
                answer.map(|answer| answer.map(Either::Right)).map(watched).boxed(),
            );
        }
        future::Either::Left(ready(watched(self.answer(request))))
    }
}
