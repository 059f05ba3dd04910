//! Serves operators, each connection in a task of its own.
//!
//! Owns the time that they may take to ask. Never knows what they ask for.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tower_service::Service as _;

use crate::listener::{Accepted, Operators};

/// How long the header of a request may take, from the connection or the answer before it on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

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
            router.clone().call(request)
        });
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
