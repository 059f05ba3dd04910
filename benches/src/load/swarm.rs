//! The clients: each a connection with one or more xDS streams that accepts whatever it is sent.
//!
//! A client does as little as the protocol allows: it finds the nonce and sends an ACK. What it saw goes into the
//! [`Tally`], which all share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::http2::{Connection, Event, Message};
use super::plan::Plan;
use super::resources;
use super::sockets::{Peer, Sockets};

/// The clients of a run.
pub(crate) type Swarm = Sockets<Client>;

/// How clients behave, beyond what they subscribe to.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    /// The node without its id; in the first request of a stream.
    pub(crate) node: Arc<[u8]>,
    /// Whether the node is in every request, as Envoy has it by default.
    pub(crate) node_in_every_request: bool,
    /// Of so many streams, one looks how old the resources are that it gets. None if 0.
    pub(crate) sample_every: usize,
    /// Whether messages are kept, to be decoded.
    pub(crate) keep: bool,
}

/// What the clients have seen.
pub(crate) struct Tally {
    pub(crate) habits: Habits,
    /// The run's zero hour.
    pub(crate) start: Instant,
    /// When what is measured now began.
    pub(crate) since: Instant,
    /// Connections that the server takes part in, and has been sent all requests.
    pub(crate) accepted: usize,
    /// Streams that have had their first full state, and how long after their connection was begun, in µs.
    pub(crate) synced: Vec<u32>,
    /// Streams that ended without being asked to.
    pub(crate) lost: usize,
    /// Why the first of them did.
    pub(crate) loss: Option<String>,
    /// Responses, and how long after `since`, in µs.
    pub(crate) deliveries: Vec<u32>,
    pub(crate) resources: usize,
    pub(crate) removed: usize,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// How old resources were on arrival, in µs, as far as sampled.
    pub(crate) ages: Vec<u32>,
    /// Messages that were kept.
    pub(crate) kept: Vec<Message>,
    events: Vec<Event>,
}

impl Tally {
    pub(crate) fn new(habits: Habits, start: Instant) -> Self {
        Self {
            habits,
            start,
            since: Instant::now(),
            accepted: 0,
            synced: Vec::new(),
            lost: 0,
            loss: None,
            deliveries: Vec::new(),
            resources: 0,
            removed: 0,
            bytes_in: 0,
            bytes_out: 0,
            ages: Vec::new(),
            kept: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Begins to count anew.
    pub(crate) fn begin(&mut self) {
        self.since = Instant::now();
        self.deliveries.clear();
        self.ages.clear();
        (self.resources, self.removed, self.bytes_in, self.bytes_out) = (0, 0, 0, 0);
    }
}

/// One connection.
pub(crate) struct Client {
    http: Option<Connection>,
    plan: Arc<Plan>,
    authority: Arc<str>,
    /// The number of its first stream, among all.
    first: usize,
    streams: Vec<Stream>,
    begun: Instant,
    announced: bool,
}

#[derive(Clone)]
struct Stream {
    /// By type, what is missing from the first full state.
    missing: Vec<usize>,
    synced: bool,
    ended: bool,
}

impl Client {
    /// One with so many streams, which follow `plan`; `first` of all streams is its first.
    pub(crate) fn new(plan: Arc<Plan>, authority: Arc<str>, first: usize, streams: usize) -> Self {
        let missing = plan.types.iter().map(|planned| planned.count).collect();
        let stream = Stream { missing, synced: false, ended: false };
        Self {
            http: None,
            plan,
            authority,
            first,
            streams: vec![stream; streams],
            begun: Instant::now(),
            announced: false,
        }
    }

    /// What goes with a request: the node, if it is wanted there.
    fn node(&self, habits: &Habits, stream: usize, first: bool) -> Vec<u8> {
        if first || habits.node_in_every_request {
            self.plan.node(&format!("client-{:06}", self.first + stream), &habits.node)
        } else {
            Vec::new()
        }
    }

    fn lose(&mut self, tally: &mut Tally, stream: usize) {
        tally.lost += usize::from(!std::mem::replace(&mut self.streams[stream].ended, true));
    }

    fn accept(
        &mut self,
        tally: &mut Tally,
        stream: usize,
        message: Message,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let same = |url: &str| url.as_bytes() == message.type_url;
        let Some(kind) = self.plan.types.iter().position(|planned| same(&planned.url)) else {
            bail!("a response of a type that was not asked for");
        };
        let now = Instant::now();
        tally.deliveries.push(micros(now.saturating_duration_since(tally.since)));
        tally.resources += message.resources;
        let state = &mut self.streams[stream];
        state.missing[kind] = state.missing[kind].saturating_sub(message.resources);
        if !state.synced && state.missing.iter().all(|missing| *missing == 0) {
            state.synced = true;
            tally.synced.push(micros(now.saturating_duration_since(self.begun)));
        }
        if tally.habits.sample_every > 0 {
            tally.ages.extend(resources::ages(&message.whole, tally.start).map(micros));
        }
        let mut details = Vec::with_capacity(64);
        // The tags of short fields that are bytes or text: a number, and the wire type of what has a length.
        let mut field = |number: u32, value: &[u8]| {
            details.extend_from_slice(&[(number << 3 | 2) as u8, value.len() as u8]);
            details.extend_from_slice(value);
        };
        field(self.plan.dialect.nonce_field(), &message.nonce);
        match self.plan.dialect {
            super::plan::Dialect::Sotw => field(1, &message.version),
            super::plan::Dialect::Delta => tally.removed += message.removed,
        }
        let node = self.node(&tally.habits, stream, false);
        let known = &self.plan.types[kind].acknowledgement;
        if let Some(http) = &mut self.http {
            http.send(stream, &[known, &details, &node], out);
        }
        if tally.habits.keep {
            tally.kept.push(message);
        }
        Ok(())
    }
}

impl Peer for Client {
    type Shared = Tally;

    fn connected(&mut self, tally: &mut Tally, out: &mut Vec<u8>) {
        let mut http = Connection::open(out);
        let block = self.plan.headers(&self.authority);
        let every = tally.habits.sample_every;
        for stream in 0..self.streams.len() {
            let sampled = every > 0 && (self.first + stream).is_multiple_of(every);
            http.open_stream(&block, sampled || tally.habits.keep, out);
            for (number, planned) in self.plan.types.iter().enumerate() {
                let node = self.node(&tally.habits, stream, number == 0);
                http.send(stream, &[&planned.first, &node], out);
            }
        }
        tally.bytes_out += out.len() as u64;
        self.http = Some(http);
    }

    fn received(&mut self, tally: &mut Tally, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Some(http) = &mut self.http else { bail!("bytes before the connection was opened") };
        let mut events = std::mem::take(&mut tally.events);
        let fed = http.feed(bytes, out, &mut events);
        if !self.announced && http.is_accepted() && http.is_flushed() {
            self.announced = true;
            tally.accepted += 1;
        }
        tally.bytes_in += bytes.len() as u64;
        for event in events.drain(..) {
            match event {
                Event::Message(stream, message) => self.accept(tally, stream, message, out)?,
                Event::Ended(stream) => {
                    tally.loss.get_or_insert_with(|| "it ended the stream".to_owned());
                    self.lose(tally, stream);
                }
            }
        }
        tally.bytes_out += out.len() as u64;
        tally.events = events;
        Ok(fed?)
    }

    fn closed(&mut self, tally: &mut Tally, why: anyhow::Error) {
        tally.loss.get_or_insert_with(|| format!("{why:#}"));
        (0..self.streams.len()).for_each(|stream| self.lose(tally, stream));
    }
}

/// Microseconds, of which 32 bits hold an hour.
pub(crate) fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}
