//! The clients, and Weir's end of their streams.

use std::sync::Arc;

use weir_database::Database;
use weir_protocol::Dialect;
use weir_protocol::server::{Inbound, ServerStream};
use weir_types::{DynamicParameters, Selector, TypeUrl, WILDCARD};

use super::events::Lane;
use super::{NAMES, parameter_sets, types};
use crate::model::{Bell, Client, Frames, Place, Places, Response};

/// How a client asks.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Plain,
    Leaf,
    Proxy,
}

/// A client and its stream.
pub(super) struct Peer {
    pub(super) client: Client,
    manner: Manner,
    own: DynamicParameters,
    server: ServerStream<Place>,
    places: Places,
    pub(super) generation: u64,
    pub(super) up: Lane,
    pub(super) down: Lane,
}

impl Peer {
    pub(super) fn new(database: &Database, rng: &mut fastrand::Rng) -> Self {
        let dialect = if rng.bool() { Dialect::Sotw } else { Dialect::Delta };
        let manner = [Manner::Plain, Manner::Leaf, Manner::Proxy][rng.usize(0..3)];
        let own = parameter_sets()[rng.usize(0..4)].clone();
        Self {
            client: Client::new(dialect, own.clone()),
            manner,
            server: ServerStream::new(dialect, true, own.clone()),
            places: Places { database: database.clone(), bell: Arc::new(Bell::default()) },
            own,
            generation: 0,
            up: Lane::default(),
            down: Lane::default(),
        }
    }

    /// Weir takes in a request.
    pub(super) fn handle(&mut self, inbound: Inbound) {
        self.server.handle_message(inbound, &mut self.places).expect("nothing is refused");
    }

    /// Weir's next response.
    pub(super) fn answer(&mut self) -> Option<Response> {
        self.server.poll_transmit(&mut Frames::default()).map(|transmit| transmit.frame)
    }

    /// The stream breaks; the first requests on the next one.
    pub(super) fn reconnect(&mut self, rng: &mut fastrand::Rng) -> Vec<Inbound> {
        self.generation += 1;
        self.server = ServerStream::new(self.client.dialect(), true, self.own.clone());
        self.client.reconnect(rng.bool())
    }

    /// Subscribes to something, or no longer.
    pub(super) fn act(&mut self, rng: &mut fastrand::Rng) -> Option<Inbound> {
        let types = types();
        let type_url = &types[rng.usize(0..types.len())];
        match rng.u32(0..10) {
            0..2 if matches!(self.manner, Manner::Plain) => self.client.open(type_url),
            0..6 => {
                let selectors = self.selectors(type_url, rng);
                Some(self.client.subscribe(type_url, &selectors))
            }
            6..9 => {
                let selectors = self.selectors(type_url, rng);
                self.client.unsubscribe(type_url, &selectors)
            }
            _ => self.client.ask_again(type_url),
        }
    }

    fn selectors(&self, type_url: &TypeUrl, rng: &mut fastrand::Rng) -> Vec<Selector> {
        let count = rng.usize(1..4);
        let mut selectors: Vec<Selector> = std::iter::repeat_with(|| {
            let wildcard = type_url.has_legacy_wildcard() && rng.u32(0..4) == 0;
            let name = if wildcard { WILDCARD } else { NAMES[rng.usize(0..NAMES.len())] };
            match self.manner {
                Manner::Plain => Selector::plain(name, self.own.clone()),
                Manner::Leaf => Selector::located(name, self.own.clone()),
                Manner::Proxy => Selector::located(name, parameter_sets()[rng.usize(0..4)].clone()),
            }
        })
        .take(count)
        .collect();
        selectors.sort_unstable();
        selectors.dedup();
        selectors
    }
}
