//! One connection, and the streams that share it.
//!
//! Owns how many streams it has, and whether it takes more: until the control plane ends it, has as many as it takes, or the
//! last stream is gone.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use opentelemetry::KeyValue;
use opentelemetry::metrics::UpDownCounter;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tonic::transport::Channel;

use super::frames::{FrameReader, Notice};
use crate::Settings;
use crate::driver::chain;

/// Why there is no connection, where nothing else is known.
const CLOSED: &str = "the server closed the connection before it took a stream";

/// A connection. It ends when its last stream does.
#[derive(Debug)]
pub(crate) struct Link {
    id: u64,
    /// Those that it was made with.
    settings: Arc<Settings>,
    endpoint: Box<str>,
    state: Mutex<State>,
    changed: Notify,
    /// How many connections there are.
    open: UpDownCounter<i64>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether it was connected.
    begun: bool,
    /// None before it is connected, and once it takes no more streams.
    channel: Option<Channel>,
    streams: usize,
    /// How many the control plane takes, once that is known.
    accepted: Option<usize>,
    closed: bool,
    /// Why it cannot be read, if so.
    error: Option<Arc<str>>,
    address: Option<SocketAddr>,
}

/// The share that a stream has in a connection.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) channel: Channel,
    pub(crate) slot: Arc<Slot>,
}

/// The place of a stream on a connection.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Link>);

/// The connection of a stream, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// What it is called; never given twice for one control plane.
    pub id: u64,
    /// Where it goes to.
    pub address: SocketAddr,
}

impl Link {
    pub(crate) fn new(id: u64, settings: Arc<Settings>, endpoint: &str) -> Self {
        let (state, changed) = Default::default();
        let open = weir_metrics::UPSTREAM_CONNECTIONS.up_down_counter();
        Self { id, settings, endpoint: endpoint.into(), state, changed, open }
    }

    fn labels(&self) -> [KeyValue; 2] {
        let authority = KeyValue::new("authority", self.settings.authority.clone());
        [authority, KeyValue::new("dialect", self.settings.speech())]
    }

    /// Whether it goes to `endpoint`, by these settings.
    pub(super) fn is_for(&self, settings: &Arc<Settings>, endpoint: &str) -> bool {
        Arc::ptr_eq(&self.settings, settings) && *self.endpoint == *endpoint
    }

    /// Whether it may be connected: once.
    pub(crate) fn begin(&self) -> bool {
        !std::mem::replace(&mut self.state.lock().begun, true)
    }

    /// Notes where it is connected to.
    pub(crate) fn connected(&self, address: SocketAddr) {
        self.state.lock().address = Some(address);
        self.open.add(1, &self.labels());
    }

    /// Has `channel` used for streams, once the control plane has sent its settings.
    ///
    /// # Errors
    /// Why it has ended instead: a server that refuses our certificate reports it only after the handshake (TLS 1.3).
    pub(super) async fn serve(&self, channel: Channel) -> Result<(), Arc<str>> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state.lock();
                if let Some(reason) = state.ended() {
                    return Err(reason);
                }
                if state.accepted.is_some() {
                    state.channel = Some(channel);
                    return Ok(());
                }
            }
            changed.await;
        }
    }

    /// A place on it, if there is one.
    pub(super) fn lease(self: &Arc<Self>) -> Option<Lease> {
        let mut state = self.state.lock();
        let max = self.settings.streams_per_connection.min(state.accepted.unwrap_or(usize::MAX)).max(1);
        let channel = state.channel.clone().filter(|_| state.streams < max)?;
        state.streams += 1;
        Some(Lease { channel, slot: Arc::new(Slot(Arc::clone(self))) })
    }

    /// Why the control plane has ended it, if so.
    pub(super) fn ended(&self) -> Option<Arc<str>> {
        self.state.lock().ended()
    }

    /// Takes no more streams: the control plane has ended it, or is about to. Those that it has go on for as long as they can.
    pub(crate) fn close(&self) {
        let channel = {
            let mut state = self.state.lock();
            state.closed = true;
            state.channel.take()
        };
        // It may end with this.
        drop(channel);
        self.changed.notify_waiters();
    }

    /// Notes that the connection cannot be read, since it has broken.
    pub(crate) fn note_error(&self, error: &io::Error) {
        self.state.lock().error.get_or_insert_with(|| chain(error).into());
    }

    /// Reads what comes on the connection.
    pub(crate) fn note_read(&self, frames: &mut FrameReader, bytes: &[u8]) {
        frames.read(bytes, |notice| match notice {
            Notice::GoAway => self.close(),
            Notice::Settings(max) => {
                let max = max.map(|max| usize::try_from(max).unwrap_or(usize::MAX));
                let mut state = self.state.lock();
                // Settings that do not have it leave it as it was.
                state.accepted = max.or(state.accepted).or(Some(usize::MAX));
                drop(state);
                self.changed.notify_waiters();
            }
        });
    }
}

impl State {
    fn ended(&self) -> Option<Arc<str>> {
        let reason = || self.error.clone().unwrap_or_else(|| CLOSED.into());
        self.closed.then(reason)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.state.get_mut().address.is_some() {
            self.open.add(-1, &self.labels());
        }
    }
}

impl Slot {
    /// The connection.
    pub(crate) fn carrier(&self) -> Option<Carrier> {
        let Link { id, state, .. } = &*self.0;
        state.lock().address.map(|address| Carrier { id: *id, address })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let unused = {
            let mut state = self.0.state.lock();
            state.streams -= 1;
            if state.streams == 0 { state.channel.take() } else { None }
        };
        // It ends with this.
        drop(unused);
    }
}
