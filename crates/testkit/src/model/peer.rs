//! One client with its stream, and what must hold of the two whenever all is quiet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use weir_database::Database;
use weir_protocol::Dialect;
use weir_session::ClientProfile;
use weir_types::{DynamicParameters, Form, Kind, Selector, TypeUrl, VariantKey};

use super::client::Client;
use super::messages::{Request, Response};
use super::stream::ServerEnd;
use super::watch::{Shown, Watch};
use super::{Identity, Reference};
use crate::names::is_part_of;

/// A client with its stream.
pub(super) struct Peer {
    pub(super) client: Client,
    /// Whether it is sent times to live.
    pub(super) counts: bool,
    pub(super) stream: ServerEnd,
    /// Requests on their way.
    pub(super) up: VecDeque<Request>,
    /// Responses on their way.
    pub(super) down: VecDeque<Response>,
    pub(super) watches: BTreeMap<TypeUrl, Watch>,
    /// Whether a request was handled since the stream was last polled to the end.
    pub(super) handled: bool,
    /// What the client should have seen, by type, before and after its last response was made.
    pub(super) framed: Option<[BTreeMap<TypeUrl, Shown>; 2]>,
}

impl Peer {
    pub(super) fn new(
        database: &Database,
        dialect: Dialect,
        parameters: DynamicParameters,
        counts: bool,
    ) -> Self {
        let profile = ClientProfile { parameters: parameters.clone().into(), ..ClientProfile::default() };
        Self {
            client: Client::new(dialect, parameters),
            counts,
            stream: ServerEnd::new(database, dialect, profile, counts),
            up: VecDeque::new(),
            down: VecDeque::new(),
            watches: BTreeMap::new(),
            handled: false,
            framed: None,
        }
    }

    pub(super) fn subscribed(&self, type_url: &TypeUrl) -> BTreeSet<Selector> {
        let of_type = self.stream.subscribed().filter(|(subscribed, _)| *subscribed == type_url);
        of_type.map(|(_, selector)| selector.clone()).collect()
    }

    /// Gives what is no longer subscribed.
    pub(super) fn handle(&mut self, request: &Request, now: Instant) -> Vec<Selector> {
        let type_url = request.type_url.clone();
        let before = self.subscribed(&type_url);
        self.stream.handle(request, now);
        self.handled = true;
        let after = self.subscribed(&type_url);
        let watch = self.watches.entry(type_url).or_insert_with(Watch::opening);
        watch.reason |= before != after;
        before.difference(&after).cloned().collect()
    }

    /// Whether a type still waits for upstream.
    pub(super) fn is_gated(&self, type_url: &TypeUrl) -> bool {
        let Some(type_subscription) = self.stream.of_type(type_url) else { return true };
        let place = type_subscription.view().attachment();
        let unsettled = place.unsettled();
        let full = self.client.dialect() == Dialect::Sotw && type_url.is_full_state();
        let explicit = place.subscription().iter().filter(|s| !s.locator.is_collection()).count();
        let nothing = unsettled.collections > 0 && (full || explicit <= unsettled.names + unsettled.failing);
        let first = !type_subscription.is_answered() && (nothing || full && unsettled.names > 0);
        // What points at clusters waits for new ones to warm, and all removals wait for that.
        first || self.stream.is_waiting()
    }

    /// A client with one parameter set never has two variants that match (p08).
    pub(super) fn check_variants(&self, type_url: &TypeUrl) {
        let wanted = self.client.wanted(type_url);
        let held = self.client.held(type_url);
        for selector in wanted.iter().filter(|s| s.form == Form::Located) {
            let one_set = wanted.iter().all(|s| s.locator.parameters == selector.locator.parameters);
            let matching = |(name, constraints): &&Identity| {
                *name == selector.locator.name
                    && constraints.as_ref().is_some_and(|c| c.matches(&selector.locator.parameters))
            };
            let certain = held.iter().filter(|(_, held)| !held.stray).map(|(identity, _)| identity);
            let count = certain.filter(matching).count();
            let collected = wanted.iter().any(|s| s.locator.is_collection());
            assert!(count < 2 || !one_set || collected, "p08: {selector:?} has {count} variants of {held:?}");
        }
    }

    pub(super) fn check_quiet(&mut self, who: usize, reference: &Reference, settled: bool) {
        let types: Vec<TypeUrl> = self.stream.types().iter().map(|l| l.type_url().clone()).collect();
        for type_url in types {
            let wanted = self.client.wanted(&type_url);
            assert_eq!(self.subscribed(&type_url), wanted, "client {who} and server differ on {type_url}");
            let gated = self.is_gated(&type_url);
            if let Some(watch) = self.watches.get_mut(&type_url) {
                assert!(
                    watch.responses == 0 || watch.reason,
                    "d08: client {who} got {type_url} for no reason"
                );
                (watch.responses, watch.reason) = (0, watch.reason && gated);
            }
            if !gated {
                self.check_content(who, &type_url, reference, settled);
            }
        }
    }

    fn check_content(&self, who: usize, type_url: &TypeUrl, reference: &Reference, settled: bool) {
        let shown = reference.shows(type_url, self.client.wanted(type_url).iter());
        let held = self.client.held(type_url);
        let dialect = self.client.dialect();
        for (identity, variant) in &shown {
            let form = if identity.1.is_some() { Form::Located } else { Form::Plain };
            let has = held.get(identity).map(|held| &held.sent.version);
            let wanted = variant.version(form).to_string();
            assert_eq!(
                has,
                Some(&wanted),
                "client {who} ({dialect}) should have {:?} of {type_url}, and has {held:?}",
                variant.key()
            );
        }
        for ((name, constraints), held) in held.iter().filter(|(identity, _)| !shown.contains_key(*identity))
        {
            let ambiguous = constraints.as_ref().is_some_and(|constraints| {
                let key = VariantKey::new(name.clone(), constraints.clone());
                reference.holds(type_url, &key, &held.sent.version, Form::Located)
            });
            let wanted = self.client.wanted(type_url);
            let by_itself = wanted.iter().any(|selector| selector.locator.name == *name);
            let stray = held.stray && !by_itself;
            // State of the world has no word for what a collection that was given up had brought, and another one
            // that goes on might bring.
            let sotw = dialect == Dialect::Sotw && !type_url.is_full_state();
            let unsayable = sotw && constraints.is_none() && !by_itself;
            // i05: what is stated and not subscribed is ignored, though an alias may have brought it. Only
            // virtual hosts have aliases in practice, and are in use.
            let asked = by_itself || wanted.iter().any(|selector| is_part_of(name, &selector.locator.name));
            let ignored = held.doubtful && !asked && type_url.kind() != Kind::VirtualHost;
            let doubtful = held.doubtful && (!settled || dialect == Dialect::Sotw);
            assert!(
                stray || unsayable || ambiguous || ignored || doubtful,
                "client {who} ({dialect}) has {name} {constraints:?} of {type_url}, which is not there: {held:?}"
            );
        }
    }
}
