//! One upstream stream, kept open: the thin shell around a [`UpstreamSession`].
//!
//! Owns which endpoint is tried when, and obeys commands at any time, connected or not.

pub(crate) mod database_sink;
pub(crate) mod exchange;
mod probe;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use weir_database::{Observer, Watch};
use weir_protocol::client::{Applied, Handover, Shrink, UpstreamSession};
use weir_types::{Batch, DynamicParameters, ResourceLocator, TypeUrl, with_causes};

use crate::arrival::Arrival;
use crate::codec::Writer;
use crate::driver::exchange::{End, Place};
use crate::stream::acknowledgement::{About, Release, Waiting};
use crate::stream::debounce::Collected;
use crate::stream::failover::Failover;
use crate::stream::memory::Memory;
use crate::transport::Method;
use crate::{Acknowledge, Settings};

/// What happens on a link.
#[derive(Debug)]
pub enum Event {
    /// There is a connection to this endpoint.
    Connected {
        /// Where.
        endpoint: Arc<str>,
        /// Which one that is, in order of preference.
        index: usize,
    },
    /// Another endpoint, that was tried beside the one in use, is of no use.
    Unfit {
        /// Where.
        endpoint: Arc<str>,
        /// Why.
        reason: String,
    },
    /// The connection or the stream is gone, or could not be made. Another one will be tried.
    Disconnected {
        /// Where.
        endpoint: Arc<str>,
        /// Why.
        reason: String,
    },
    /// A response came. It is acknowledged when this event has been handled, or, if that gives a watch, when
    /// that is over.
    Applied(Applied, Box<Arrival>),
    /// An acknowledgement waits for subscribers.
    Held,
    /// One does no longer.
    Released(Release),
    /// Something became known, without a response or some time after it.
    Known(Batch),
    /// A response has become part of a burst.
    Debounced(TypeUrl),
    /// This became of removals.
    Shrink(Shrink),
    /// Something was known in an earlier process.
    Remembered(Batch),
    /// So many resources of a type were, and are not vouched for by a server since.
    Unconfirmed(TypeUrl, usize),
    /// Whether something is known of everything that was asked for on the current stream.
    InSync(bool),
    /// Another stream takes the place of the current one, and goes by these settings.
    Adjusted(Arc<Settings>),
}

/// A command to a stream.
#[derive(Debug)]
pub(crate) enum Command {
    Subscribe(TypeUrl, ResourceLocator),
    Unsubscribe(TypeUrl, ResourceLocator),
    /// Has the server send again what it has for a locator.
    Renew(TypeUrl, ResourceLocator),
    /// Commits again what is known of a locator, for the one parameter set that has come to ask for it.
    Recall(TypeUrl, ResourceLocator, DynamicParameters),
    /// Gives up a type, and opens a new stream without it.
    HandOver(TypeUrl, oneshot::Sender<Option<Handover>>),
    TakeOver(Box<Handover>),
    /// Believes the removals of a type that are withheld.
    ConfirmRemovals(TypeUrl),
    /// Goes by other settings, on a new stream.
    Adjust(Arc<Settings>),
}

/// An upstream stream, by the commands that it is sent; it ends when there will be no more.
pub(crate) struct Link<F> {
    pub(crate) settings: Arc<Settings>,
    pub(crate) method: Method,
    pub(crate) writer: Writer,
    pub(crate) stream: UpstreamSession,
    pub(crate) commands: mpsc::UnboundedReceiver<Command>,
    /// The acknowledgements that are held back.
    pub(crate) waiting: Waiting,
    /// Notified when one of them may go.
    pub(crate) answered: Arc<Answered>,
    pub(crate) failover: Failover,
    /// Unknown locators are reported as unavailable.
    pub(crate) away: bool,
    /// Changes that wait for more.
    pub(crate) collected: Collected,
    /// The endpoint of the last stream.
    pub(crate) last: Option<Arc<str>>,
    /// What outlives the process; none where nothing does.
    pub(crate) memory: Option<Memory>,
    pub(crate) on_event: F,
}

/// Learns that the subscribers of a watched commit have answered.
#[derive(Default)]
pub(crate) struct Answered(pub(crate) Notify);

impl Observer for Answered {
    fn over(&self) {
        self.0.notify_one();
    }
}

impl<F: FnMut(Event) -> Option<Watch> + Send> Link<F> {
    /// Keeps a stream open for as long as anything is wanted.
    pub(crate) async fn run(mut self) {
        let mut place = None;
        while self.wait_until_wanted(&mut place).await {
            let Place { index, peer } = match place.take() {
                Some(place) => place,
                None => match self.next_place().await {
                    Ok(place) => place,
                    Err(End::Closed) => return,
                    Err(_) => continue,
                },
            };
            let Some(endpoint) = self.settings.endpoints.get(index) else { continue };
            let endpoint: Arc<str> = endpoint.as_str().into();
            match self.session(index, &endpoint, peer).await {
                End::Closed => return,
                End::Adjusted => {}
                End::Reopen => place = Some(Place { index, peer: None }),
                End::Moves(better) => place = Some(better),
                End::Failed(reason) => {
                    self.failover.failed(index, Instant::now().into_std());
                    (self.on_event)(Event::Disconnected { endpoint, reason });
                }
            }
        }
    }

    /// Waits for the time of the next attempt.
    async fn next_place(&mut self) -> Result<Place, End> {
        let (index, wait) = self.failover.next(Instant::now().into_std());
        // Nobody is left to try.
        if !wait.is_zero() {
            self.away = true;
            self.report_away();
        }
        self.meanwhile(tokio::time::sleep(wait)).await?;
        Ok(Place { index, peer: None })
    }

    /// False when there will be no more commands. New settings meanwhile do not concern the `next` place.
    async fn wait_until_wanted(&mut self, next: &mut Option<Place>) -> bool {
        while self.stream.is_idle() {
            let Some(command) = self.commands.recv().await else { return false };
            if self.obey_all(command).await == Needs::NewPlace {
                *next = None;
            }
        }
        true
    }

    /// Obeys commands until `future` is done, or of no use any more.
    pub(crate) async fn meanwhile<T>(&mut self, future: impl Future<Output = T>) -> Result<T, End> {
        let mut future = pin!(future);
        loop {
            tokio::select! {
                done = &mut future => return Ok(done),
                command = self.commands.recv() => {
                    if self.obey_all(command.ok_or(End::Closed)?).await == Needs::NewPlace {
                        return Err(End::Adjusted);
                    }
                }
            }
        }
    }

    /// While nobody can be asked: reports unknown locators as unavailable.
    fn report_away(&mut self) {
        if self.away {
            let away = self.stream.away();
            self.commit(away);
        }
    }

    /// Somebody can be asked.
    pub(crate) fn report_back(&mut self) {
        if std::mem::take(&mut self.away) {
            let back = self.stream.back();
            self.commit(back);
        }
    }

    /// Reports what became of removals.
    pub(crate) fn report_shrinks(&mut self) {
        while let Some(shrink) = self.stream.poll_shrink() {
            (self.on_event)(Event::Shrink(shrink));
        }
    }

    /// Commits changes that have waited, and what came meanwhile in another way.
    pub(crate) fn commit(&mut self, batches: impl IntoIterator<Item = Batch>) {
        batches.into_iter().for_each(|batch| drop((self.on_event)(Event::Known(batch))));
    }

    /// Takes in a response: what is only a change may wait for more.
    pub(crate) fn take_in(&mut self, mut applied: Applied, arrival: Arrival) {
        if self.settings.debounce.is_none() {
            return self.apply(applied, arrival);
        }
        if applied.answers || !Collected::may_wait(&applied.batch) {
            let before = self.collected.before(&applied.batch);
            self.commit(before);
            return self.apply(applied, arrival);
        }
        let Batch { type_url, reach, .. } = &applied.batch;
        let empty = Batch::new(type_url.clone(), *reach);
        let batch = std::mem::replace(&mut applied.batch, empty);
        self.apply(applied, arrival);
        if !batch.is_empty() {
            let type_url = batch.type_url.clone();
            if self.collected.add(batch, Instant::now().into_std()) {
                (self.on_event)(Event::Debounced(type_url));
            }
        }
    }

    /// Has a response committed. Its acknowledgement waits where that is watched, and concerns anyone.
    pub(crate) fn apply(&mut self, applied: Applied, arrival: Arrival) {
        let held = match (self.settings.acknowledge, &applied.ticket) {
            (Acknowledge::AfterSubscribers(policy), Some(ticket)) => {
                Some((ticket.clone(), About::new(&applied.batch), policy))
            }
            _ => None,
        };
        let watch = (self.on_event)(Event::Applied(applied, Box::new(arrival)))
            .filter(|watch| watch.tally().subscribers > 0);
        if let (Some((ticket, about, policy)), Some(watch)) = (held, watch) {
            self.stream.hold(&ticket);
            self.waiting.add(ticket, about, watch, policy, Instant::now().into_std());
            (self.on_event)(Event::Held);
        }
    }

    /// Lets those acknowledgements go that have waited for enough; whether there are any.
    pub(crate) fn release(&mut self) -> bool {
        let due = self.waiting.take_due(Instant::now().into_std());
        let any = !due.is_empty();
        for release in due {
            self.stream.release(&release.ticket, release.rejection.clone());
            (self.on_event)(Event::Released(release));
        }
        any
    }

    /// Obeys `command`, and those that wait already, for as long as they need nothing.
    pub(crate) async fn obey_all(&mut self, command: Command) -> Needs {
        let mut next = Some(command);
        let mut needs = Needs::Nothing;
        while let Some(command) = next.take() {
            if matches!(command, Command::HandOver(..)) {
                self.recall().await;
            }
            needs = self.obey(command);
            if needs == Needs::Nothing {
                next = self.commands.try_recv().ok();
            }
        }
        self.recall().await;
        self.report_away();
        self.report_unconfirmed();
        needs
    }

    fn obey(&mut self, command: Command) -> Needs {
        match command {
            Command::Subscribe(type_url, locator) => {
                self.note_wanted(&type_url, &locator, true);
                self.stream.subscribe(&type_url, locator);
            }
            Command::Renew(type_url, locator) => self.stream.renew(&type_url, &locator),
            Command::Unsubscribe(type_url, locator) => {
                self.note_wanted(&type_url, &locator, false);
                self.stream.unsubscribe(&type_url, &locator);
            }
            Command::Recall(type_url, locator, asker) => {
                let batch = self.stream.recall(&type_url, &locator);
                self.commit(batch.map(|batch| batch.only_for(&asker)));
            }
            Command::ConfirmRemovals(type_url) => {
                let batch = self.stream.confirm_removals(&type_url);
                let before = self.collected.take_all();
                self.commit(before.into_iter().chain(batch));
                self.report_shrinks();
            }
            Command::TakeOver(handover) => {
                self.expect_unconfirmed(handover.type_url());
                self.stream.take_over(*handover);
            }
            Command::HandOver(type_url, to) => {
                // Who asked waits for the answer, or is gone with everything else.
                _ = to.send(self.stream.hand_over(&type_url));
                return Needs::NewStream;
            }
            Command::Adjust(settings) => {
                self.adjust(settings);
                return Needs::NewPlace;
            }
        }
        if self.stream.needs_new_stream() { Needs::NewStream } else { Needs::Nothing }
    }

    /// Goes by other settings of the same control plane from now on.
    fn adjust(&mut self, settings: Arc<Settings>) {
        let naming = self.stream.settings().naming.clone();
        let believed = self.stream.adjust(settings.machine(naming));
        let before = self.collected.take_all();
        self.commit(before.into_iter().chain(believed));
        self.report_shrinks();
        self.failover = settings.failover();
        self.writer.node_always = !settings.node_on_first_message_only;
        self.rely_on_versions(settings.versions_last());
        self.settings = Arc::clone(&settings);
        (self.on_event)(Event::Adjusted(settings));
    }
}

/// What has to follow a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    NewStream,
    /// A new stream, whose endpoint has to be published anew.
    NewPlace,
}

/// With its causes: a server that refuses our certificate reports it only after the handshake (TLS 1.3).
pub(crate) fn describe(status: &tonic::Status) -> String {
    let text = match status.message() {
        "" => status.code().to_string(),
        message => format!("{}: {message}", status.code()),
    };
    with_causes(text, std::error::Error::source(status))
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    with_causes(error.to_string(), error.source())
}
