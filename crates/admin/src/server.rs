//! Serves operators, each connection in a task of its own.
//!
//! Owns the time that they may take to ask, and how many requests are answered at once. Never knows what they ask for,
//! but whether it is a probe.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tower_service::Service as _;

use crate::head::{self, Checked};
use crate::listener::{Accepted, Operators};
use crate::probes;
use crate::problem::Problem;
use crate::room::{Busy, REQUESTS};

/// How long the header of a request may take, from the connection or the answer before it on; how long its body may
/// take, with what is made of it; and for how long nothing of an answer may be read.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The body of an answer: until it is written, the request is under way.
struct UnderWay {
    body: Body,
    _busy: Busy,
    _permit: Option<OwnedSemaphorePermit>,
}

impl HttpBody for UnderWay {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The answer to a request, if there is room for it.
async fn answer_in_turn(
    router: Router,
    request: http::Request<Incoming>,
    busy: Busy,
    requests: Arc<Semaphore>,
) -> Result<Response, Infallible> {
    let permit =
        if probes::has(request.uri().path()) { Ok(None) } else { requests.try_acquire_owned().map(Some) };
    let ends = head::ends_connection(request.headers());
    let (mut response, permit) = match permit {
        Ok(permit) => (answer(router, request).await?, permit),
        Err(_) => (Problem::busy(REQUESTS).into_response(), None),
    };
    if ends {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| Body::new(UnderWay { body, _busy: busy, _permit: permit })))
}

/// The answer to a request, of which what has yet to come has to come in time.
async fn answer(mut router: Router, request: http::Request<Incoming>) -> Result<Response, Infallible> {
    if !head::is_plainly_encoded(request.headers()) {
        return Ok(Problem::encoded().into_response());
    }
    let is_whole = request.body().is_end_stream();
    let answer = router.call(request);
    if is_whole {
        return answer.await;
    }
    timeout(PATIENCE, answer).await.unwrap_or_else(|_| Ok(Problem::late(PATIENCE).into_response()))
}

/// Answers `operators` with `router`, until `shutdown` is done and the requests under way are answered.
pub(crate) async fn serve(mut operators: Operators, router: Router, shutdown: impl Future<Output = ()>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let (running, mut shutdown) = (GracefulShutdown::new(), pin!(shutdown));
    let requests = Arc::new(Semaphore::new(REQUESTS));
    loop {
        let Accepted { bytes, peer, seat } = tokio::select! {
            accepted = operators.accept() => accepted,
            () = &mut shutdown => break,
        };
        let (router, requests, of_request) = (router.clone(), Arc::clone(&requests), Arc::clone(&seat));
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            answer_in_turn(router.clone(), request, of_request.busy(), Arc::clone(&requests))
        });
        let mut bytes = Box::pin(TimeoutStream::new(Checked::new(bytes)));
        bytes.as_mut().set_write_timeout_pinned(Some(PATIENCE));
        let served = running.watch(http.serve_connection(TokioIo::new(bytes), service));
        tokio::spawn(async move {
            tokio::select! {
                served = served => if let Err(error) = served {
                    tracing::debug!(%error, "operator connection failed");
                },
                () = seat.evicted() => tracing::debug!("idle connection closed: another operator needs the room"),
            }
        });
    }
    drop(operators);
    running.shutdown().await;
}
