//! A connection to a control plane that nothing is wanted of yet.
//!
//! Owns the attempts to reach it, so that an endpoint that cannot be used is known before the first client comes. It ends
//! when a stream takes its place.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::TokioExecutor;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::connector::Connector;
use crate::driver::chain;
use crate::status::StreamStatus;
use crate::{Services, Settings};

/// After how long the endpoints are tried anew: a peer that is gone without a word is not noticed on an idle
/// connection, and pings on one are an offence to some servers.
const RENEWAL: Duration = Duration::from_secs(60);

/// The attempts; they end when it is dropped.
pub(crate) struct Contact {
    _task: JoinSet<()>,
}

/// A connection. It is closed when it is dropped.
struct Connection {
    _requests: Option<SendRequest<Empty<Bytes>>>,
    /// Ends with the connection; none where connections are made for single polls.
    task: JoinSet<Option<String>>,
}

// === impl Contact ===

impl Contact {
    /// Starts to connect, and shows by `status` how that goes.
    pub(crate) fn start(settings: Arc<Settings>, status: StreamStatus) -> Self {
        let mut task = JoinSet::new();
        task.spawn(keep(settings, status));
        Self { _task: task }
    }
}

async fn keep(settings: Arc<Settings>, status: StreamStatus) {
    let mut failover = settings.failover();
    let mut held: Option<Connection> = None;
    let (mut reached, mut reported) = (false, false);
    loop {
        let (index, wait) = failover.next(now());
        if !wait.is_zero() && !held.as_mut().is_some_and(Connection::is_open) {
            status.disconnected();
            reached = false;
        }
        sleep(wait).await;
        let Some(endpoint) = settings.endpoints.get(index) else { return };
        let authority = &settings.authority;
        match connect(&settings, endpoint).await {
            Ok(connection) => {
                if !std::mem::replace(&mut reached, true) {
                    tracing::info!(authority, %endpoint, index, "upstream reached; nothing is subscribed yet");
                }
                (reported, held) = (false, None);
                status.connected(endpoint, index, None);
                status.in_sync(true);
                failover.opened(index, now());
                failover.expect(false, now());
                let (connection, opened) = (held.insert(connection), Instant::now());
                if let Ok(reason) = timeout(RENEWAL, connection.closed()).await {
                    failover.failed(index, now());
                    if opened.elapsed() < settings.trial.lasting {
                        status.failed(endpoint, reason);
                        status.disconnected();
                    }
                }
            }
            Err(error) => {
                let reason = chain(&*error);
                if !std::mem::replace(&mut reported, true) {
                    tracing::warn!(authority, %endpoint, reason, "upstream unreachable");
                }
                failover.failed(index, now());
                status.failed(endpoint, reason);
            }
        }
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

async fn connect(settings: &Settings, endpoint: &str) -> Result<Connection, Box<dyn Error + Send + Sync>> {
    let io = Connector::new(settings).connect(endpoint.parse()?).await?;
    let mut task = JoinSet::new();
    if matches!(settings.services, Services::Rest(_)) {
        return Ok(Connection { _requests: None, task });
    }
    let (requests, connection) = http2::handshake(TokioExecutor::new(), io).await?;
    task.spawn(async { connection.await.err().map(|error| chain(&error)) });
    Ok(Connection { _requests: Some(requests), task })
}

// === impl Connection ===

impl Connection {
    fn is_open(&mut self) -> bool {
        self.task.try_join_next().is_none() && !self.task.is_empty()
    }

    /// Waits for its end, and gives the reason. Where there is none to wait for, waits for ever.
    async fn closed(&mut self) -> String {
        match self.task.join_next().await {
            None => std::future::pending().await,
            Some(ended) => {
                ended.ok().flatten().unwrap_or_else(|| "the server closed the connection".to_owned())
            }
        }
    }
}
