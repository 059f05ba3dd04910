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

/// How often at most it is stated that somebody was turned away.
const QUIET: Duration = Duration::from_secs(1);

/// How much there is room for.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    /// The most connections.
    pub connections: usize,
    /// The most connections of one address.
    pub connections_per_address: Option<usize>,
    /// The most connections that are in their TLS handshake.
    pub handshakes: usize,
    /// The most streams and polls.
    pub streams: usize,
    /// The most streams and polls of one node, over all connections.
    pub streams_per_node: Option<usize>,
    /// The most that is kept of requests that are not complete, of all clients together, in bytes.
    pub partial_requests: usize,
    /// How many new streams there may be.
    pub rate: Option<Rate>,
    /// How many streams may be sent their first response at once. The others wait, in order.
    pub first_responses: usize,
    /// The least that who is turned away is asked to wait; at most twice as long.
    pub retry_after: Duration,
}

/// How many new streams there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// So many in a second, in the long run; not zero.
    pub per_second: usize,
    /// So many at once, after a quiet time; not zero.
    pub burst: usize,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            connections: 100_000,
            connections_per_address: None,
            handshakes: 10_000,
            streams: 1_000_000,
            streams_per_node: None,
            partial_requests: 256 << 20,
            rate: None,
            first_responses: 1024,
            retry_after: Duration::from_secs(1),
        }
    }
}

/// Lets clients in, or not. Cheap to clone, since each connection and stream has some; all clones count together.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Inner>);

struct Inner {
    limits: RwLock<Admission>,
    connections: Total,
    /// Of each address that has connections.
    of_address: Counts<IpAddr>,
    handshakes: Mutex<Handshakes>,
    streams: Total,
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
    pub(crate) fn new(limits: Admission, metrics: Arc<Metrics>) -> Self {
        Self(Arc::new(Inner {
            limits: RwLock::new(limits),
            connections: Total::default(),
            of_address: Counts::default(),
            handshakes: Mutex::default(),
            streams: Total::default(),
            of_node: Counts::default(),
            bucket: Mutex::default(),
            turns: RwLock::new(Turns::new(limits.first_responses)),
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

    /// Lets a stream or a poll of a node go on, for as long as the guard lives. None where nobody counts: there is no
    /// limit, or the node has no id.
    pub(crate) fn meet(&self, node: &str) -> Result<Option<Met>, Refusal> {
        let counted = self.0.meet(node).map_err(|shortage| self.turn_away(shortage))?;
        Ok(counted.then(|| Met { gate: self.clone(), node: node.to_owned() }))
    }

    /// A request of which nothing has arrived.
    pub(crate) fn partial(&self) -> Partial {
        Partial::new(self.clone())
    }

    fn partial_requests(&self) -> usize {
        self.0.limits.read().partial_requests
    }

    /// Has `limits` count from now on. Who is over them stays.
    pub(crate) fn adjust(&self, limits: Admission) {
        let mut current = self.0.limits.write();
        if limits.first_responses != current.first_responses {
            *self.0.turns.write() = Turns::new(limits.first_responses);
        }
        *current = limits;
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
        let least = self.0.limits.read().retry_after;
        Refusal { shortage, retry_after: least.mul_f64(1.0 + fastrand::f64()) }
    }
}

impl Inner {
    fn connect(&self, address: IpAddr) -> Result<(), Shortage> {
        let limits = *self.limits.read();
        if !self.connections.enter(limits.connections) {
            return Err(Shortage::Connections);
        }
        if !self.of_address.enter(address, limits.connections_per_address) {
            self.connections.leave();
            return Err(Shortage::ConnectionsPerAddress);
        }
        Ok(())
    }

    fn open(&self, newcomer: bool, now: Instant) -> Result<(), Shortage> {
        let limits = *self.limits.read();
        if !self.streams.enter(limits.streams) {
            return Err(Shortage::Streams);
        }
        if newcomer && limits.rate.is_some_and(|rate| !self.bucket.lock().take(rate, now)) {
            self.streams.leave();
            return Err(Shortage::StreamRate);
        }
        Ok(())
    }

    /// Whether it is counted from now on.
    fn meet(&self, node: &str) -> Result<bool, Shortage> {
        let limit = self.limits.read().streams_per_node;
        let Some(limit) = limit.filter(|_| !node.is_empty()) else { return Ok(false) };
        let fits = self.of_node.enter(node.to_owned(), Some(limit));
        fits.then_some(true).ok_or(Shortage::StreamsPerNode(limit))
    }
}

/// A node that was let in once more.
pub(crate) struct Met {
    gate: Gate,
    node: String,
}

impl Drop for Met {
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

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn gate(limits: Admission) -> Gate {
        Gate::new(limits, Arc::new(Metrics::new()))
    }

    fn shortage<T>(outcome: Result<T, Refusal>) -> Option<Shortage> {
        outcome.err().map(|refusal| refusal.shortage)
    }

    #[test]
    fn connections_are_limited_in_all_and_of_one_address() {
        let gate =
            gate(Admission { connections: 3, connections_per_address: Some(2), ..Admission::default() });
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
        let gate = gate(Admission { streams_per_node: Some(2), ..Admission::default() });
        let two = [gate.meet("a").unwrap(), gate.meet("a").unwrap()];
        assert_eq!(shortage(gate.meet("a")), Some(Shortage::StreamsPerNode(2)));
        let said = gate.meet("a").err().unwrap().status();
        assert_eq!(
            said.message(),
            "this node has 2 streams, and may have no more (limits.max_streams_per_node)"
        );
        let other = gate.meet("b").unwrap();
        for _ in 0..3 {
            assert!(gate.meet("").unwrap().is_none(), "who has no id is not counted");
        }
        drop((two, other));
        assert!(gate.0.of_node.is_empty(), "who is gone is not remembered");
        gate.adjust(Admission::default());
        assert!(gate.meet("a").unwrap().is_none(), "there is no limit any more");
    }

    #[test]
    fn streams_are_limited_in_all() {
        let gate = gate(Admission { streams: 1, ..Admission::default() });
        let first = gate.open(true);
        for newcomer in [true, false] {
            assert_eq!(shortage(gate.open(newcomer)), Some(Shortage::Streams));
        }
        drop(first);
        assert_eq!(shortage(gate.open(true)), None);
    }

    #[test]
    fn new_limits_count_at_once_and_who_is_over_them_stays() {
        let gate = gate(Admission { streams: 2, ..Admission::default() });
        let running = [gate.open(true), gate.open(true)];
        gate.adjust(Admission { streams: 1, ..Admission::default() });
        assert_eq!(gate.0.streams.open(), 2);
        drop(running);
        let _one = gate.open(true);
        assert_eq!(shortage(gate.open(true)), Some(Shortage::Streams));
        gate.adjust(Admission { streams: 2, ..Admission::default() });
        assert_eq!(shortage(gate.open(true)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn only_newcomers_count_in_the_rate() {
        let rate = Some(Rate { per_second: 10, burst: 2 });
        let gate = gate(Admission { rate, ..Admission::default() });
        let opened: Vec<_> = (0..3).map(|_| shortage(gate.open(true))).collect();
        assert_eq!(opened, [None, None, Some(Shortage::StreamRate)]);
        assert_eq!(shortage(gate.open(false)), None);
        tokio::time::advance(Duration::from_millis(100)).await;
        assert_eq!(shortage(gate.open(true)), None);
        assert_eq!(shortage(gate.open(true)), Some(Shortage::StreamRate));
    }

    #[test]
    fn who_is_turned_away_is_not_asked_back_all_at_once() {
        let gate =
            gate(Admission { streams: 0, retry_after: Duration::from_secs(4), ..Admission::default() });
        let waits: Vec<_> = (0..200).map(|_| gate.open(true).err().unwrap().retry_after).collect();
        assert!(waits.iter().all(|wait| (4.0..=8.0).contains(&wait.as_secs_f64())), "{waits:?}");
        let early = waits.iter().filter(|wait| wait.as_secs() < 6).count();
        assert!((60..140).contains(&early), "{early}");
    }
}
