//! Everything that a script acts on, and what must hold of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_database::{Database, Settings};
use weir_protocol::Dialect;
use weir_session::Nack;
use weir_types::{
    Absence, Absent, Answered, DynamicParameters, Form, Kind, Provenance, ResourceLocator, Scope, TypeUrl,
};

use super::client::Client;
use super::messages::Request;
use super::peer::Peer;
use super::stream::{Making, NoCache, Polled};
use super::watch::{Shown, Watch};
use super::{Change, Identity, Reference};

/// How long locators stay wanted in the worlds of the model.
const IDLE: Duration = Duration::from_secs(60);

/// The size of a response with about two resources.
const SMALL: usize = 200;

/// More responses than any script can cause.
const ENDLESS: usize = 10_000;

/// A database, its reference, and clients with a stream each.
pub struct World {
    database: Database,
    reference: Reference,
    peers: Vec<Peer>,
    /// When it began.
    epoch: Instant,
    now: Instant,
    /// A change that comes in the middle of the next framing: before or after the difference is taken.
    midway: Option<(Change, bool)>,
}

impl World {
    /// A world with one client in each dialect for each of `parameters`.
    pub fn new(parameters: &[DynamicParameters]) -> Self {
        let database = Database::new(Settings { idle: IDLE, ..Settings::default() });
        let twins = parameters.iter().flat_map(|p| [(Dialect::Sotw, p), (Dialect::Delta, p)]);
        let twins = twins.enumerate();
        let peers =
            twins.map(|(i, (dialect, p))| Peer::new(&database, dialect, p.clone(), i % 4 > 0)).collect();
        let (reference, epoch) = (Reference::default(), Instant::now());
        let mut world = Self { database, reference, peers, epoch, now: epoch, midway: None };
        world.sweep(Duration::ZERO);
        world
    }

    /// The database under test.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// How many clients there are.
    pub fn clients(&self) -> usize {
        self.peers.len()
    }

    /// A client; those with even numbers use SotW, and the next one is its twin.
    pub fn client(&self, who: usize) -> &Client {
        &self.peers[who].client
    }

    /// What a client should hold.
    pub fn shown(&self, who: usize, type_url: &TypeUrl) -> BTreeMap<Identity, Arc<weir_types::Variant>> {
        self.reference.shows(type_url, self.peers[who].client.wanted(type_url).iter())
    }

    /// Commits a change.
    pub fn commit(&mut self, change: Change) {
        let change = Change { received: Some(self.now), ..change };
        self.database.commit(change.batch());
        self.note_change(&change);
    }

    fn note_change(&mut self, change: &Change) {
        let answered = self.reference.apply(change);
        self.look_again(&change.type_url, answered);
        let mortal = change.upserts.iter().any(|(_, content)| content.ttl.is_some());
        if mortal || !change.heartbeats.is_empty() {
            for peer in self.peers.iter_mut().filter(|peer| peer.counts) {
                peer.watches.entry(change.type_url.clone()).and_modify(|watch| watch.reason = true);
            }
        }
    }

    /// Works out anew what the clients should see of a type; if that is something else, or a question was
    /// `answered`, there is a reason to send them.
    fn look_again(&mut self, type_url: &TypeUrl, answered: bool) {
        for peer in &mut self.peers {
            let selectors = peer.subscribed(type_url);
            if let Some(watch) = peer.watches.get_mut(type_url) {
                let shown = self.reference.shows(type_url, selectors.iter());
                watch.reason |= answered || !same(&shown, &watch.shown);
                watch.shown = shown;
            }
        }
    }

    /// Commits again what is there: nothing that anyone sees changes.
    pub fn commit_again(&mut self, type_url: &TypeUrl, provenance: Provenance) {
        let mut change = Change::new(type_url.clone(), provenance);
        for variant in self.reference.contents(type_url, provenance) {
            change = change.with(variant.key().clone(), variant.content().clone());
        }
        self.commit(change);
    }

    /// Has a change come in the middle of the next framing, before or after the difference is taken.
    pub fn interrupt(&mut self, change: Change, before: bool) {
        self.midway = Some((change, before));
    }

    /// Has a client do something: what it sends is on its way then.
    pub fn act(&mut self, who: usize, act: impl FnOnce(&mut Client) -> Option<Request>) {
        let peer = &mut self.peers[who];
        let request = act(&mut peer.client);
        peer.up.extend(request);
    }

    /// Has up to `count` requests of a client arrive.
    pub fn deliver(&mut self, who: usize, count: usize) -> bool {
        let mut any = false;
        for _ in 0..count {
            let Some(inbound) = self.peers[who].up.pop_front() else { break };
            any = true;
            let type_url = inbound.type_url.clone();
            let again = inbound.nack.is_none() && self.is_asked_again(who, &inbound);
            let gone = self.peers[who].handle(&inbound, self.now);
            self.note_subscriptions(&type_url);
            let shown = self.reference.shows(&type_url, self.peers[who].subscribed(&type_url).iter());
            if let Some(watch) = self.peers[who].watches.get_mut(&type_url) {
                watch.forget(&gone, &shown);
                watch.shown = shown;
                watch.reason |= again;
            }
        }
        any
    }

    /// Whether a request asks for something beside changing the subscription.
    fn is_asked_again(&self, who: usize, inbound: &Request) -> bool {
        let Some(type_subscription) = self.peers[who].stream.of_type(&inbound.type_url) else { return true };
        match &inbound.names {
            weir_session::Names::Patch { subscribe, .. } => !subscribe.is_empty(),
            weir_session::Names::Replace(_) => type_subscription
                .outstanding()
                .is_some_and(|(nonce, verdict)| verdict && nonce.to_string() == inbound.nonce),
        }
    }

    fn note_subscriptions(&mut self, type_url: &TypeUrl) {
        let all = self.peers.iter().flat_map(|peer| peer.subscribed(type_url));
        let locators: BTreeSet<ResourceLocator> = all.map(|selector| selector.locator).collect();
        self.reference.note_subscribed(type_url, &locators);
    }

    /// Has up to `count` responses of a client's stream leave.
    pub fn transmit(&mut self, who: usize, count: usize) -> bool {
        let mut any = false;
        for _ in 0..count {
            if !self.transmit_one(who) {
                break;
            }
            any = true;
        }
        any
    }

    fn transmit_one(&mut self, who: usize) -> bool {
        let before = self.shown_now(who);
        let peer = &mut self.peers[who];
        let rang = peer.stream.bell.take();
        let timed_out = peer.stream.time_out(self.now);
        let due = rang || std::mem::take(&mut peer.handled) || timed_out;
        if let Some((change, _)) = &mut self.midway {
            change.received = Some(self.now);
        }
        let midway = self.midway.as_ref().map(|(change, when)| (&self.database, change, *when));
        // Every other client is sent everything in small parts.
        let limit = if who % 2 == 1 { SMALL } else { usize::MAX };
        let making = Making { limit, epoch: self.epoch };
        let polled = peer.stream.poll(making, NoCache::interrupting(midway), self.now);
        let Polled { response, interrupted, continues } = polled;
        if interrupted && let Some((change, _)) = self.midway.take() {
            self.note_change(&change);
        }
        let after = self.shown_now(who);
        let peer = &mut self.peers[who];
        let Some(response) = response else { return false };
        assert!(due || interrupted, "nobody woke the stream for {response:?}");
        peer.handled = true; // It is polled until there is nothing more.
        // What was there when the first part was made is what all of them contain.
        let [before, after] = match &peer.framed {
            Some(framed) if continues => framed.clone(),
            _ => [before, after],
        };
        peer.framed = Some([before.clone(), after.clone()]);
        let watch = peer.watches.entry(response.type_url.clone()).or_default();
        let nothing = Shown::new();
        let shown = [&before, &after].map(|all| all.get(&response.type_url).unwrap_or(&nothing));
        let withdrawn = watch.check(&response, shown);
        if response.type_url.kind() == Kind::Cluster
            && let Some(eds) = TypeUrl::of_kind(Kind::ClusterLoadAssignment)
        {
            peer.watches.entry(eds).and_modify(|watch| watch.reason = true);
        }
        if !withdrawn.is_empty() {
            for (type_url, shown) in after.iter().filter(|(t, _)| **t != response.type_url) {
                let lacks = peer.watches.get(type_url).is_some_and(|watch| watch.lacks(shown));
                assert!(
                    !lacks || peer.is_gated(type_url),
                    "o01: {withdrawn:?} go before additions of {type_url}"
                );
            }
        }
        peer.down.push_back(response);
        true
    }

    fn shown_now(&self, who: usize) -> BTreeMap<TypeUrl, Shown> {
        let peer = &self.peers[who];
        let types = peer.stream.types().iter().map(|l| l.type_url());
        types.map(|t| (t.clone(), self.reference.shows(t, peer.subscribed(t).iter()))).collect()
    }

    /// Has up to `count` responses arrive at a client, which accepts or rejects them.
    pub fn receive(&mut self, who: usize, count: usize, reject: bool) -> bool {
        let mut any = false;
        let peer = &mut self.peers[who];
        for _ in 0..count {
            let Some(response) = peer.down.pop_front() else { break };
            any = true;
            let nack = reject.then(|| Nack { code: 13, message: "no".into() });
            let verdict = peer.client.receive(&response, nack);
            peer.up.push_back(verdict);
            peer.up.extend(peer.client.ask_for_lost(&response.type_url));
            peer.check_variants(&response.type_url);
        }
        any
    }

    /// Cuts a client's stream and has it open another.
    pub fn reconnect(&mut self, who: usize, keep_nonce: bool) {
        let (dialect, parameters) = (self.client(who).dialect(), self.client(who).parameters().clone());
        let fresh = Peer::new(&self.database, dialect, parameters, self.peers[who].counts);
        let old = std::mem::replace(&mut self.peers[who], fresh);
        let peer = &mut self.peers[who];
        peer.client = old.client;
        for inbound in peer.client.reconnect(keep_nonce) {
            let watch = Watch::resuming(peer.client.held(&inbound.type_url), dialect);
            peer.watches.insert(inbound.type_url.clone(), watch);
            peer.up.push_back(inbound);
        }
        for type_subscription in old.stream.types() {
            self.note_subscriptions(type_subscription.type_url());
        }
    }

    /// Lets time pass.
    pub fn sweep(&mut self, time: Duration) {
        self.now += time;
        self.database.sweep(self.now);
        self.reference.sweep(self.now, IDLE);
        self.peers.iter_mut().for_each(|peer| peer.client.pass(self.now));
        let types: BTreeSet<TypeUrl> = self.peers.iter().flat_map(|p| p.watches.keys().cloned()).collect();
        types.iter().for_each(|type_url| self.look_again(type_url, false));
    }

    /// Lets everything on its way arrive, and checks that every client has what it should have.
    pub fn drain(&mut self) {
        self.drain_to(false);
    }

    /// If `settled`, nothing that a client was not sent is excused.
    fn drain_to(&mut self, settled: bool) {
        for _ in 0..ENDLESS {
            let mut busy = false;
            let interruptible = self.midway.is_some();
            for who in 0..self.peers.len() {
                busy |= self.transmit(who, 1);
                busy |= self.receive(who, 1, false);
                busy |= self.deliver(who, 1);
            }
            if !busy && interruptible == self.midway.is_some() {
                return (0..self.peers.len())
                    .for_each(|who| self.peers[who].check_quiet(who, &self.reference, settled));
            }
        }
        panic!("there is no end of responses");
    }

    /// Has upstream answer every question, so that all that can be known is known.
    pub fn settle(&mut self) {
        self.drain();
        let mut open: BTreeMap<TypeUrl, BTreeSet<ResourceLocator>> = BTreeMap::new();
        for peer in &self.peers {
            for type_subscription in peer.stream.types() {
                let locators = peer.subscribed(type_subscription.type_url()).into_iter().map(|s| s.locator);
                open.entry(type_subscription.type_url().clone()).or_default().extend(locators);
            }
        }
        for (type_url, locators) in open {
            let mut change = Change::new(type_url, Provenance::Wildcard);
            change.answered.push(Answered::all());
            change.absent.extend(locators.into_iter().filter(|l| !l.is_wildcard()).map(|locator| Absent {
                name: locator.name,
                scope: Scope::Exactly(locator.parameters),
                absence: Absence::Known,
            }));
            self.commit(change);
        }
        self.drain_to(true);
    }

    /// Has all clients go, and checks that they leave nothing behind.
    pub fn close(mut self) {
        let types: BTreeSet<TypeUrl> =
            self.peers.iter().flat_map(|p| p.stream.types().iter().map(|l| l.type_url().clone())).collect();
        self.peers.clear();
        types.iter().for_each(|type_url| self.note_subscriptions(type_url));
        self.sweep(Duration::ZERO);
        self.sweep(IDLE);
        assert_eq!(self.reference.kept(), 0, "the reference keeps what nobody wants");
        let left = self.database.statistics();
        let counts = [left.selections, left.views, left.tombstones, left.subscribed_variants];
        assert_eq!(counts, [0; 4], "d10: something is left behind: {left:?}");
    }
}

fn same(one: &Shown, other: &Shown) -> bool {
    let content = |(identity, variant): (&Identity, &Arc<weir_types::Variant>)| {
        (identity.clone(), variant.version(Form::Located))
    };
    one.iter().map(content).eq(other.iter().map(content))
}
