//! Trying an endpoint beside the one that is in use.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use weir_protocol::client::{Request, UpstreamSession};

use super::describe;
use crate::Settings;
use crate::codec::Writer;
use crate::connections::Connections;
use crate::transport::{self, Method, Open, Peer, Responses};

/// A try of one endpoint.
pub(crate) struct Probe {
    pub(crate) settings: Arc<Settings>,
    pub(crate) endpoint: Arc<str>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) method: Method,
    pub(crate) writer: Writer,
    /// Wants something that an endpoint has to answer. What comes is looked at by nobody.
    pub(crate) session: UpstreamSession,
    /// How long a stream has to last once it has answered.
    pub(crate) lasting: Duration,
}

// === impl Probe ===

impl Probe {
    /// Opens a stream, waits for an answer, and then for the time that it has to last.
    ///
    /// # Errors
    /// Why the endpoint is of no use.
    pub(crate) async fn run(mut self) -> Result<Peer, String> {
        let peer = transport::connect(&self.connections, &self.settings, &self.endpoint, &self.method);
        let peer = peer.await.map_err(|reason| reason.to_string())?;
        let Open { requests, mut responses, slot: _slot } =
            transport::open(&self.settings, peer.clone(), &self.method, self.writer.clone());
        self.session.connected();
        let patience = self.settings.trial.answer;
        let (mut until, mut answered) = (Instant::now() + patience, false);
        loop {
            match timeout_at(until, self.step(&requests, &mut responses)).await {
                Err(_) if answered => return Ok(peer),
                Err(_) => return Err(format!("no answer within {patience:?}")),
                Ok(answers) => {
                    if answers? && !answered {
                        (until, answered) = (Instant::now() + self.lasting, true);
                    }
                }
            }
        }
    }

    /// Sends its requests, and takes in one response: returns whether it is an answer.
    async fn step(
        &mut self,
        requests: &mpsc::Sender<Request>,
        responses: &mut Responses,
    ) -> Result<bool, String> {
        while let Some(request) = self.session.poll_transmit(Instant::now().into_std()) {
            // A stream that takes no more shows it by its responses.
            _ = requests.send(request).await;
        }
        match responses.next().await {
            None => Err("the server closed the stream".to_owned()),
            Some(Err(status)) => Err(describe(&status)),
            Some(Ok(None)) => Ok(true),
            Some(Ok(Some((response, _)))) => {
                Ok(self.session.handle_response(response, Instant::now().into_std()).is_answer())
            }
        }
    }
}
