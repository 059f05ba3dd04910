//! The connections to one endpoint that carry load reports. Discovery has connections of its own, so that reports never
//! delay it.
//!
//! Owns how many streams are on each. A connection is made when there is no room on the others, one at a time, and closed
//! with its last stream.

use std::error::Error;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::rt::Executor;
use hyper_util::rt::TokioTimer;
use opentelemetry::KeyValue;
use opentelemetry::metrics::UpDownCounter;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tonic::body::Body;
use tonic::client::Grpc;
use tower_service::Service;
use weir_wire::call::SingleCall;

use crate::Settings;
use crate::connector::Connector;
use crate::driver::chain;

/// The most streams of a connection; fewer where the server takes fewer.
const STREAMS: usize = 100;

/// How much of a response a server may send on a stream before the client has read it, in bytes. A connection has room
/// for as much on each of its streams, so that a client that does not read holds up no other.
const WINDOW: u32 = 64 << 10;

/// Why there is no connection.
type Reason = Arc<str>;

/// The connections to one endpoint. Cheap to clone.
#[derive(Clone)]
pub(super) struct Connections(Arc<Inner>);

struct Inner {
    settings: Arc<Settings>,
    endpoint: String,
    open: Mutex<Open>,
    count: UpDownCounter<i64>,
}

#[derive(Default)]
struct Open {
    connections: Vec<Arc<Connection>>,
    /// The one that is being made.
    next: Option<Shared<BoxFuture<'static, Result<(), Reason>>>>,
}

struct Connection {
    requests: SendRequest<Body>,
    streams: AtomicUsize,
    /// How many streams the server takes, as far as that is known.
    room: watch::Receiver<usize>,
}

/// The place of a stream on a connection, for as long as it lives.
pub(super) struct Place {
    connection: Arc<Connection>,
    connections: Connections,
}

/// Makes calls over a connection.
#[derive(Clone)]
pub(super) struct Calls(SendRequest<Body>);

// === impl Connections ===

impl Connections {
    /// Those to `endpoint`, of which none is made yet.
    pub(super) fn new(settings: Arc<Settings>, endpoint: &str) -> Self {
        let count = weir_metrics::LOAD_REPORTS_CONNECTIONS.up_down_counter();
        Self(Arc::new(Inner { settings, endpoint: endpoint.to_owned(), open: Mutex::default(), count }))
    }

    /// A place for one more stream.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(super) async fn place(&self) -> Result<Place, Reason> {
        loop {
            let next = {
                let mut open = self.0.open.lock();
                let free = open.connections.iter().find(|connection| connection.enter());
                if let Some(connection) = free.map(Arc::clone) {
                    return Ok(Place { connection, connections: self.clone() });
                }
                open.next.get_or_insert_with(|| self.start()).clone()
            };
            next.await?;
        }
    }

    /// Starts to make one more connection: to be had also by those who come when nobody waits any more.
    fn start(&self) -> Shared<BoxFuture<'static, Result<(), Reason>>> {
        let connecting = tokio::spawn(self.clone().connect());
        connecting.map(|done| done.unwrap_or_else(|error| Err(chain(&error).into()))).boxed().shared()
    }

    /// Makes one more connection.
    async fn connect(self) -> Result<(), Reason> {
        let limit = self.0.settings.connect_timeout;
        let made = match timeout(limit, self.handshake()).await {
            Ok(made) => made.map_err(|error| chain(&*error)),
            Err(_) => Err(format!("no connection to {} within {limit:?}", self.0.endpoint)),
        };
        let mut open = self.0.open.lock();
        open.next = None;
        open.connections.push(made?);
        Ok(())
    }

    async fn handshake(&self) -> Result<Arc<Connection>, Box<dyn Error + Send + Sync>> {
        let Inner { settings, endpoint, .. } = &*self.0;
        let io = Connector::new(settings).connect(endpoint.parse()?).await?;
        let polled = Polled::default();
        let handshake = Builder::new(polled.clone())
            .timer(TokioTimer::new())
            .keep_alive_interval(settings.keepalive_interval)
            .keep_alive_timeout(settings.keepalive_timeout)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW * STREAMS as u32)
            // Until the server has sent how many it takes.
            .initial_max_send_streams(0)
            .handshake(io);
        let (requests, mut http) = handshake.await?;
        let (taken, mut room) = watch::channel(0);
        let (ended, counted) = (Arc::downgrade(&self.0), Counted::new(&self.0));
        tokio::spawn(async move {
            let end = loop {
                tokio::select! {
                    end = &mut http => break end,
                    () = polled.0.notified() => {
                        let now = http.current_max_send_streams().min(STREAMS);
                        taken.send_if_modified(|taken| std::mem::replace(taken, now) != now);
                    }
                }
            };
            if let Err(error) = end {
                tracing::debug!(error = &error as &dyn Error, "connection of load reports failed");
            }
            drop((taken, counted));
            // What it has left behind fails with it.
            if let Some(inner) = ended.upgrade() {
                inner.open.lock().connections.retain(|connection| !connection.requests.is_closed());
            }
        });
        room.wait_for(|room| *room > 0).await.map_err(|_| "the server closed the connection")?;
        Ok(Arc::new(Connection { requests, streams: AtomicUsize::new(0), room }))
    }
}

// === impl Connection ===

impl Connection {
    /// Adds a stream, if there is room for it.
    fn enter(&self) -> bool {
        let room = *self.room.borrow();
        let one_more = |streams: usize| (streams < room).then_some(streams + 1);
        !self.requests.is_closed()
            && self.streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }
}

// === impl Place ===

impl Place {
    /// Makes the call of the stream.
    pub(super) fn calls(&self) -> Grpc<SingleCall<Calls>> {
        let origin: Uri = self.connections.0.endpoint.parse().unwrap_or_default();
        Grpc::with_origin(SingleCall::over(Calls(self.connection.requests.clone())), origin)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.connections.0.open.lock();
        if self.connection.streams.fetch_sub(1, Ordering::Relaxed) == 1 {
            open.connections.retain(|connection| !Arc::ptr_eq(connection, &self.connection));
        }
    }
}

// === impl Calls ===

impl Service<Request<Body>> for Calls {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = BoxFuture<'static, Result<Self::Response, hyper::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.0.send_request(request).boxed()
    }
}

/// Notes when the tasks of a connection have run, and may have learned how many streams the server takes.
#[derive(Clone, Default)]
struct Polled(Arc<Notify>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Polled {
    fn execute(&self, future: F) {
        let (mut future, polled) = (Box::pin(future), Arc::clone(&self.0));
        tokio::spawn(poll_fn(move |cx| {
            let end = future.as_mut().poll(cx);
            polled.notify_one();
            end
        }));
    }
}

/// An open connection in the metrics.
struct Counted(UpDownCounter<i64>, [KeyValue; 1]);

impl Counted {
    fn new(inner: &Inner) -> Self {
        let labels = [KeyValue::new("authority", inner.settings.authority.clone())];
        inner.count.add(1, &labels);
        Self(inner.count.clone(), labels)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.add(-1, &self.1);
    }
}
