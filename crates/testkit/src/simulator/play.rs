//! The play: from a seed to the end.

use std::cell::Cell;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use weir_database::Database;
use weir_protocol::Dialect;
use weir_session::Nack;
use weir_types::TypeUrl;

use super::agenda::{Agenda, End, Event, Trace};
use super::excuse::Excuse;
use super::manners::Customs;
use super::origin::Origin;
use super::peer::Peer;
use super::proxy::{Need, Proxy};
use super::script::{self, Asked, Asking, SCRIPT, STEADY};
use super::transport::Transport;
use super::ttl::Fate;
use super::upstream::Upstream;
use crate::model::Request;

/// More than any play has to send.
const ENDLESS: usize = 200_000;

/// How long nothing is sent in the end.
const QUIET: Duration = Duration::from_secs(25);

/// The protocol between Weir and what is above it.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// In which dialect.
    pub dialect: Dialect,
    /// By locators; else there is a stream for each parameter set, whose `Node` stands for it.
    pub native: bool,
}

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The proxies, from the origin down. What is above the second one is Weir, and uses TP2.
    pub hops: &'static [Hop],
}

/// What happened in a play: equal for equal seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many requests and responses arrived.
    pub messages: usize,
    /// When each of them did, added up.
    pub times: Duration,
    /// When the last one did.
    pub last: Duration,
    /// What clients had of what they should have.
    pub tally: Tally,
}

/// How often something was looked at, and how often it was excused that it was not as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often something was looked at.
    pub checked: u64,
    /// How often that was not as it should be, for a reason that the simulator knows.
    pub excused: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.checked += other.checked;
        self.excused += other.excused;
    }
}

/// One run.
pub struct Simulation {
    pub(super) hops: &'static [Hop],
    pub(super) rng: fastrand::Rng,
    /// Where virtual time begins. Only differences count.
    epoch: Instant,
    pub(super) agenda: Agenda,
    trace: Trace,
    summary: Summary,
    pub(super) asking: Asking,
    pub(super) origin: Origin,
    pub(super) customs: Customs,
    pub(super) proxies: Vec<Proxy>,
    pub(super) peers: Vec<Peer>,
    pub(super) connections: u64,
    pub(super) tally: Cell<Tally>,
}

impl Simulation {
    /// Runs it to the end; panics when something is not as it should be, and prints what happened last.
    pub fn run(setup: Setup, seed: u64) -> Summary {
        let mut rng = fastrand::Rng::with_seed(seed);
        let hops = setup.hops;
        let mut simulation = Self {
            hops,
            epoch: Instant::now(),
            agenda: Agenda::default(),
            trace: Trace::new(),
            summary: Summary::default(),
            asking: Asking::new(&mut rng),
            origin: Origin::mortal(&mut rng),
            customs: Customs::drawn(&mut rng),
            proxies: hops.iter().enumerate().map(|(number, hop)| Proxy::new(number, *hop)).collect(),
            peers: (0..rng.usize(1..6)).map(|_| Peer::new(rng.usize(0..hops.len()), &mut rng)).collect(),
            connections: 0,
            tally: Cell::default(),
            rng,
        };
        simulation.begin();
        simulation.play();
        simulation.check();
        let mut summary = simulation.summary;
        summary.tally = simulation.tally.get();
        simulation.peers.iter().for_each(|peer| summary.tally += peer.tally());
        simulation.close();
        summary
    }

    fn begin(&mut self) {
        for _ in 0..10 {
            self.change();
        }
        script::write(&mut self.agenda, self.peers.len(), self.hops.len(), &mut self.rng);
        for who in 0..self.peers.len() {
            self.agenda.at(Duration::ZERO, Event::Open(End::Client(who)));
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.epoch + self.agenda.now()
    }

    fn play(&mut self) {
        while let Some(event) = self.agenda.next() {
            let now = self.agenda.now();
            self.trace.note(now, &event);
            if event.is_traffic() {
                self.summary.messages += 1;
                self.summary.times += now;
                self.summary.last = now;
                assert!(self.summary.messages < ENDLESS, "there is no end of messages");
            }
            self.happen(event);
            self.settle();
        }
        let quiet = self.agenda.now() - self.summary.last;
        assert!(quiet > QUIET, "something is still sent {:?} after the script", self.summary.last - SCRIPT);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Asked(end, connection, inbound) => {
                let now = self.now();
                if let Some(transport) =
                    self.transport(&end).filter(|transport| transport.carries(connection))
                {
                    transport.handle(&inbound, now);
                }
            }
            Event::Answered(end, connection, response) => {
                if self.transport(&end).is_some_and(|transport| transport.carries(connection)) {
                    self.answered(end, response);
                }
            }
            Event::Flush(end) => self.flush(&end),
            Event::Open(end) => self.open(&end),
            Event::Resume(end) => drop(self.transport(&end).map(|transport| transport.stall(false))),
            Event::Cut => {
                let end = self.any_end();
                self.cut(&end);
            }
            Event::Stall => {
                let end = self.any_end();
                self.stall(end);
            }
            Event::Restart(which) => self.restart(which),
            Event::Change => self.change(),
            Event::Act(who) => {
                let request = self.peers[who].act(&self.asking, &mut self.rng);
                request.into_iter().for_each(|request| self.send_up(&End::Client(who), request));
            }
            Event::Tick => self.tick(),
        }
    }

    fn answered(&mut self, end: End, response: crate::model::Response) {
        match &end {
            End::Client(who) => {
                let nack = (self.rng.u32(0..10) == 0).then(|| Nack { code: 3, message: "no".into() });
                let ordered = self.is_ordered(*who, &response.type_url);
                let history = Some(&self.origin.history).filter(|_| ordered);
                let now = self.epoch + self.agenda.now();
                let requests = self.peers[*who].receive(&response, history, nack, now);
                requests.into_iter().for_each(|request| self.send_up(&end, request));
            }
            End::Link(number, set, role) => {
                let now = self.now();
                let excuses = self.proxies[*number].receive(set, *role, response, now);
                self.excuse(&excuses);
                self.allow_relapses(*number);
                self.flush(&end);
            }
        }
    }

    /// Whether all that a client sees of a type comes in one order: not from two streams, and not from one on
    /// which removals are never sent, so that what was removed may show up when its successor is.
    fn is_ordered(&self, who: usize, type_url: &TypeUrl) -> bool {
        let hops = &self.hops[..=self.peers[who].proxy];
        let silent = type_url.has_legacy_wildcard()
            && !type_url.is_full_state()
            && hops.iter().any(|hop| hop.dialect == Dialect::Sotw);
        !silent && self.asking.of(type_url) != Asked::Both
    }

    fn excuse(&mut self, excuses: &[Excuse]) {
        for peer in &mut self.peers {
            excuses.iter().for_each(|excuse| peer.excuse(excuse));
        }
    }

    fn tick(&mut self) {
        let now = self.now();
        for number in 0..self.proxies.len() {
            let known = self.proxies[number].tick(now);
            self.excuse(&known);
            self.allow_relapses(number);
        }
        self.peers.iter_mut().for_each(|peer| peer.client.pass(now));
        let time = self.agenda.now();
        if time == SCRIPT + STEADY && self.origin.is_mortal() {
            self.check();
        }
        let fate = match time {
            time if time < SCRIPT => Fate::Any,
            time if time < SCRIPT + STEADY => Fate::Kept,
            _ => Fate::Ended,
        };
        self.origin.tick(now, fate, &mut self.rng);
    }

    fn change(&mut self) {
        let now = self.now();
        let mortal = self.origin.change(now, &mut self.rng);
        self.excuse(&mortal);
    }

    fn allow_relapses(&mut self, number: usize) {
        let relapses = self.proxies[number].take_relapses();
        self.peers.iter_mut().for_each(|peer| peer.allow_relapses(&relapses));
    }

    /// Sends what a proxy has collected.
    pub(super) fn flush(&mut self, end: &End) {
        let now = self.now();
        while let Some(request) = self.link(end).and_then(|link| {
            link.collecting = false;
            link.ask(now)
        }) {
            self.send_up(end, request);
        }
    }

    pub(super) fn send_up(&mut self, end: &End, request: Request) {
        let mut rng = self.rng.fork();
        let now = self.agenda.now();
        if let Some((when, connection)) =
            self.transport(end).and_then(|transport| transport.send_up(now, &mut rng))
        {
            self.agenda.at(when, Event::Asked(end.clone(), connection, request));
        }
    }

    /// Lets every machine do what it has to do now.
    fn settle(&mut self) {
        let mut busy = true;
        while std::mem::take(&mut busy) {
            let at = self.now();
            let longest = self.customs.hesitates.as_millis() as u64;
            busy |= self.origin.answer(at, || Duration::from_millis(self.rng.u64(0..=longest)));
            for number in 0..self.proxies.len() {
                let needs = self.proxies[number].follow_demand();
                busy |= needs.is_some();
                needs.into_iter().flatten().for_each(|(end, need)| self.attend(end, need));
            }
            for end in self.ends() {
                while let Some(response) = self.transport(&end).and_then(|transport| transport.answer(at)) {
                    let mut rng = self.rng.fork();
                    let now = self.agenda.now();
                    let sent = self.transport(&end).and_then(|transport| transport.send_down(now, &mut rng));
                    let (when, connection) = sent.expect("who answers is connected");
                    self.agenda.at(when, Event::Answered(end.clone(), connection, response));
                }
            }
        }
    }

    fn attend(&mut self, end: End, need: Need) {
        let delay = Duration::from_millis(self.rng.u64(0..6));
        match need {
            Need::Open => self.agenda.after(delay * 50, Event::Open(end)),
            Need::Reopen => self.cut(&end),
            Need::Flush if self.link(&end).is_some_and(|link| link.machine.needs_new_stream()) => {
                self.cut(&end)
            }
            Need::Flush => {
                let collecting = self.link(&end).map(|link| std::mem::replace(&mut link.collecting, true));
                if collecting == Some(false) {
                    self.agenda.after(delay, Event::Flush(end));
                }
            }
        }
    }

    /// Every stream, open or not.
    pub(super) fn ends(&self) -> Vec<End> {
        let clients = (0..self.peers.len()).map(End::Client);
        clients.chain(self.proxies.iter().flat_map(Proxy::ends)).collect()
    }

    fn any_end(&mut self) -> End {
        let ends = self.ends();
        ends[self.rng.usize(0..ends.len())].clone()
    }

    pub(super) fn transport(&mut self, end: &End) -> Option<&mut Transport> {
        match end {
            End::Client(who) => Some(&mut self.peers[*who].transport),
            End::Link(..) => self.link(end).map(|link| &mut link.transport),
        }
    }

    pub(super) fn link(&mut self, end: &End) -> Option<&mut Upstream> {
        let End::Link(number, ..) = end else { return None };
        self.proxies[*number].link(end)
    }

    /// What answers at the far end.
    pub(super) fn above(&self, end: &End) -> Database {
        let proxy = match end {
            End::Client(who) => Some(self.peers[*who].proxy),
            End::Link(number, ..) => number.checked_sub(1),
        };
        proxy.map_or(&self.origin.database, |number| &self.proxies[number].database).clone()
    }
}
