//! The clients: naive ones, who ask in their own way and believe what they are sent.

use std::time::Instant;

use weir_protocol::Dialect;
use weir_session::Nack;
use weir_types::{DynamicParameters, Selector, TypeUrl, WILDCARD};

use super::excuse::Excuse;
use super::history::History;
use super::play::Tally;
use super::script::{Asked, Asking};
use super::transport::Transport;
use super::witness::Witness;
use super::{NAMES, parameter_sets, types};
use crate::model::{Client, Request, Response};

/// How a client asks.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// By plain names; its parameters are derived.
    Plain,
    /// By locators, with its own parameters.
    Leaf,
    /// By locators with all parameters, as a caching proxy.
    Proxy,
}

/// A client and its stream.
pub(super) struct Peer {
    pub(super) client: Client,
    /// The proxy that it is connected to.
    pub(super) proxy: usize,
    pub(super) transport: Transport,
    witness: Witness,
    manner: Manner,
    /// How often it has connected.
    pub(super) connections: usize,
}

impl Peer {
    pub(super) fn new(proxy: usize, rng: &mut fastrand::Rng) -> Self {
        let dialect = if rng.bool() { Dialect::Sotw } else { Dialect::Delta };
        let manner = [Manner::Plain, Manner::Leaf, Manner::Proxy][rng.usize(0..3)];
        let sets = parameter_sets();
        let client = Client::new(dialect, sets[rng.usize(0..sets.len())].clone());
        let mut transport = Transport::default();
        if dialect == Dialect::Sotw && rng.bool() {
            transport.without_times();
        }
        Self { client, proxy, transport, witness: Witness::default(), manner, connections: 0 }
    }

    /// Subscribes to something, or no longer. What it sends while it is not connected is lost.
    pub(super) fn act(&mut self, asking: &Asking, rng: &mut fastrand::Rng) -> Option<Request> {
        let types = types();
        let type_url = &types[rng.usize(0..types.len())];
        let nameless = matches!(self.manner, Manner::Plain) && asking.of(type_url) != Asked::Names
            || !type_url.has_legacy_wildcard();
        let request = match rng.u32(0..10) {
            0..2 if nameless => self.client.open(type_url),
            0..6 => {
                let selectors = self.selectors(type_url, asking, rng);
                Some(self.client.subscribe(type_url, &selectors))
            }
            6..9 => {
                let selectors = self.selectors(type_url, asking, rng);
                self.client.unsubscribe(type_url, &selectors)
            }
            _ => self.client.ask_again(type_url),
        };
        self.witness.forget_unwanted(&self.client);
        request
    }

    fn selectors(&self, type_url: &TypeUrl, asking: &Asking, rng: &mut fastrand::Rng) -> Vec<Selector> {
        let sets = parameter_sets();
        let count = rng.usize(1..4);
        let mut selectors: Vec<Selector> = std::iter::repeat_with(|| {
            let wildcard = match asking.of(type_url) {
                Asked::Names => false,
                Asked::Wildcards => true,
                Asked::Both => rng.u32(0..4) == 0,
            };
            let name = if wildcard { WILDCARD } else { NAMES[rng.usize(0..NAMES.len())] };
            let own = self.client.parameters().clone();
            match self.manner {
                Manner::Plain => Selector::plain(name, own),
                Manner::Leaf => Selector::located(name, own),
                Manner::Proxy => Selector::located(name, sets[rng.usize(0..sets.len())].clone()),
            }
        })
        .take(count)
        .collect();
        selectors.sort_unstable();
        selectors.dedup();
        selectors
    }

    /// Takes in a response, and holds what it sees against the history, if it comes in one order. Returns the
    /// verdict, and what has to be asked for then.
    pub(super) fn receive(
        &mut self,
        response: &Response,
        history: Option<&History>,
        nack: Option<Nack>,
        now: Instant,
    ) -> Vec<Request> {
        self.client.pass(now);
        let before = self.client.held(&response.type_url);
        let verdict = self.client.receive(response, nack);
        if let Some(history) = history {
            self.witness.observe(response, &before, &self.client, history);
        }
        let lost = self.client.ask_for_lost(&response.type_url);
        [verdict].into_iter().chain(lost).collect()
    }

    /// Notes what may be sent as removed though it is not.
    pub(super) fn excuse(&mut self, excuse: &Excuse) {
        self.witness.excuse(excuse);
    }

    /// A client that rejected all that it was sent states no version, and is taken to hold nothing (s13): a first response
    /// may lack what it has.
    pub(super) fn excuse_unstated(&mut self, requests: &[Request]) {
        if self.client.dialect() == Dialect::Sotw {
            let unstated = requests.iter().filter(|first| first.version.is_none());
            unstated.for_each(|first| self.witness.excuse(&(first.type_url.clone(), None)));
        }
    }

    /// Notes of what something older may be sent.
    pub(super) fn allow_relapses(&mut self, relapses: &[Excuse]) {
        self.witness.allow_relapses(relapses);
    }

    /// Whether it may hold something from an earlier stream.
    pub(super) fn has_returned(&self) -> bool {
        self.connections > 1
    }

    /// What was seen of its history.
    pub(super) fn tally(&self) -> Tally {
        self.witness.tally
    }

    /// Whether it asks for more than one parameter set.
    pub(super) fn asks_for_others(&self) -> bool {
        matches!(self.manner, Manner::Proxy)
    }

    /// What it is to the server, if that goes by the `Node`.
    pub(super) fn plain(&self) -> &DynamicParameters {
        self.client.parameters()
    }
}
