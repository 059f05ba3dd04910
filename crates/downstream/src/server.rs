//! The listeners: who is let in, and until when.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use weir_database::Database;

use crate::connection;
use crate::node::NodeRules;
use crate::request::Limits;
use crate::service::Services;
use crate::stream::Shared;

/// How long to wait after a client could not be accepted: usually there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// How clients are served.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names this instance to clients (`control_plane.identifier`).
    pub identifier: String,
    /// How parameters are derived for clients that send none.
    pub rules: NodeRules,
    /// By `user_agent_name`: whether state-of-the-world resources are wrapped in `Resource`, and say their time to
    /// live, whatever the client announces.
    pub wrapping: HashMap<String, bool>,
    /// How much a client may ask for.
    pub limits: Limits,
    /// The longest that the answer to a REST poll is held back while nothing changes.
    pub rest_hold: Duration,
    /// How many bytes of encoded responses are kept for streams that have yet to make the same step.
    pub frame_cache: u64,
    /// The largest response that clients accept, in bytes; what is larger is split where it can be.
    pub max_response_size: usize,
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
            rest_hold: Duration::from_secs(30),
            frame_cache: 256 << 20,
            max_response_size: 4 << 20,
            keepalive_interval: Duration::from_secs(30),
            keepalive_timeout: Duration::from_secs(10),
        }
    }
}

/// Why serving ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
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
        let shared = Shared::new(&settings, database);
        Self { settings, shared: Arc::new(shared) }
    }

    /// Serves on `listeners` until `shutdown`, then ends every stream with UNAVAILABLE.
    ///
    /// # Errors
    /// When a listener is none.
    pub async fn serve(
        self,
        listeners: Vec<TcpListener>,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        let stop = self.shared.stop.clone();
        let server = Arc::new(self);
        let mut tasks = JoinSet::new();
        for listener in listeners {
            let address = listener.local_addr()?.to_string();
            tasks.spawn(Arc::clone(&server).listen(listener, address));
        }
        tokio::spawn(async move {
            shutdown.await;
            stop.cancel();
        });
        while let Some(ended) = tasks.join_next().await {
            report(ended);
        }
        Ok(())
    }

    /// Accepts clients until the server stops, and waits for the last of them to go.
    async fn listen(self: Arc<Self>, listener: TcpListener, address: String) {
        let mut connections = JoinSet::new();
        let mut stopped = std::pin::pin!(self.shared.stop.cancelled());
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((socket, _)) => _ = connections.spawn(Arc::clone(&self).connection(socket)),
                    Err(error) => {
                        tracing::warn!(%error, address, "a client cannot be accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                Some(ended) = connections.join_next() => report(ended),
                () = &mut stopped => break,
            }
        }
        drop(listener);
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    }

    async fn connection(self: Arc<Self>, socket: TcpStream) {
        // Small responses should not wait for an acknowledgement of the last one.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "set TCP_NODELAY");
        }
        let settings = connection::Settings {
            keepalive_interval: self.settings.keepalive_interval,
            keepalive_timeout: self.settings.keepalive_timeout,
        };
        let shared = Arc::clone(&self.shared);
        let stopped = shared.stop.clone().cancelled_owned();
        let service = |within| Services { shared, within };
        if let Err(error) = connection::serve(socket, settings, service, stopped).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "a connection broke");
        }
    }
}

/// A panic is a bug, and ends no more than what panicked.
fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a task of the server failed");
    }
}
