//! The driver of an upstream stream: connects, sends and receives for an [`UpstreamStream`] for as long as anything is
//! subscribed on it.
//!
//! Owns connections, timers and the channel of commands. Never decides what is sent, committed or acknowledged.

mod archive;
mod database_sink;
mod exchange;
mod probe;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use weir_types::with_causes;

pub(crate) use self::archive::Archive;
pub(crate) use self::database_sink::{DatabaseSink, Destinations, StreamName, SubscribersDone};
use crate::codec::Writer;
use crate::connections::Connections;
use crate::stream::{Command, EventSink, Needs, UpstreamStream};
use crate::transport::{Method, Peer};

/// Drives a stream by the commands that it is sent; it ends when there will be no more.
pub(crate) struct Driver<S> {
    pub(crate) stream: UpstreamStream<S>,
    pub(crate) method: Method,
    pub(crate) writer: Writer,
    pub(crate) commands: mpsc::UnboundedReceiver<Command>,
    /// Notified when an acknowledgement need not wait any longer.
    pub(crate) subscribers_done: Arc<SubscribersDone>,
    /// What it connects by; shared by the streams of a control plane.
    pub(crate) connections: Arc<Connections>,
    /// Where resources of an earlier process are looked up.
    pub(crate) archive: Option<Archive>,
}

/// Where a stream is to be opened.
struct Place {
    /// The place of the endpoint in the order of preference.
    index: usize,
    /// The connection, where there is one.
    peer: Option<Peer>,
}

/// Why a connection, or an attempt to connect, is over.
enum End {
    /// There will be no more commands.
    Closed,
    /// There are new settings.
    Adjusted,
    /// A new stream is needed.
    Reopen,
    /// There is a better endpoint.
    Moves(Place),
    /// The connection failed, for this reason.
    Failed(String),
}

impl<S: EventSink + Send> Driver<S> {
    /// Keeps a stream open for as long as anything is subscribed.
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
            let Some(endpoint) = self.stream.settings().endpoints.get(index) else { continue };
            let endpoint: Arc<str> = endpoint.as_str().into();
            match self.connect(index, &endpoint, peer).await {
                End::Closed => return,
                End::Adjusted => {}
                End::Reopen => place = Some(Place { index, peer: None }),
                End::Moves(better) => place = Some(better),
                End::Failed(reason) => self.stream.handle_failure(endpoint, index, reason, now()),
            }
        }
    }

    /// Waits for the time of the next attempt.
    async fn next_place(&mut self) -> Result<Place, End> {
        let (index, wait) = self.stream.next_endpoint(now());
        self.meanwhile(sleep(wait)).await?;
        Ok(Place { index, peer: None })
    }

    /// False when there will be no more commands. New settings meanwhile do not concern the `next` place.
    async fn wait_until_wanted(&mut self, next: &mut Option<Place>) -> bool {
        while self.stream.is_idle() {
            let Some(command) = self.commands.recv().await else { return false };
            if self.handle_commands(command).await == Needs::NewPlace {
                *next = None;
            }
        }
        true
    }

    /// Handles commands until `future` is done, or of no use any more.
    async fn meanwhile<T>(&mut self, future: impl Future<Output = T>) -> Result<T, End> {
        let mut future = pin!(future);
        loop {
            tokio::select! {
                done = &mut future => return Ok(done),
                command = self.commands.recv() => {
                    if self.handle_commands(command.ok_or(End::Closed)?).await == Needs::NewPlace {
                        return Err(End::Adjusted);
                    }
                }
            }
        }
    }

    /// Handles `command`, and those that wait already, for as long as they need nothing.
    async fn handle_commands(&mut self, command: Command) -> Needs {
        let mut next = Some(command);
        let mut needs = Needs::Nothing;
        while let Some(command) = next.take() {
            if matches!(command, Command::HandOver(..)) {
                self.restore().await;
            }
            needs = self.stream.handle_command(command);
            if needs == Needs::Nothing {
                next = self.commands.try_recv().ok();
            }
        }
        self.restore().await;
        self.stream.report_commands();
        needs
    }

    /// Looks up what an earlier process left of what is newly subscribed.
    async fn restore(&mut self) {
        let wanted = self.stream.poll_look_up();
        if let Some(archive) = &self.archive
            && !wanted.is_empty()
        {
            let past = archive.look_up(wanted).await;
            self.stream.restore(past);
        }
    }
}

/// What time it is.
fn now() -> std::time::Instant {
    Instant::now().into_std()
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
