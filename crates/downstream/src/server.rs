//! The listeners: HTTP/2 without TLS, and the services behind them.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use weir_database::Database;

use crate::frames::Frames;
use crate::metrics::Metrics;
use crate::node::NodeRules;
use crate::request::Limits;
use crate::service::AggregatedDiscovery;
use crate::stream::Shared;

/// How many streams one connection may have: an Envoy without ADS opens one per EDS cluster.
const MAX_CONCURRENT_STREAMS: u32 = 1 << 20;

/// How clients are served.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names this instance to clients (`control_plane.identifier`).
    pub identifier: String,
    /// How parameters are derived for clients that send none.
    pub rules: NodeRules,
    /// By `user_agent_name`: whether state-of-the-world resources are wrapped in `Resource`, whatever the
    /// client announces.
    pub wrapping: HashMap<String, bool>,
    /// How much a client may ask for.
    pub limits: Limits,
    /// How many bytes of encoded responses are kept for streams that have yet to make the same step.
    pub frame_cache: u64,
    /// After how much silence a client is pinged.
    pub keepalive_interval: Duration,
    /// How long a pinged client may take to answer before it is taken for dead.
    pub keepalive_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            identifier: "weir".into(),
            rules: NodeRules::default(),
            wrapping: HashMap::new(),
            limits: Limits::default(),
            frame_cache: 256 << 20,
            keepalive_interval: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(10),
        }
    }
}

/// Why serving ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A listener failed for good.
    #[error("serve clients on {address}")]
    Serve {
        /// Where.
        address: String,
        /// Why.
        source: tonic::transport::Error,
    },
    /// A listener has no address.
    #[error("read the address of a listener")]
    Address(#[from] io::Error),
}

/// The downstream side.
pub struct Server {
    settings: Settings,
    shared: Arc<Shared>,
}

impl Server {
    /// A server of what `database` holds.
    pub fn new(settings: Settings, database: Database) -> Self {
        let shared = Shared {
            frames: Frames::new(settings.identifier.clone(), settings.frame_cache),
            rules: settings.rules.clone(),
            limits: settings.limits,
            wrapping: settings.wrapping.clone(),
            metrics: Metrics::new(&database),
            database,
            stop: CancellationToken::new(),
        };
        Self { settings, shared: Arc::new(shared) }
    }

    /// Serves on `listeners` until `shutdown`, then ends every stream with UNAVAILABLE.
    ///
    /// # Errors
    /// When a listener cannot be served at all.
    pub async fn serve(
        self,
        listeners: Vec<TcpListener>,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        let stop = self.shared.stop.clone();
        let mut tasks = JoinSet::new();
        for listener in listeners {
            let address = listener.local_addr()?.to_string();
            let serving = self.serve_one(listener, stop.clone());
            tasks
                .spawn(async move { serving.await.map_err(|source| ServerError::Serve { address, source }) });
        }
        let stopping = stop.clone();
        tokio::spawn(async move {
            shutdown.await;
            stopping.cancel();
        });
        while let Some(ended) = tasks.join_next().await {
            if let Ok(Err(error)) = ended {
                stop.cancel();
                return Err(error);
            }
        }
        Ok(())
    }

    fn serve_one(
        &self,
        listener: TcpListener,
        stop: CancellationToken,
    ) -> impl Future<Output = Result<(), tonic::transport::Error>> + Send + 'static {
        let incoming = TcpListenerStream::new(listener).map(|accepted| {
            accepted.inspect(|socket| {
                // Small responses should not wait for an acknowledgement of the last one.
                if let Err(error) = socket.set_nodelay(true) {
                    tracing::debug!(%error, "set TCP_NODELAY");
                }
            })
        });
        let router = tonic::transport::Server::builder()
            .max_concurrent_streams(Some(MAX_CONCURRENT_STREAMS))
            .http2_keepalive_interval(Some(self.settings.keepalive_interval))
            .http2_keepalive_timeout(Some(self.settings.keepalive_timeout))
            .add_service(AggregatedDiscovery(Arc::clone(&self.shared)));
        async move { router.serve_with_incoming_shutdown(incoming, stop.cancelled_owned()).await }
    }
}
