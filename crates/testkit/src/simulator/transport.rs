//! What lies between the two ends of a stream, and the server machine at the far one.

use std::time::{Duration, Instant};

use weir_database::Database;
use weir_protocol::Dialect;
use weir_session::{ClientKind, ClientProfile, Names};
use weir_types::{DynamicParameters, ResourceLocator, TypeUrl};

use super::manners::{Customs, Manners};
use crate::model::{Making, NoCache, Request, Response, ServerEnd};

/// One direction of a stream: what is sent arrives in order.
#[derive(Debug, Default)]
struct Lane {
    last: Duration,
}

impl Lane {
    fn arrival(&mut self, now: Duration, rng: &mut fastrand::Rng) -> Duration {
        let delay = match rng.u32(0..50) {
            0 => rng.u64(500..4_000),
            1..10 => rng.u64(20..200),
            _ => rng.u64(1..20),
        };
        self.last = self.last.max(now + Duration::from_millis(delay));
        self.last
    }
}

/// A stream that is opened again and again.
#[derive(Default)]
pub(super) struct Transport {
    connection: Option<Connection>,
    /// Whether the asking end does not read, so that there is no room for responses.
    stalled: bool,
    /// The most bytes of a response that can be split; none for any number.
    limit: Option<usize>,
    /// What seconds are counted from.
    epoch: Option<Instant>,
    /// State of the world: whether the asking end is sent no times to live.
    timeless: bool,
    /// Whether the asking end is a proxy.
    proxy: bool,
    /// What the far end does where it has a choice.
    customs: Customs,
}

struct Connection {
    /// Never given twice: what travels on an older one is lost.
    number: u64,
    server: ServerEnd,
    dialect: Dialect,
    manners: Manners,
    /// Whether there may be something to send though the bell did not ring.
    attentive: bool,
    up: Lane,
    down: Lane,
}

impl Connection {
    /// Incremental: has the server go on from a response that is not sent.
    fn acknowledge(&mut self, type_url: TypeUrl, nonce: String, now: Instant) {
        let names = Names::Patch { subscribe: Vec::new(), unsubscribe: Vec::new() };
        let ack = Request { type_url, nonce, nack: None, names, version: None, known: Vec::new() };
        self.server.handle(&ack, now);
    }
}

impl Transport {
    pub(super) fn open(
        &mut self,
        number: u64,
        database: &Database,
        dialect: Dialect,
        plain: &DynamicParameters,
    ) {
        let kind = if self.proxy { ClientKind::Weir } else { ClientKind::Other };
        let takes_any_size = self.proxy && self.limit.is_none();
        let parameters = plain.clone().into();
        let client = ClientProfile { kind, parameters, takes_any_size, ..ClientProfile::default() };
        self.connection = Some(Connection {
            number,
            server: ServerEnd::new(database, dialect, client, !self.timeless),
            dialect,
            manners: Manners::new(self.customs),
            attentive: false,
            up: Lane::default(),
            down: Lane::default(),
        });
    }

    /// Has responses take no more than `limit` bytes, so that steps are split.
    pub(super) fn split(&mut self, limit: Option<usize>) {
        self.limit = limit;
    }

    /// Has the far end do so where it has a choice, on the connections that are opened from now on.
    pub(super) fn follow(&mut self, customs: Customs) {
        self.customs = customs;
        self.limit = customs.sends_one_by_one.then_some(1);
    }

    /// Has responses contain no times to live.
    pub(super) fn without_times(&mut self) {
        self.timeless = true;
    }

    pub(super) fn cut(&mut self) {
        self.connection = None;
    }

    pub(super) fn is_open(&self) -> bool {
        self.connection.is_some()
    }

    /// Whether the connection of this number is the current one.
    pub(super) fn carries(&self, number: u64) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.number == number)
    }

    pub(super) fn stall(&mut self, stalled: bool) {
        self.stalled = stalled;
        if let Some(connection) = &mut self.connection {
            connection.attentive = true;
        }
    }

    /// The far end takes in a request.
    pub(super) fn handle(&mut self, request: &Request, now: Instant) {
        if let Some(connection) = &mut self.connection {
            connection.manners.note_stated(request);
            connection.server.handle(request, now);
            connection.attentive = true;
        }
    }

    /// The next response at `now`, if there is room for it and the far end was woken, or has waited for long enough.
    pub(super) fn answer(&mut self, now: Instant) -> Option<Response> {
        let connection = self.connection.as_mut().filter(|_| !self.stalled)?;
        connection.attentive |= connection.server.bell.take() | connection.server.time_out(now);
        if !connection.attentive {
            return None;
        }
        let limit = self.limit.unwrap_or(usize::MAX);
        let making = Making { limit, epoch: *self.epoch.get_or_insert(now) };
        loop {
            let Some(response) = connection.server.poll(making, NoCache::default(), now).response else {
                connection.attentive = false;
                return None;
            };
            let (type_url, nonce) = (response.type_url.clone(), response.nonce.clone());
            match connection.manners.shape(response, connection.dialect) {
                Some(response) => return Some(response),
                None if connection.dialect == Dialect::Delta => connection.acknowledge(type_url, nonce, now),
                None => {}
            }
        }
    }

    /// When a request that leaves now arrives, and on which connection; none when there is none.
    pub(super) fn send_up(&mut self, now: Duration, rng: &mut fastrand::Rng) -> Option<(Duration, u64)> {
        let connection = self.connection.as_mut()?;
        Some((connection.up.arrival(now, rng), connection.number))
    }

    /// When a response that leaves now arrives, and on which connection; none when there is none.
    pub(super) fn send_down(&mut self, now: Duration, rng: &mut fastrand::Rng) -> Option<(Duration, u64)> {
        let connection = self.connection.as_mut()?;
        Some((connection.down.arrival(now, rng), connection.number))
    }

    /// The asking end is a proxy.
    pub(super) fn of_proxy(&mut self) {
        self.proxy = true;
    }

    /// What the far end takes to be subscribed.
    pub(super) fn subscribed(&self) -> impl Iterator<Item = (TypeUrl, ResourceLocator)> {
        let subscribed = self.connection.iter().flat_map(|connection| connection.server.subscribed());
        subscribed.map(|(type_url, selector)| (type_url.clone(), selector.locator.clone()))
    }
}
