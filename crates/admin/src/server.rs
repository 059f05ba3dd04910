//! The endpoints.

use std::future::Future;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use tokio::net::TcpListener;

use crate::Status;

/// Answers on `listener` until `shutdown` is done and the requests under way are answered.
///
/// `GET /live` is 200 as long as the process answers at all; `GET /ready` is 200 when clients can be served,
/// and 503 with what is missing before; `GET /metrics` is for Prometheus.
///
/// # Errors
/// When the listener fails for good.
pub async fn serve(
    listener: TcpListener,
    status: Arc<dyn Status>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(listener, router(status)).with_graceful_shutdown(shutdown).await
}

fn router(status: Arc<dyn Status>) -> Router {
    Router::new()
        .route("/live", get(live))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(status)
}

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    /// What is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pending: Vec<String>,
}

async fn live() -> &'static str {
    "live\n"
}

async fn ready(State(status): State<Arc<dyn Status>>) -> Response {
    let pending = status.pending();
    let ready = pending.is_empty();
    let code = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, json(&Readiness { ready, pending })).into_response()
}

fn json(body: &impl Serialize) -> ([(HeaderName, &'static str); 1], String) {
    ([(header::CONTENT_TYPE, "application/json")], serde_json::to_string(body).unwrap_or_default() + "\n")
}

async fn metrics(State(status): State<Arc<dyn Status>>) -> Response {
    match status.metrics() {
        Ok(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(reason) => (StatusCode::INTERNAL_SERVER_ERROR, reason + "\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Fake {
        ready: AtomicBool,
    }

    impl Status for Fake {
        fn pending(&self) -> Vec<String> {
            let ready = self.ready.load(Ordering::Relaxed);
            if ready { Vec::new() } else { vec!["upstream \"\": not connected".to_owned()] }
        }

        fn metrics(&self) -> Result<String, String> {
            if self.ready.load(Ordering::Relaxed) {
                Ok("weir_x 1\n".to_owned())
            } else {
                Err("broken".to_owned())
            }
        }
    }

    /// Serves while `run` talks to it, and waits for it to end.
    async fn serving<F: Future<Output = ()>>(status: Arc<Fake>, run: impl FnOnce(std::net::SocketAddr) -> F) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(serve(listener, status, async { _ = stopped.await }));
        run(address).await;
        drop(stop);
        server.await.unwrap().unwrap();
    }

    async fn request(address: std::net::SocketAddr, method: &str, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }

    #[tokio::test]
    async fn ready_tells_what_is_missing() {
        let status = Arc::new(Fake::default());
        serving(Arc::clone(&status), |address| async move {
            let (code, body) = request(address, "GET", "/ready").await;
            assert_eq!(code, "HTTP/1.1 503 Service Unavailable");
            assert_eq!(body, "{\"ready\":false,\"pending\":[\"upstream \\\"\\\": not connected\"]}\n");
            let (code, _) = request(address, "GET", "/metrics").await;
            assert_eq!(code, "HTTP/1.1 500 Internal Server Error");
            status.ready.store(true, Ordering::Relaxed);
            let (code, body) = request(address, "GET", "/ready").await;
            assert_eq!((code.as_str(), body.as_str()), ("HTTP/1.1 200 OK", "{\"ready\":true}\n"));
        })
        .await;
    }

    #[tokio::test]
    async fn live_and_metrics_answer_and_the_rest_does_not() {
        let status = Arc::new(Fake { ready: true.into() });
        serving(status, |address| async move {
            for (method, path, code, body) in [
                ("GET", "/live", "HTTP/1.1 200 OK", "live\n"),
                ("GET", "/metrics", "HTTP/1.1 200 OK", "weir_x 1\n"),
                ("GET", "/", "HTTP/1.1 404 Not Found", ""),
                ("POST", "/live", "HTTP/1.1 405 Method Not Allowed", ""),
            ] {
                let wanted = (code.to_owned(), body.to_owned());
                assert_eq!(request(address, method, path).await, wanted, "{method} {path}");
            }
        })
        .await;
    }
}
