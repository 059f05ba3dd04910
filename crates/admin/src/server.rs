//! Serves operators, each connection in a task of its own.
//!
//! Owns the time that they may take to ask. Never knows what they ask for.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tower_service::Service as _;

use crate::listener::{Accepted, Operators};
use crate::problem::Problem;

/// How long the header of a request may take, from the connection or the answer before it on; how long its body may
/// take, with what is made of it; and for how long nothing of an answer may be read.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The answer to a request, of which what has yet to come has to come in time.
async fn answer(mut router: Router, request: http::Request<Incoming>) -> Result<Response, Infallible> {
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
    loop {
        let Accepted { bytes, peer, room } = tokio::select! {
            accepted = operators.accept() => accepted,
            () = &mut shutdown => break,
        };
        let router = router.clone();
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            answer(router.clone(), request)
        });
        let mut bytes = Box::pin(TimeoutStream::new(bytes));
        bytes.as_mut().set_write_timeout_pinned(Some(PATIENCE));
        let served = running.watch(http.serve_connection(TokioIo::new(bytes), service));
        tokio::spawn(async move {
            if let Err(error) = served.await {
                tracing::debug!(%error, "the connection of an operator has ended");
            }
            drop(room);
        });
    }
    drop(operators);
    running.shutdown().await;
}
