//! Who is let in: connections and streams in all, connections of one address, streams of one node, new streams a
//! second, how many streams are sent their first responses at once, and how much may have arrived of requests that are
//! not complete.
//!
//! Streams that run are never touched: whatever is short is kept for them. A rejected client is sent a hint when to come
//! back, each at a time of its own. Owns the counts; they are those of guards, so that nothing is counted that is gone.

mod bucket;
mod counts;
mod handshakes;
mod partial;
mod refusal;
mod turn;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;
use weir_config::{Admission, Count, Limits};

use self::bucket::Bucket;
use self::counts::{Counts, Total};
pub(crate) use self::handshakes::Handshake;
use self::handshakes::Handshakes;
use self::partial::Held;
pub(crate) use self::partial::Partial;
pub(crate) use self::refusal::{Refusal, Shortage};
pub(crate) use self::turn::Turn;
use self::turn::Turns;
use crate::metrics::Metrics;
use crate::settings::Settings;

/// How often at most it is stated that somebody was turned away.
const QUIET: Duration = Duration::from_secs(1);

/// How much there is room for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    pub(crate) limits: Limits,
    pub(crate) admission: Admission,
}

impl From<&Settings> for Room {
    fn from(settings: &Settings) -> Self {
        Self { limits: settings.limits, admission: settings.admission }
    }
}

/// Lets clients in, or not. Cheap to clone, since each connection and stream has some; all clones count together.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Inner>);

struct Inner {
    room: RwLock<Room>,
    connections: Total,
    /// Of each address that has connections.
    of_address: Counts<IpAddr>,
    handshakes: Mutex<Handshakes>,
    streams: Total,
    /// Those of load reports among them.
    load_streams: Total,
    /// Of each node, by its id, that has streams.
    of_node: Counts<String>,
    bucket: Mutex<Bucket>,
    turns: RwLock<Turns>,
    /// Of requests that are not complete.
    partial: Held,
    /// When it was last logged that clients rejected: limit reached.
    logged: Mutex<Option<Instant>>,
    metrics: Arc<Metrics>,
}

impl Gate {
    pub(crate) fn new(room: Room, metrics: Arc<Metrics>) -> Self {
        Self(Arc::new(Inner {
            room: RwLock::new(room),
            connections: Total::default(),
            of_address: Counts::default(),
            handshakes: Mutex::default(),
            streams: Total::default(),
            load_streams: Total::default(),
            of_node: Counts::default(),
            bucket: Mutex::default(),
            turns: RwLock::new(Turns::new(room.admission.max_first_responses.get())),
            partial: Held::default(),
            logged: Mutex::default(),
            metrics,
        }))
    }

    /// Lets a connection in, for as long as the guard lives.
    pub(crate) fn connect(&self, address: IpAddr) -> Result<Connected, Refusal> {
        self.0.connect(address).map_err(|shortage| self.turn_away(shortage))?;
        self.0.metrics.connected();
        Ok(Connected { gate: self.clone(), address })
    }

    /// Lets a connection begin its TLS handshake, for as long as the guard lives. Another one may have to make room.
    pub(crate) fn handshake(&self, address: IpAddr) -> Handshake {
        Handshake::begin(self, address)
    }

    /// Lets a stream or a poll in, for as long as the guard lives. A newcomer is one that was not answered before.
    pub(crate) fn open(&self, newcomer: bool) -> Result<Opened, Refusal> {
        self.0.open(newcomer, Instant::now()).map_err(|shortage| self.turn_away(shortage))?;
        Ok(Opened { gate: self.clone() })
    }

    /// Lets a stream of load reports in, for as long as the guard lives.
    pub(crate) fn open_load(&self) -> Result<LoadOpened, Refusal> {
        let opened = self.open(true)?;
        let most = self.0.room.read().limits.max_load_streams.get();
        match self.0.load_streams.enter(most) {
            true => Ok(LoadOpened { opened }),
            false => Err(self.turn_away(Shortage::LoadStreams)),
        }
    }

    /// Lets a stream or a poll of a node go on, for as long as the guard lives. None where nobody counts: there is no
    /// limit, or the node has no id.
    pub(crate) fn admit_node(&self, node: &str) -> Result<Option<NodeSlot>, Refusal> {
        let counted = self.0.admit_node(node).map_err(|shortage| self.turn_away(shortage))?;
        Ok(counted.then(|| NodeSlot { gate: self.clone(), node: node.to_owned() }))
    }

    /// A request of which nothing has arrived.
    pub(crate) fn partial(&self) -> Partial {
        Partial::new(self.clone())
    }

    fn partial_requests(&self) -> usize {
        self.0.room.read().limits.max_partial_requests.get()
    }

    /// Has the limits of `room` count from now on. Who is over them stays.
    pub(crate) fn apply_settings(&self, room: Room) {
        let mut current = self.0.room.write();
        let most = room.admission.max_first_responses;
        if most != current.admission.max_first_responses {
            *self.0.turns.write() = Turns::new(most.get());
        }
        *current = room;
    }

    /// The turn of a new stream to be sent its first response.
    pub(crate) fn turn(&self) -> Turn {
        self.0.turns.read().next()
    }

    /// Makes it known that somebody is turned away.
    fn turn_away(&self, shortage: Shortage) -> Refusal {
        self.0.metrics.turned_away(shortage);
        let now = Instant::now();
        let mut logged = self.0.logged.lock();
        if logged.is_none_or(|logged| now - logged >= QUIET) {
            *logged = Some(now);
            tracing::warn!(%shortage, "clients rejected: limit reached");
        }
        let least = self.0.room.read().admission.retry_after;
        Refusal { shortage, retry_after: least.mul_f64(1.0 + fastrand::f64()) }
    }
}

impl Inner {
    fn connect(&self, address: IpAddr) -> Result<(), Shortage> {
        let Limits { max_connections, max_connections_per_address, .. } = self.room.read().limits;
        if !self.connections.enter(max_connections.get()) {
            return Err(Shortage::Connections);
        }
        if !self.of_address.enter(address, max_connections_per_address.map(Count::get)) {
            self.connections.leave();
            return Err(Shortage::ConnectionsPerAddress);
        }
        Ok(())
    }

    fn open(&self, newcomer: bool, now: Instant) -> Result<(), Shortage> {
        let Room { limits, admission } = *self.room.read();
        if !self.streams.enter(limits.max_streams.get()) {
            return Err(Shortage::Streams);
        }
        let rate =
            admission.new_streams_per_second.map(|rate| (rate, admission.new_streams_burst.unwrap_or(rate)));
        if newcomer && rate.is_some_and(|(rate, burst)| !self.bucket.lock().take(rate, burst, now)) {
            self.streams.leave();
            return Err(Shortage::StreamRate);
        }
        Ok(())
    }

    /// Whether it is counted from now on.
    fn admit_node(&self, node: &str) -> Result<bool, Shortage> {
        let limit = self.room.read().limits.max_streams_per_node.map(Count::get);
        let Some(limit) = limit.filter(|_| !node.is_empty()) else { return Ok(false) };
        let fits = self.of_node.enter(node.to_owned(), Some(limit));
        fits.then_some(true).ok_or(Shortage::StreamsPerNode(limit))
    }
}

/// A node that was let in once more.
pub(crate) struct NodeSlot {
    gate: Gate,
    node: String,
}

impl Drop for NodeSlot {
    fn drop(&mut self) {
        self.gate.0.of_node.leave(&self.node);
    }
}

/// A connection that was let in.
pub(crate) struct Connected {
    gate: Gate,
    address: IpAddr,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.gate.0.connections.leave();
        self.gate.0.of_address.leave(&self.address);
        self.gate.0.metrics.disconnected();
    }
}

/// A stream or a poll that was let in.
pub(crate) struct Opened {
    gate: Gate,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.gate.0.streams.leave();
    }
}

/// A stream of load reports that was let in.
pub(crate) struct LoadOpened {
    opened: Opened,
}

impl Drop for LoadOpened {
    fn drop(&mut self) {
        self.opened.gate.0.load_streams.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn gate(limits: Limits) -> Gate {
        Gate::new(room(limits), Arc::new(Metrics::new()))
    }

    fn room(limits: Limits) -> Room {
        Room { limits, admission: Admission::default() }
    }

    fn streams<const N: usize>() -> Limits {
        Limits { max_streams: Count::of::<N>(), ..Limits::default() }
    }

    fn shortage<T>(outcome: Result<T, Refusal>) -> Option<Shortage> {
        outcome.err().map(|refusal| refusal.shortage)
    }

    #[test]
    fn connections_are_limited_in_all_and_of_one_address() {
        let gate = gate(Limits {
            max_connections: Count::of::<3>(),
            max_connections_per_address: Some(Count::of::<2>()),
            ..Limits::default()
        });
        let here = [gate.connect(HERE), gate.connect(HERE)];
        assert_eq!(shortage(gate.connect(HERE)), Some(Shortage::ConnectionsPerAddress));
        let there = gate.connect(THERE);
        assert_eq!(shortage(gate.connect(THERE)), Some(Shortage::Connections));
        drop((here, there));
        assert!(gate.0.of_address.is_empty(), "who is gone is not remembered");
        assert_eq!(shortage(gate.connect(HERE)), None);
    }

    #[test]
    fn streams_of_a_node_are_limited_over_all_connections() {
        let gate = gate(Limits { max_streams_per_node: Some(Count::of::<2>()), ..Limits::default() });
        let two = [gate.admit_node("a").unwrap(), gate.admit_node("a").unwrap()];
        assert_eq!(shortage(gate.admit_node("a")), Some(Shortage::StreamsPerNode(2)));
        let status = gate.admit_node("a").err().unwrap().status();
        assert_eq!(
            status.message(),
            "this node has 2 streams, and may have no more (limits.max_streams_per_node)"
        );
        let other = gate.admit_node("b").unwrap();
        for _ in 0..3 {
            assert!(gate.admit_node("").unwrap().is_none(), "who has no id is not counted");
        }
        drop((two, other));
        assert!(gate.0.of_node.is_empty(), "who is gone is not remembered");
        gate.apply_settings(Room::default());
        assert!(gate.admit_node("a").unwrap().is_none(), "there is no limit any more");
    }

    #[test]
    fn streams_are_limited_in_all() {
        let gate = gate(streams::<1>());
        let first = gate.open(true);
        for newcomer in [true, false] {
            assert_eq!(shortage(gate.open(newcomer)), Some(Shortage::Streams));
        }
        drop(first);
        assert_eq!(shortage(gate.open(true)), None);
    }

    #[test]
    fn streams_of_load_reports_are_limited_and_count_as_streams() {
        let limits = Limits { max_load_streams: Count::of::<1>(), ..streams::<2>() };
        let gate = gate(limits);
        let one = gate.open_load();
        assert_eq!(shortage(gate.open_load()), Some(Shortage::LoadStreams));
        let other = gate.open(true);
        assert_eq!(shortage(gate.open_load()), Some(Shortage::Streams));
        drop((one, other));
        assert_eq!(gate.0.streams.open(), 0);
        assert_eq!(shortage(gate.open_load()), None);
    }

    #[test]
    fn new_limits_count_at_once_and_who_is_over_them_stays() {
        let gate = gate(streams::<2>());
        let running = [gate.open(true), gate.open(true)];
        gate.apply_settings(room(streams::<1>()));
        assert_eq!(gate.0.streams.open(), 2);
        drop(running);
        let _one = gate.open(true);
        assert_eq!(shortage(gate.open(true)), Some(Shortage::Streams));
        gate.apply_settings(room(streams::<2>()));
        assert_eq!(shortage(gate.open(true)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn only_newcomers_count_in_the_rate() {
        let admission = Admission {
            new_streams_per_second: Some(Count::of::<10>()),
            new_streams_burst: Some(Count::of::<2>()),
            ..Admission::default()
        };
        let gate = Gate::new(Room { admission, ..Room::default() }, Arc::new(Metrics::new()));
        let opened: Vec<_> = (0..3).map(|_| shortage(gate.open(true))).collect();
        assert_eq!(opened, [None, None, Some(Shortage::StreamRate)]);
        assert_eq!(shortage(gate.open(false)), None);
        tokio::time::advance(Duration::from_millis(100)).await;
        assert_eq!(shortage(gate.open(true)), None);
        assert_eq!(shortage(gate.open(true)), Some(Shortage::StreamRate));
    }

    #[test]
    fn who_is_turned_away_is_not_asked_back_all_at_once() {
        let admission = Admission { retry_after: Duration::from_secs(4), ..Admission::default() };
        let gate = Gate::new(Room { limits: streams::<1>(), admission }, Arc::new(Metrics::new()));
        let _one = gate.open(true);
        let waits: Vec<_> = (0..200).map(|_| gate.open(true).err().unwrap().retry_after).collect();
        assert!(waits.iter().all(|wait| (4.0..=8.0).contains(&wait.as_secs_f64())), "{waits:?}");
        let early = waits.iter().filter(|wait| wait.as_secs() < 6).count();
        assert!((60..140).contains(&early), "{early}");
    }
}
