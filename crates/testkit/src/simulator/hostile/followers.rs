//! The clients, whose streams are always open and empty.

use std::time::{Duration, Instant};

use bytes::Bytes;
use weir_database::Database;
use weir_protocol::Dialect;
use weir_types::{DynamicParameters, Form, Selector, TypeUrl, WILDCARD};

use super::super::transport::Transport;
use super::super::{NAMES, parameter_sets};
use super::{ENDLESS, TYPES, type_of};
use crate::model::{Client, Identity};

/// Longer than a stream waits for anything.
const PATIENCE: Duration = Duration::from_secs(2);

/// A client with its stream.
pub struct Follower {
    pub(super) client: Client,
    pub(super) transport: Transport,
    form: Form,
    /// Time passes for it only where its stream may wait for something.
    now: Instant,
}

impl Follower {
    /// One of each kind.
    pub(super) fn all(database: &Database) -> Vec<Self> {
        let [none, prod, ..] = parameter_sets();
        [
            (Dialect::Sotw, Form::Plain, &none),
            (Dialect::Delta, Form::Plain, &prod),
            (Dialect::Sotw, Form::Located, &none),
            (Dialect::Delta, Form::Located, &none),
        ]
        .map(|(dialect, form, parameters)| Self::new(database, dialect, form, parameters))
        .into()
    }

    /// One that asks in `form`, and has `parameters` where it asks by plain names.
    pub fn new(database: &Database, dialect: Dialect, form: Form, parameters: &DynamicParameters) -> Self {
        let mut transport = Transport::default();
        transport.without_times();
        transport.open(0, database, dialect, parameters);
        Self { client: Client::new(dialect, parameters.clone()), transport, form, now: Instant::now() }
    }

    /// Subscribes to something, or no longer: each number picks from what is in play.
    pub fn subscribe(&mut self, [of, name, set]: [usize; 3], wanted: bool) {
        let (type_url, sets) = (type_of(of), parameter_sets());
        let wildcard = name % (NAMES.len() + 1) == NAMES.len() && type_url.has_legacy_wildcard();
        let name = if wildcard { WILDCARD } else { NAMES[name % NAMES.len()] };
        let selector = match self.form {
            Form::Plain => Selector::plain(name, self.client.parameters().clone()),
            Form::Located => Selector::located(name, sets[set % sets.len()].clone()),
        };
        let request = match wanted {
            true => Some(self.client.subscribe(&type_url, &[selector])),
            false => self.client.unsubscribe(&type_url, &[selector]),
        };
        request.into_iter().for_each(|request| self.transport.handle(&request, self.now));
    }

    /// Takes in what there is for it, also after it has waited, and accepts it.
    pub fn settle(&mut self) {
        self.receive();
        self.now += PATIENCE;
        self.receive();
    }

    fn receive(&mut self) {
        let mut responses = 0;
        while let Some(response) = self.transport.answer(self.now) {
            let verdict = self.client.receive(&response, None);
            self.transport.handle(&verdict, self.now);
            responses += 1;
            assert!(responses < ENDLESS, "there is no end of responses");
        }
    }

    /// How many types it has asked for.
    pub fn types(&self) -> usize {
        (0..TYPES).filter(|of| self.client.is_open(&type_of(*of))).count()
    }

    /// What it has, of every type, and is certain of.
    pub fn has(&self) -> Vec<(TypeUrl, Identity, Option<Bytes>)> {
        let of_type = |of| {
            let type_url = type_of(of);
            let held = self.client.held(&type_url).into_iter();
            let certain = held.filter(|(_, held)| !held.stray && !held.doubtful);
            certain.map(move |(identity, held)| (type_url.clone(), identity, held.sent.body))
        };
        (0..TYPES).flat_map(of_type).collect()
    }
}
