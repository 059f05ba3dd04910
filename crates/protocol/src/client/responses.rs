//! What is received: from either dialect to one [`Batch`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use weir_types::{Batch, DynamicParameters, Heartbeat, Name, Provenance, Variant, VariantKey};

use super::message::{Applied, Response};
use super::parsed_response::{Beat, ParsedResponse};
use super::removals::Doubt;
use super::upstream_cache::UpstreamVariant;
use super::upstream_type::UpstreamType;
use super::{Naming, Settings, Ticket, UpstreamSession};
use crate::Dialect;

impl UpstreamSession {
    /// Applies a response that came at `now`. Unacceptable resources change nothing, the others are applied.
    pub fn handle_response(&mut self, response: Response, now: Instant) -> Applied {
        let opened = self
            .types
            .get_mut(&response.type_url)
            .filter(|upstream_type| upstream_type.per_stream.exchange.is_started());
        let Some(upstream_type) = opened else {
            tracing::debug!(type_url = %response.type_url, "response ignored: its type is not subscribed");
            let batch = Batch::new(response.type_url, Provenance::Named);
            return Applied { batch, rejected: Vec::new(), errors: Vec::new(), ticket: None, answers: false };
        };
        upstream_type.check(self.settings.dialect);
        let mut batch = Batch::new(response.type_url.clone(), upstream_type.provenance());
        batch.received = Some(now);
        let before = upstream_type.cache.len();
        let mut application = ResponseApplication::new(&self.settings, upstream_type, batch);
        let mut parsed = ParsedResponse::parse(response, &self.settings);
        application.refresh(&parsed, self.settings.dialect);
        application.guard_endpoints(&mut parsed, now, &mut self.shrinks);
        application.upsert(&mut parsed);
        match self.settings.dialect {
            Dialect::Delta => application.sweep_before(&parsed),
            Dialect::Sotw if application.batch.type_url.is_full_state() => application.sweep_absent(&parsed),
            Dialect::Sotw if matches!(self.settings.naming, Naming::Locators) => {
                application.sweep_superseded(&parsed);
            }
            Dialect::Sotw => application.sweep_before(&parsed),
        }
        application.remove(&parsed);
        application.guard(before, now, &mut self.shrinks);
        application.find_meant(&parsed);
        let in_flight = application.in_flight(&parsed);
        let undecided = application.mark_absent(&in_flight, &parsed.spared());
        application.report_errors(&parsed.errors, &undecided);
        let grows = application.upstream_type.cache.len() > before;
        application.answer_collections(&parsed, grows, now, &mut self.completions);
        let deadline = now + self.settings.does_not_exist;
        application.await_answers(&undecided, deadline, &mut self.deadlines);
        application.await_confirmations(deadline, &mut self.deadlines);
        self.tickets += 1;
        application.conclude(parsed, self.tickets, now)
    }
}

/// A response on its way into the state.
pub(super) struct ResponseApplication<'a> {
    pub(super) settings: &'a Settings,
    pub(super) upstream_type: &'a mut UpstreamType,
    pub(super) batch: Batch,
    /// Names of which some locators may have lost their variant, or never had one.
    pub(super) doubtful: BTreeMap<Name, Doubt>,
    /// The names of what came on this stream and is not held any more, and whether that was what the server means by
    /// the bare name.
    pub(super) withdrawn: HashMap<Name, bool>,
    /// What was held and is not any more.
    pub(super) dropped: Vec<(VariantKey, UpstreamVariant)>,
    /// Which locators a bare name is meant for, by name.
    pub(super) meant: HashMap<Name, HashSet<DynamicParameters>>,
    /// Names of which an earlier stream has brought something that may be gone, or not.
    pub(super) unconfirmed: Vec<Name>,
    /// Something is answered for the first time.
    answers: bool,
}

impl<'a> ResponseApplication<'a> {
    pub(super) fn new(settings: &'a Settings, upstream_type: &'a mut UpstreamType, batch: Batch) -> Self {
        let (doubtful, withdrawn, dropped, meant, unconfirmed) = Default::default();
        Self {
            settings,
            upstream_type,
            batch,
            doubtful,
            withdrawn,
            dropped,
            meant,
            unconfirmed,
            answers: false,
        }
    }

    /// "TTL": a heartbeat has the version that was sent last; no version of its own is that of the response.
    fn refresh(&mut self, parsed: &ParsedResponse, dialect: Dialect) {
        let of_response = |version: &str| {
            dialect == Dialect::Sotw
                && (version == &*parsed.version || self.upstream_type.version.as_deref() == Some(version))
        };
        for Beat { key, version, ttl } in &parsed.heartbeats {
            let is_derived = version.is_empty() || of_response(version);
            if self.upstream_type.cache.refresh(key, |held| is_derived || *held == **version) {
                self.batch.heartbeats.push(Heartbeat { key: key.clone(), ttl: *ttl });
            } else {
                tracing::debug!(?key, %version, "heartbeat ignored: another version is cached");
            }
        }
    }

    fn upsert(&mut self, parsed: &mut ParsedResponse) {
        for variant in parsed.variants.drain(..) {
            let (name, aliases) = (variant.name(), &variant.content().aliases);
            if self.upstream_type.reaches(&self.settings.naming, name, aliases, &variant.key().constraints) {
                self.upstream_type.cache.insert(&variant, self.settings.endpoint_guard.is_some());
                self.answers |= self.upstream_type.note_answer(&self.settings.naming, &variant);
                self.batch.upserts.push(variant);
            }
        }
    }

    /// After a reconnect: what an answer brings for a name replaces what was held of that name. In delta, and where
    /// the server goes by the `Node`, so that there is one asker.
    fn sweep_before(&mut self, parsed: &ParsedResponse) {
        for name in parsed.mentioned.difference(&parsed.spoiled) {
            let before = self.upstream_type.cache.variants(name).iter().filter(|held| held.is_from_before());
            let swept: Vec<_> = before.map(|held| held.key(name)).collect();
            swept.into_iter().for_each(|key| self.drop_held(key));
        }
    }

    /// SotW, full state: what is not in the response is gone. Not when a resource came that cannot be identified by
    /// name: it may be any of the missing ones.
    fn sweep_absent(&mut self, parsed: &ParsedResponse) {
        if parsed.rejected.iter().any(|rejected| rejected.name.is_none()) || self.only_beats(parsed) {
            return;
        }
        let mut present: HashSet<&VariantKey> = self.batch.upserts.iter().map(Variant::key).collect();
        present.extend(parsed.heartbeats.iter().map(|beat| &beat.key));
        let gone = self
            .upstream_type
            .cache
            .keys(|name, held| !present.contains(&held.key(name)) && !parsed.spoiled.contains(name));
        gone.into_iter().for_each(|key| self.drop_held(key));
    }

    /// Whether the response is about times to live alone, of the state that is held already. Of what has no time
    /// to live, some control planes then do not answer.
    fn only_beats(&self, parsed: &ParsedResponse) -> bool {
        let same_state = self.upstream_type.version.as_ref() == Some(&parsed.version);
        same_state
            && !parsed.heartbeats.is_empty()
            && self.batch.upserts.is_empty()
            && parsed.rejected.is_empty()
    }

    /// SotW, other types: absence means nothing, but a locator has one variant. One that is not in the response
    /// is gone when all that asked for it have got another: with it, or on this stream where it is from an earlier one.
    fn sweep_superseded(&mut self, parsed: &ParsedResponse) {
        let sent: HashSet<VariantKey> = self.batch.upserts.iter().map(|v| v.key().clone()).collect();
        let names: HashSet<Name> = sent.iter().map(|key| key.name.clone()).collect();
        for name in names.difference(&parsed.spoiled) {
            let is_new = |held: &&UpstreamVariant| sent.contains(&held.key(name));
            let variants = self.upstream_type.cache.variants(name);
            let (new, old): (Vec<_>, Vec<_>) = variants.iter().partition(is_new);
            let superseded = old.iter().filter(|held| {
                let later = old.iter().filter(|other| held.is_from_before() && !other.is_from_before());
                let later = new.iter().chain(later);
                let asking = self.upstream_type.asking(name, &held.aliases);
                let asking = asking.flat_map(|name| self.upstream_type.wanted[name].keys());
                let mut matching = asking.filter(|parameters| held.constraints.matches(parameters));
                matching.all(|parameters| later.clone().any(|other| other.constraints.matches(parameters)))
            });
            let superseded: Vec<_> = superseded.map(|held| held.key(name)).collect();
            superseded.into_iter().for_each(|key| self.drop_held(key));
        }
    }

    fn conclude(self, parsed: ParsedResponse, number: u64, now: Instant) -> Applied {
        let nack = parsed.nack();
        if nack.is_none() {
            // What is withheld is more than what the version stands for.
            let stands = self.upstream_type.withheld.is_empty() && self.upstream_type.emptied.is_empty();
            self.upstream_type.version = stands.then(|| Arc::clone(&parsed.version));
        } else if !self.batch.is_empty() {
            // What is held is neither what the last accepted version stood for, nor what this one stands for.
            self.upstream_type.version = None;
        }
        // In state of the world, what is left out of a type without full state is neither there nor gone.
        if self.settings.dialect == Dialect::Delta || self.batch.type_url.is_full_state() {
            self.upstream_type.cache.vouch();
        }
        let type_url = self.batch.type_url.clone();
        let ticket = nack.is_none().then_some(Ticket { type_url, number });
        self.upstream_type.per_stream.receive(number, parsed.nonce, parsed.version, nack, now);
        Applied {
            batch: self.batch,
            rejected: parsed.rejected,
            errors: parsed.errors,
            ticket,
            answers: self.answers,
        }
    }
}
