//! The play: from a seed to the end, and what must be true then.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use weir_protocol::Dialect;
use weir_types::{Name, TypeUrl};

use super::events::{Agenda, Event};
use super::origin::Origin;
use super::peers::Peer;
use super::types;
use super::upstream::read;
use super::weir::Weir;
use crate::model::Held;

/// How long things happen by themselves.
const SCRIPT: Duration = Duration::from_secs(60);

/// Long enough for every timeout.
const REST: Duration = Duration::from_secs(40);

/// More than any play takes.
const ENDLESS: usize = 1_000_000;

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// What Weir and the origin speak.
    pub upstream: Dialect,
    /// Whether the origin speaks TP2; else it has a stream for each parameter set.
    pub native: bool,
}

/// One run.
pub struct Simulation {
    setup: Setup,
    rng: fastrand::Rng,
    epoch: Instant,
    agenda: Agenda,
    origin: Origin,
    weir: Weir,
    peers: Vec<Peer>,
}

impl Simulation {
    /// Runs it to the end; panics when something is not as it should be.
    pub fn run(setup: Setup, seed: u64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let weir = Weir::new(setup.upstream, setup.native);
        let peers = (0..rng.usize(1..6)).map(|_| Peer::new(&weir.database, &mut rng)).collect();
        let (epoch, agenda, origin) = (Instant::now(), Agenda::default(), Origin::new());
        let mut simulation = Self { setup, rng, epoch, agenda, origin, weir, peers };
        simulation.write_script();
        simulation.play();
        simulation.check();
    }

    fn write_script(&mut self) {
        let moment = |rng: &mut fastrand::Rng| Duration::from_millis(rng.u64(0..SCRIPT.as_millis() as u64));
        for _ in 0..10 {
            self.origin.change(&mut self.rng);
        }
        for _ in 0..self.rng.usize(5..60) {
            self.agenda.at(moment(&mut self.rng), 0, Event::Change);
        }
        for who in 0..self.peers.len() {
            for _ in 0..self.rng.usize(3..30) {
                self.agenda.at(moment(&mut self.rng), 0, Event::Act(who));
            }
            for _ in 0..self.rng.usize(0..4) {
                self.agenda.at(moment(&mut self.rng), 0, Event::Reconnect(who));
            }
        }
        for second in 0..(SCRIPT + REST).as_secs() {
            self.agenda.at(Duration::from_secs(second), 0, Event::Tick);
        }
    }

    fn now(&self) -> Instant {
        self.epoch + self.agenda.now()
    }

    fn play(&mut self) {
        for _ in 0..ENDLESS {
            let Some((generation, event)) = self.agenda.next() else {
                assert!(self.agenda.is_quiet());
                return;
            };
            self.happen(generation, event);
            self.settle();
        }
        panic!("there is no end of it");
    }

    fn happen(&mut self, generation: u64, event: Event) {
        match event {
            Event::Asked(index, inbound) => {
                let stream = &mut self.weir.streams[index];
                if stream.generation == generation {
                    stream.handle(inbound);
                }
            }
            Event::Answered(index, response) => {
                let stream = &mut self.weir.streams[index];
                if stream.generation == generation {
                    let applied = stream.machine.handle_response(read(response));
                    assert!(applied.rejected.is_empty(), "{:?}", applied.rejected);
                    self.weir.database.commit(applied.batch);
                }
            }
            Event::Cut(index) => {
                self.weir.streams[index].cut();
                let away = Duration::from_millis(self.rng.u64(50..3_000));
                self.agenda.after(away, Event::Opened(index));
            }
            Event::Opened(index) => {
                self.weir.streams[index].open(&self.origin.database);
                if self.agenda.now() < SCRIPT && self.rng.u32(0..3) > 0 {
                    let life = Duration::from_millis(self.rng.u64(1_000..30_000));
                    self.agenda.after(life, Event::Cut(index));
                }
            }
            Event::Subscribed(who, inbound) => {
                if self.peers[who].generation == generation {
                    self.peers[who].handle(inbound);
                }
            }
            Event::Delivered(who, response) => {
                if self.peers[who].generation == generation {
                    let verdict = self.peers[who].client.receive(&response, None);
                    self.request(who, verdict);
                }
            }
            Event::Reconnect(who) => {
                let requests = self.peers[who].reconnect(&mut self.rng);
                requests.into_iter().for_each(|request| self.request(who, request));
            }
            Event::Change => self.origin.change(&mut self.rng),
            Event::Act(who) => {
                let request = self.peers[who].act(&mut self.rng);
                request.into_iter().for_each(|request| self.request(who, request));
            }
            Event::Tick => {
                self.weir.tick(self.now());
                self.origin.sweep(self.now());
            }
        }
    }

    fn request(&mut self, who: usize, request: weir_protocol::server::Inbound) {
        let peer = &mut self.peers[who];
        let when = peer.up.arrival(self.agenda.now(), &mut self.rng);
        self.agenda.at(when, peer.generation, Event::Subscribed(who, request));
    }

    /// Lets every machine do what it has to do now.
    fn settle(&mut self) {
        let mut busy = true;
        while std::mem::take(&mut busy) {
            busy |= self.origin.answer();
            let (new, demand) = self.weir.follow_demand();
            busy |= demand;
            for index in new {
                let connecting = Duration::from_millis(self.rng.u64(1..300));
                self.agenda.after(connecting, Event::Opened(index));
            }
            let now = self.now();
            for (index, stream) in self.weir.streams.iter_mut().enumerate() {
                while let Some(request) = stream.ask(now) {
                    let when = stream.up.arrival(self.agenda.now(), &mut self.rng);
                    self.agenda.at(when, stream.generation, Event::Asked(index, request));
                }
                while let Some(response) = stream.answer() {
                    let when = stream.down.arrival(self.agenda.now(), &mut self.rng);
                    self.agenda.at(when, stream.generation, Event::Answered(index, response));
                }
            }
            for (who, peer) in self.peers.iter_mut().enumerate() {
                while let Some(response) = peer.answer() {
                    let when = peer.down.arrival(self.agenda.now(), &mut self.rng);
                    self.agenda.at(when, peer.generation, Event::Delivered(who, response));
                }
            }
        }
    }

    /// Every client has what the origin has for it.
    fn check(&self) {
        for (who, peer) in self.peers.iter().enumerate() {
            for type_url in types() {
                let wanted = peer.client.wanted(&type_url);
                let held = peer.client.held(&type_url);
                let has: BTreeSet<(Name, bytes::Bytes)> = held
                    .values()
                    .map(|held| (held.sent.name.clone(), held.sent.body.clone().unwrap_or_default()))
                    .collect();
                let should = self.origin.shows(&type_url, &wanted);
                let dialect = peer.client.dialect();
                let missing: Vec<_> = should.difference(&has).collect();
                assert!(
                    missing.is_empty(),
                    "client {who} ({dialect}) lacks {missing:?} of {type_url} for {wanted:?}, has {held:?}"
                );
                let sayable = |held: &&Held| !held.stray && !self.is_unsayable(&type_url, dialect, held);
                let certain = held.values().filter(sayable);
                for held in certain {
                    let one = (held.sent.name.clone(), held.sent.body.clone().unwrap_or_default());
                    assert!(
                        should.contains(&one),
                        "client {who} ({dialect}) has {held:?} of {type_url} for {wanted:?}, which should be {should:?}"
                    );
                }
            }
        }
        let wanted = self.weir.wanted();
        let lost = wanted.iter().filter(|(type_url, locator)| {
            let somebody = |peer: &&Peer| {
                let wanted = peer.client.wanted(type_url);
                wanted.iter().any(|selector| selector.locator.name == locator.name)
            };
            self.peers.iter().find(somebody).is_none()
        });
        assert_eq!(lost.count(), 0, "u02: what nobody wants any more is still asked for: {wanted:?}");
    }

    /// Whether a removal may never have been said. In SotW, for types without full state, it cannot be said of
    /// plain names, nor of anything that went while the stream was away.
    fn is_unsayable(&self, type_url: &TypeUrl, dialect: Dialect, held: &Held) -> bool {
        let downstream = dialect == Dialect::Sotw && (held.doubtful || held.sent.constraints.is_none());
        !type_url.is_full_state() && (downstream || self.setup.upstream == Dialect::Sotw)
    }
}
