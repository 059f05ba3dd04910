//! One stream of a link, from its opening to its end.
//!
//! Reading is never held up by writing: a response is applied whether or not requests can be sent, and a
//! request is made only when there is room for it. Other endpoints are tried beside it; the stream goes on until one
//! of them is the better one.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use weir_database::Watch;

use crate::driver::probe::Probe;
use crate::driver::{Event, Link, Needs, chain, describe};
use crate::transport::{self, Open, Peer};

/// How long a growing list of subscriptions is collected before it is sent.
const COLLECT: Duration = Duration::from_millis(3);

/// Where a stream is to be opened.
pub(crate) struct Place {
    /// Of the endpoint.
    pub(crate) index: usize,
    /// The connection, where there is one.
    pub(crate) peer: Option<Peer>,
}

/// Why a session is over.
pub(crate) enum End {
    /// There will be no more commands.
    Closed,
    /// There are new settings.
    Adjusted,
    /// A new stream is needed.
    Reopen,
    /// There is a better place.
    Moves(Place),
    /// For this reason.
    Failed(String),
}

/// An endpoint that is tried beside the one in use.
struct Trying {
    index: usize,
    outcome: BoxFuture<'static, Result<Peer, String>>,
}

impl<F: FnMut(Event) -> Option<Watch> + Send> Link<F> {
    pub(crate) async fn session(&mut self, index: usize, endpoint: &Arc<str>, peer: Option<Peer>) -> End {
        let settings = Arc::clone(&self.settings);
        let method = self.method.clone();
        let peer = match peer {
            Some(peer) => peer,
            None => match self.meanwhile(transport::connect(&settings, endpoint, &method)).await {
                Err(end) => return end,
                Ok(Err(error)) => return End::Failed(chain(&*error)),
                Ok(Ok(peer)) => peer,
            },
        };
        self.report_back();
        (self.on_event)(Event::Connected { endpoint: Arc::clone(endpoint), index });
        self.failover.opened(index, Instant::now().into_std());
        let owed = self.introduce(endpoint);
        let end = self.converse(transport::open(&settings, peer, &method, self.writer.clone()), owed).await;
        let collected = self.collected.take_all();
        self.commit(collected);
        self.stream.disconnected();
        self.recall().await;
        end
    }

    /// Begins a new stream to an endpoint. Returns whether a live endpoint has to send something.
    fn introduce(&mut self, endpoint: &Arc<str>) -> bool {
        let moved = self.last.replace(Arc::clone(endpoint)).is_some_and(|last| last != *endpoint);
        if moved && !self.settings.shared_versions {
            self.stream.forget_versions();
        }
        self.stream.connected();
        self.settings.endpoints.len() > 1 && self.stream.demand_answer()
    }

    async fn converse(&mut self, Open { requests, mut responses }: Open, mut owed: bool) -> End {
        // When requests may be made; none when there is nothing to send.
        let mut flush_at = Some(Instant::now());
        let mut in_sync = false;
        let mut trying: Option<Trying> = None;
        loop {
            if self.release() {
                flush_at = Some(Instant::now());
            }
            let timeout = self.timeout(trying.is_none());
            let (flush, timer) =
                (flush_at.unwrap_or_else(Instant::now), timeout.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                command = self.commands.recv() => {
                    let Some(command) = command else { return End::Closed };
                    match self.obey_all(command).await {
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
                        let now = Instant::now();
                        let applied = response.map(|(response, arrival)| {
                            (self.stream.handle_response(response, now.into_std()), arrival)
                        });
                        if applied.as_ref().is_none_or(|(applied, _)| applied.is_answer()) {
                            self.failover.answered(now.into_std());
                            owed = false;
                        }
                        flush_at = applied.is_some().then_some(now).or(flush_at);
                        applied.into_iter().for_each(|(applied, arrival)| self.take_in(applied, arrival));
                        self.recall().await;
                        self.report_unconfirmed();
                    }
                },
                permit = reserve_after(flush, &requests), if flush_at.is_some() => {
                    let request = self.stream.poll_transmit(Instant::now().into_std());
                    match (permit, request) {
                        (Some(permit), Some(request)) => permit.send(request),
                        _ => flush_at = None,
                    }
                }
                () = self.answered.0.notified() => {}
                tried = outcome(&mut trying), if trying.is_some() => match self.judge(tried) {
                    Some(better) => return End::Moves(better),
                    None => trying = None,
                },
                () = sleep_until(timer), if timeout.is_some() => {
                    self.commit_due();
                    flush_at.get_or_insert_with(Instant::now);
                    trying = trying.or_else(|| self.try_another());
                }
            }
            self.report_shrinks();
            if in_sync != self.stream.is_in_sync() {
                in_sync = !in_sync;
                (self.on_event)(Event::InSync(in_sync));
            }
            self.failover.expect(owed || !in_sync, Instant::now().into_std());
        }
    }

    /// Commits what it is time for.
    fn commit_due(&mut self) {
        let now = Instant::now().into_std();
        let collected = self.settings.debounce.map(|settings| self.collected.take_due(settings, now));
        self.commit(collected.into_iter().flatten());
        let known = self.stream.handle_timeout(now);
        // What is known now is known of what came before.
        let before: Vec<_> = known.iter().flat_map(|batch| self.collected.before(batch)).collect();
        self.commit(before.into_iter().chain(known));
    }

    /// When there is something to do.
    fn timeout(&mut self, may_try: bool) -> Option<Instant> {
        let beside = self.failover.beside(Instant::now().into_std()).filter(|_| may_try);
        let collected = self.settings.debounce.and_then(|settings| self.collected.deadline(settings));
        let at = [self.stream.poll_timeout(), self.waiting.deadline(), beside.map(|(_, at)| at), collected];
        at.into_iter().flatten().min().map(Instant::from_std)
    }

    /// Starts to try another endpoint, if it is time to.
    fn try_another(&self) -> Option<Trying> {
        let now = Instant::now().into_std();
        let (index, _) = self.failover.beside(now).filter(|(_, at)| *at <= now)?;
        let probe = Probe {
            settings: Arc::clone(&self.settings),
            endpoint: self.settings.endpoints.get(index)?.as_str().into(),
            method: self.method.clone(),
            writer: self.writer.clone(),
            stream: self.stream.sample(),
            lasting: self.failover.lasting(),
        };
        Some(Trying { index, outcome: probe.run().boxed() })
    }

    /// Takes in how another endpoint has done: where to go, if that is the better one.
    fn judge(&mut self, (index, outcome): (usize, Result<Peer, String>)) -> Option<Place> {
        match outcome {
            Ok(peer) => Some(Place { index, peer: Some(peer) }),
            Err(reason) => {
                self.failover.failed(index, Instant::now().into_std());
                let endpoint = self.settings.endpoints.get(index)?.as_str().into();
                (self.on_event)(Event::Unfit { endpoint, reason });
                None
            }
        }
    }
}

async fn outcome(trying: &mut Option<Trying>) -> (usize, Result<Peer, String>) {
    match trying {
        Some(Trying { index, outcome }) => (*index, outcome.await),
        None => pending().await,
    }
}

/// Room for a request, from `at` on; none when the stream takes no more, which its responses will show.
async fn reserve_after<T>(at: Instant, requests: &mpsc::Sender<T>) -> Option<mpsc::Permit<'_, T>> {
    sleep_until(at).await;
    requests.reserve().await.ok()
}
