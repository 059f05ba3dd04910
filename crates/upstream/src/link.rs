//! One upstream stream, kept open: the thin loop around a [`ClientStream`].
//!
//! Reading is never held up by writing: a response is applied whether or not requests can be sent, and a
//! request is made only when there is room for it. Commands are obeyed at any time, connected or not.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use weir_database::{Subscriber, Watch};
use weir_protocol::client::{Applied, ClientStream, Handover};
use weir_types::{Batch, ResourceLocator, TypeUrl};

use crate::acknowledgement::{About, Release, Waiting};
use crate::backoff::Attempts;
use crate::codec::Writer;
use crate::transport::{self, Method, Open};
use crate::{Acknowledge, Settings};

/// How long a growing list of subscriptions is collected before it is sent.
const COLLECT: Duration = Duration::from_millis(3);

/// What happens on a link.
#[derive(Debug)]
pub enum Event {
    /// There is a connection to this endpoint.
    Connected(Arc<str>),
    /// The connection or the stream is gone, or could not be made. Another one will be tried.
    Disconnected {
        /// Where.
        endpoint: Arc<str>,
        /// Why.
        reason: String,
    },
    /// A response came. It is acknowledged when this event has been handled, or, if that gives a watch, when
    /// that is over.
    Applied(Applied),
    /// An acknowledgement waits for subscribers.
    Held,
    /// One does no longer.
    Released(Release),
    /// Something became known without a response.
    Known(Batch),
    /// Whether something is known of everything that was asked for on the current stream.
    InSync(bool),
}

/// What a link can be told.
#[derive(Debug)]
pub(crate) enum Command {
    Subscribe(TypeUrl, ResourceLocator),
    Unsubscribe(TypeUrl, ResourceLocator),
    /// Says again what is known of a locator.
    Recall(TypeUrl, ResourceLocator),
    /// Gives up a type, and opens a new stream without it.
    HandOver(TypeUrl, oneshot::Sender<Option<Handover>>),
    TakeOver(Box<Handover>),
}

/// An upstream stream, by the commands that it is sent; it ends when there will be no more.
pub(crate) struct Link<F> {
    pub(crate) settings: Arc<Settings>,
    pub(crate) method: Method,
    pub(crate) writer: Writer,
    pub(crate) stream: ClientStream,
    pub(crate) commands: mpsc::UnboundedReceiver<Command>,
    /// The acknowledgements that are held back.
    pub(crate) waiting: Waiting,
    /// Told when one of them may go.
    pub(crate) answered: Arc<Answered>,
    pub(crate) on_event: F,
}

/// Learns that the subscribers of a watched commit have answered.
#[derive(Default)]
pub(crate) struct Answered(Notify);

impl Subscriber for Answered {
    fn wake(&self) {
        self.0.notify_one();
    }
}

/// Why a session is over.
enum End {
    /// There will be no more commands.
    Closed,
    /// A new stream is needed.
    Reopen,
    Failed {
        reason: String,
        /// A response had come.
        healthy: bool,
    },
}

impl<F: FnMut(Event) -> Option<Watch> + Send> Link<F> {
    /// Keeps a stream open for as long as anything is wanted.
    pub(crate) async fn run(mut self) {
        let mut attempts = Attempts::new(self.settings.backoff, self.settings.endpoints.len());
        while self.wait_until_wanted().await {
            let Some(endpoint) = self.settings.endpoints.get(attempts.endpoint()) else { return };
            let endpoint: Arc<str> = endpoint.as_str().into();
            match self.session(&endpoint).await {
                End::Closed => return,
                End::Reopen => {}
                End::Failed { reason, healthy } => {
                    (self.on_event)(Event::Disconnected { endpoint, reason });
                    let wait = attempts.failed(healthy);
                    if self.meanwhile(tokio::time::sleep(wait)).await.is_none() {
                        return;
                    }
                }
            }
        }
    }

    /// False when there will be no more commands.
    async fn wait_until_wanted(&mut self) -> bool {
        while self.stream.is_idle() {
            let Some(command) = self.commands.recv().await else { return false };
            self.obey(command);
        }
        true
    }

    /// Obeys commands until `future` is done; none when there will be no more commands.
    async fn meanwhile<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        loop {
            tokio::select! {
                done = &mut future => return Some(done),
                command = self.commands.recv() => drop(self.obey(command?)),
            }
        }
    }

    async fn session(&mut self, endpoint: &Arc<str>) -> End {
        let settings = Arc::clone(&self.settings);
        let method = self.method.clone();
        let connecting = transport::connect(&settings, endpoint, &method);
        let peer = match self.meanwhile(connecting).await {
            None => return End::Closed,
            Some(Err(error)) => return End::Failed { reason: chain(&*error), healthy: false },
            Some(Ok(peer)) => peer,
        };
        (self.on_event)(Event::Connected(Arc::clone(endpoint)));
        self.stream.connected();
        let end = self.converse(transport::open(&settings, peer, &method, self.writer.clone())).await;
        self.stream.disconnected();
        end
    }

    async fn converse(&mut self, Open { requests, mut responses }: Open) -> End {
        let mut healthy = false;
        // When requests may be made; none when there is nothing to say.
        let mut flush_at = Some(Instant::now());
        let mut in_sync = false;
        loop {
            if self.release() {
                flush_at = Some(Instant::now());
            }
            let timeout = self.stream.poll_timeout().into_iter().chain(self.waiting.deadline()).min();
            let timeout = timeout.map(Instant::from_std);
            let (flush, timer) =
                (flush_at.unwrap_or_else(Instant::now), timeout.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                command = self.commands.recv() => {
                    let Some(command) = command else { return End::Closed };
                    if self.obey(command) == Needs::NewStream {
                        return End::Reopen;
                    }
                    flush_at.get_or_insert_with(|| Instant::now() + COLLECT);
                    continue;
                }
                response = responses.next() => match response {
                    None => return End::Failed { reason: "the server closed the stream".to_owned(), healthy },
                    Some(Err(status)) => return End::Failed { reason: describe(&status), healthy },
                    Some(Ok(None)) => healthy = true,
                    Some(Ok(Some(response))) => {
                        healthy = true;
                        let applied = self.stream.handle_response(response, Instant::now().into_std());
                        self.apply(applied);
                        flush_at = Some(Instant::now());
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
                () = sleep_until(timer), if timeout.is_some() => {
                    let batches = self.stream.handle_timeout(Instant::now().into_std());
                    batches.into_iter().for_each(|batch| drop((self.on_event)(Event::Known(batch))));
                }
            }
            // Looks at everything that is wanted, so not after each of many commands.
            if in_sync != self.stream.is_in_sync() {
                in_sync = !in_sync;
                (self.on_event)(Event::InSync(in_sync));
            }
        }
    }

    /// Has a response committed. Its acknowledgement waits where that is watched, and concerns anyone.
    fn apply(&mut self, applied: Applied) {
        let held = match (self.settings.acknowledge, &applied.ticket) {
            (Acknowledge::AfterSubscribers(policy), Some(ticket)) => {
                Some((ticket.clone(), About::new(&applied.batch), policy))
            }
            _ => None,
        };
        let watch = (self.on_event)(Event::Applied(applied)).filter(|watch| watch.tally().subscribers > 0);
        if let (Some((ticket, about, policy)), Some(watch)) = (held, watch) {
            self.stream.hold(&ticket);
            self.waiting.add(ticket, about, watch, policy, Instant::now().into_std());
            (self.on_event)(Event::Held);
        }
    }

    /// Lets those acknowledgements go that have waited for enough; whether there are any.
    fn release(&mut self) -> bool {
        let due = self.waiting.take_due(Instant::now().into_std());
        let any = !due.is_empty();
        for release in due {
            self.stream.release(&release.ticket, release.rejection.clone());
            (self.on_event)(Event::Released(release));
        }
        any
    }

    fn obey(&mut self, command: Command) -> Needs {
        match command {
            Command::Subscribe(type_url, locator) => {
                self.stream.subscribe(&type_url, locator);
                if self.stream.needs_new_stream() {
                    return Needs::NewStream;
                }
            }
            Command::Unsubscribe(type_url, locator) => self.stream.unsubscribe(&type_url, &locator),
            Command::Recall(type_url, locator) => {
                let batch = self.stream.recall(&type_url, &locator);
                batch.into_iter().for_each(|batch| drop((self.on_event)(Event::Known(batch))));
            }
            Command::TakeOver(handover) => self.stream.take_over(*handover),
            Command::HandOver(type_url, to) => {
                // Who asked waits for the answer, or is gone with everything else.
                _ = to.send(self.stream.hand_over(&type_url));
                return Needs::NewStream;
            }
        }
        Needs::Nothing
    }
}

/// What has to follow a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    NewStream,
}

/// Room for a request, from `at` on; none when the stream takes no more, which its responses will tell.
async fn reserve_after<T>(at: Instant, requests: &mpsc::Sender<T>) -> Option<mpsc::Permit<'_, T>> {
    sleep_until(at).await;
    requests.reserve().await.ok()
}

fn describe(status: &tonic::Status) -> String {
    match status.message() {
        "" => status.code().to_string(),
        message => format!("{}: {message}", status.code()),
    }
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}
