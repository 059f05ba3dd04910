//! One connection of an upstream stream, from its opening to its end.
//!
//! Reading is never held up by writing: a response is handled whether or not requests can be sent, and a request is made
//! only when there is room for it. Other endpoints are probed beside it; it goes on until one of them is the better one.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::probe::Probe;
use super::{Driver, End, Place, describe, now};
use crate::Settings;
use crate::codec::Writer;
use crate::connections::Connections;
use crate::stream::{EventSink, Needs};
use crate::transport::{self, Method, Open, Peer};

/// How long a growing list of subscriptions is collected before it is sent.
const COLLECT: Duration = Duration::from_millis(3);

/// An endpoint that is probed beside the one in use.
struct Probing {
    index: usize,
    outcome: BoxFuture<'static, Result<Peer, String>>,
}

impl<S: EventSink + Send> Driver<S> {
    /// Connects to an endpoint, unless there is a connection, and exchanges messages until its end.
    pub(super) async fn connect(&mut self, index: usize, endpoint: &Arc<str>, peer: Option<Peer>) -> End {
        let settings = Arc::clone(self.stream.settings());
        let (method, connections) = (self.method.clone(), Arc::clone(&self.connections));
        let peer = match peer {
            Some(peer) => peer,
            None => match self.meanwhile(connect_in_turn(&connections, &settings, endpoint, &method)).await {
                Err(end) => return end,
                Ok(Err(reason)) => return End::Failed(reason.to_string()),
                Ok(Ok(peer)) => peer,
            },
        };
        self.stream.handle_connected(endpoint, index, peer.carrier(), now());
        let end = self.exchange(transport::open(&settings, peer, &method, self.writer())).await;
        self.stream.handle_disconnected();
        self.restore().await;
        end
    }

    /// Writes requests by the current settings.
    fn writer(&self) -> Writer {
        let node_always = !self.stream.settings().node_on_first_message_only;
        Writer { node_always, ..self.writer.clone() }
    }

    async fn exchange(&mut self, Open { requests, mut responses, slot: _slot }: Open) -> End {
        // When requests may be made; none when there is nothing to send.
        let mut flush_at = Some(Instant::now());
        let mut probing: Option<Probing> = None;
        loop {
            if self.stream.complete_acks(now()) {
                flush_at = Some(Instant::now());
            }
            let timeout = self.timeout(probing.is_none());
            let (flush, timer) =
                (flush_at.unwrap_or_else(Instant::now), timeout.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                command = self.commands.recv() => {
                    let Some(command) = command else { return End::Closed };
                    match self.handle_commands(command).await {
                        Needs::Nothing => {}
                        Needs::NewStream => return End::Reopen,
                        Needs::NewPlace => return End::Adjusted,
                    }
                    flush_at.get_or_insert_with(|| Instant::now() + COLLECT);
                    continue;
                }
                response = responses.next() => match response {
                    None => return End::Failed("the server closed the stream".to_owned()),
                    Some(Err(status)) => return End::Failed(describe(&status)),
                    Some(Ok(response)) => {
                        flush_at = response.is_some().then(Instant::now).or(flush_at);
                        self.stream.handle_response(response, now());
                        self.restore().await;
                    }
                },
                permit = reserve_after(flush, &requests), if flush_at.is_some() => {
                    match (permit, self.stream.poll_transmit(now())) {
                        (Some(permit), Some(request)) => permit.send(request),
                        _ => flush_at = None,
                    }
                }
                () = self.subscribers_done.notified() => {}
                probed = outcome(&mut probing), if probing.is_some() => match self.handle_probe(probed) {
                    Some(better) => return End::Moves(better),
                    None => probing = None,
                },
                () = sleep_until(timer), if timeout.is_some() => {
                    self.stream.handle_timeout(now());
                    flush_at.get_or_insert_with(Instant::now);
                    probing = probing.or_else(|| self.start_probe());
                }
            }
            self.stream.report_progress(now());
        }
    }

    /// When there is something to do.
    fn timeout(&mut self, may_probe: bool) -> Option<Instant> {
        let probe = self.stream.poll_probe(now()).filter(|_| may_probe).map(|(_, at)| at);
        self.stream.poll_timeout().into_iter().chain(probe).min().map(Instant::from_std)
    }

    /// Starts to try another endpoint, if it is time to.
    fn start_probe(&self) -> Option<Probing> {
        let now = now();
        let (index, _) = self.stream.poll_probe(now).filter(|(_, at)| *at <= now)?;
        let settings = Arc::clone(self.stream.settings());
        let (session, lasting) = self.stream.probe();
        let probe = Probe {
            endpoint: settings.endpoints.get(index)?.as_str().into(),
            settings,
            connections: Arc::clone(&self.connections),
            method: self.method.clone(),
            writer: self.writer(),
            session,
            lasting,
        };
        Some(Probing { index, outcome: probe.run().boxed() })
    }

    /// Handles the outcome of a probe. Returns where to go, if that is the better endpoint.
    fn handle_probe(&mut self, (index, outcome): (usize, Result<Peer, String>)) -> Option<Place> {
        match outcome {
            Ok(peer) => Some(Place { index, peer: Some(peer) }),
            Err(reason) => {
                let endpoint = self.stream.settings().endpoints.get(index)?.as_str().into();
                self.stream.handle_failed_probe(endpoint, index, reason, now());
                None
            }
        }
    }
}

/// A connection to `endpoint`, when it is the turn of this stream.
async fn connect_in_turn(
    connections: &Connections,
    settings: &Arc<Settings>,
    endpoint: &str,
    method: &Method,
) -> Result<Peer, Arc<str>> {
    connections.pace.turn(settings.connects_per_second).await;
    transport::connect(connections, settings, endpoint, method).await
}

async fn outcome(probing: &mut Option<Probing>) -> (usize, Result<Peer, String>) {
    match probing {
        Some(Probing { index, outcome }) => (*index, outcome.await),
        None => pending().await,
    }
}

/// Room for a request, from `at` on; none when the stream takes no more, which its responses will show.
async fn reserve_after<T>(at: Instant, requests: &mpsc::Sender<T>) -> Option<mpsc::Permit<'_, T>> {
    sleep_until(at).await;
    requests.reserve().await.ok()
}
