//! A proxy whose control plane sends anything.
//!
//! Whatever comes and breaks, its tables do not contradict each other, what is rejected changes nothing, and when a
//! good control plane takes the place of the bad one, every subscriber has just what that one has.

mod followers;
mod recovery;

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use weir_protocol::Dialect;
use weir_protocol::client::Response;
use weir_types::{Batch, Name, TypeUrl};

pub use self::followers::Follower;
use super::agenda::End;
use super::play::Hop;
use super::proxy::{Need, Proxy};

/// How many types there are.
const TYPES: usize = 5;

/// What one response could not cause by half.
const ENDLESS: usize = 1_000;

/// The proxy, and its clients.
pub struct Hostile {
    hop: Hop,
    proxy: Proxy,
    followers: Vec<Follower>,
    now: Instant,
}

impl Hostile {
    /// A proxy that asks for nothing yet.
    pub fn new(hop: Hop) -> Self {
        let proxy = Proxy::new(0, hop);
        let followers = Follower::all(&proxy.database);
        Self { hop, proxy, followers, now: Instant::now() }
    }

    /// One of the clients subscribes to something, or no longer: each number picks from what is in play.
    pub fn subscribe(&mut self, picks: [u8; 4], wanted: bool) {
        let [who, of, name, set] = picks.map(usize::from);
        let count = self.followers.len();
        self.followers[who % count].subscribe([of, name, set], wanted);
        self.settle();
    }

    /// The control plane sends something on one of the streams. Nothing happens where there is none.
    pub fn send(&mut self, stream: u8, response: Response) {
        let Some(end) = self.stream(stream) else { return };
        let now = self.now;
        let Some(link) = self.proxy.link(&end) else { return };
        let content = Content::new(&response, link.dialect);
        let applied = link.machine.handle_response(response, now);
        let rejected: BTreeSet<_> = applied.rejected.iter().map(|rejected| rejected.name.clone()).collect();
        content.check(&rejected, &applied.batch);
        self.proxy.database.commit(applied.batch);
        self.attend(&end, Need::Flush);
        self.settle();
    }

    /// One of the streams breaks, and a new one is opened.
    pub fn reset(&mut self, stream: u8) {
        let Some(end) = self.stream(stream) else { return };
        self.attend(&end, Need::Reopen);
        self.settle();
    }

    /// Time passes.
    pub fn pass(&mut self, time: Duration) {
        self.now += time;
        self.proxy.tick(self.now);
        self.settle();
    }

    fn stream(&self, number: u8) -> Option<End> {
        let ends: Vec<End> = self.proxy.ends().collect();
        (!ends.is_empty()).then(|| ends[usize::from(number) % ends.len()].clone())
    }

    /// Does what a stream needs, while whatever it asks leads nowhere.
    fn attend(&mut self, end: &End, need: Need) {
        let now = self.now;
        let Some(link) = self.proxy.link(end) else { return };
        if need == Need::Reopen || link.machine.needs_new_stream() {
            link.machine.disconnected();
        }
        if need != Need::Flush || link.machine.needs_new_stream() {
            link.machine.connected();
        }
        let asked = std::iter::from_fn(|| link.machine.poll_transmit(now)).take(ENDLESS).count();
        assert!(asked < ENDLESS, "there is no end of requests");
    }

    /// Lets everybody take in what there is, and holds the tables against each other.
    fn settle(&mut self) {
        let mut rounds = 0;
        while let Some(needs) = self.proxy.follow_demand() {
            needs.iter().for_each(|(end, need)| self.attend(end, *need));
            rounds += 1;
            assert!(rounds < ENDLESS, "there is no end of demand");
        }
        self.followers.iter_mut().for_each(Follower::settle);
        if let Err(contradiction) = self.proxy.database.audit() {
            panic!("{contradiction}");
        }
    }
}

/// What of a response has to do with what may be rejected of it.
struct Content {
    /// Of what something came, wanted or not.
    sent: BTreeSet<Name>,
    removed: BTreeSet<Name>,
    /// Whether what it leaves out is gone.
    whole: bool,
}

impl Content {
    fn new(response: &Response, dialect: Dialect) -> Self {
        let sent = response.resources.iter().flatten().map(|variant| variant.name().clone()).collect();
        let removed = response.removed.iter().map(|key| key.name.clone());
        let errors = response.errors.iter().map(|error| error.key.name.clone());
        // How older servers state that a resource does not exist.
        let empty = response.resources.iter().flatten().filter(|variant| variant.content().body.is_none());
        let empty = empty.map(|variant| variant.name().clone());
        let whole = dialect == Dialect::Sotw && response.type_url.is_full_state();
        Self { sent, removed: removed.chain(errors).chain(empty).collect(), whole }
    }

    /// Of a name of which only something unacceptable came, everything stays as it is; of all names, where the
    /// response has nothing else.
    fn check(&self, rejected: &BTreeSet<Option<Name>>, batch: &Batch) {
        let came: BTreeSet<&Name> = batch.upserts.iter().map(|variant| variant.name()).collect();
        for name in rejected.iter().flatten() {
            let is_mentioned = came.contains(name) || self.removed.contains(name);
            let gone = batch.removals.iter().any(|key| key.name == *name);
            let absent = batch.absent.iter().any(|absent| absent.name == *name);
            assert!(is_mentioned || !gone && !absent, "{name} was rejected, and is gone: {batch:?}");
        }
        let accepted = self.sent.iter().any(|name| !rejected.contains(&Some(name.clone())));
        let nothing_else = !accepted && self.removed.is_empty();
        let leaves_out = self.whole && !rejected.contains(&None);
        if !rejected.is_empty() && nothing_else && !leaves_out {
            let changes = batch.removals.len() + batch.absent.len() + batch.errors.len();
            assert_eq!(changes, 0, "a response with nothing to accept changes something: {batch:?}");
        }
    }
}

/// The types that clients ask for.
fn type_of(number: usize) -> TypeUrl {
    static ALL: LazyLock<Vec<TypeUrl>> = LazyLock::new(super::types);
    ALL[number % ALL.len()].clone()
}
