//! What is wanted: subscribing, unsubscribing, and moving a type to another stream.

use std::collections::HashSet;
use std::sync::Arc;

use weir_types::{Absence, Batch, Breadth, Failed, Name, ResourceLocator, TypeUrl};

use super::locator_state::LocatorState;
use super::upstream_cache::UpstreamVariant;
use super::upstream_type::UpstreamType;
use super::verdicts::Verdicts;
use super::{Naming, UpstreamSession};
use crate::Dialect;

/// A type with all that is wanted and held of it, on its way from one stream to another.
#[derive(Debug)]
pub struct Handover {
    type_url: TypeUrl,
    upstream_type: UpstreamType,
}

impl Handover {
    /// Which type.
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }
}

impl UpstreamSession {
    /// Wants `locator`. A locator that is wanted already is asked for again.
    pub fn subscribe(&mut self, type_url: &TypeUrl, locator: ResourceLocator) {
        let upstream_type =
            self.types.entry(type_url.clone()).or_insert_with(|| UpstreamType::new(self.settings.dialect));
        upstream_type.check(self.settings.dialect);
        if locator.is_collection() {
            upstream_type.open_collections.insert(locator.name.clone());
        }
        upstream_type.unsettle();
        let sets = upstream_type.wanted.entry(locator.name.clone()).or_default();
        let known = sets.insert(locator.parameters.clone(), LocatorState::default());
        if !upstream_type.per_stream.exchange.is_started() {
            return;
        }
        let again = match (self.settings.dialect, &self.settings.naming, &known) {
            (Dialect::Delta, Naming::Locators, None) => upstream_type.in_doubt_with(&locator),
            _ => Vec::new(),
        };
        let before = known.map(|known| known.request()).unwrap_or_default();
        let request = upstream_type.per_stream.subscribe(&locator, before, again);
        if let Some(state) = upstream_type.locator_state(&locator) {
            state.start_from(request);
        }
    }

    /// No longer wants `locator`. What only it asked for is forgotten.
    pub fn unsubscribe(&mut self, type_url: &TypeUrl, locator: &ResourceLocator) {
        let Some(upstream_type) = self.types.get_mut(type_url) else { return };
        upstream_type.check(self.settings.dialect);
        let Some(sets) = upstream_type.wanted.get_mut(&locator.name) else { return };
        let Some(state) = sets.remove(&locator.parameters) else { return };
        if sets.is_empty() {
            upstream_type.wanted.remove(&locator.name);
        }
        upstream_type.forget_unreached(&self.settings.naming, &locator.name);
        upstream_type.orphan_borrowed(&self.settings.naming, locator);
        upstream_type.per_stream.unsubscribe(locator, state.request());
        if upstream_type.is_idle() && !upstream_type.per_stream.exchange.is_started() {
            self.types.remove(type_url);
        }
    }

    /// What is known of a wanted locator besides what is held: for someone who comes late to it. None when
    /// nothing is, or when the server has to send it again.
    pub fn recall(&mut self, type_url: &TypeUrl, locator: &ResourceLocator) -> Option<Batch> {
        let naming = &self.settings.naming;
        let upstream_type = self.types.get_mut(type_url)?;
        if upstream_type.is_uncacheable(naming, locator) {
            self.renew(type_url, locator);
            return None;
        }
        let served = upstream_type.is_served(naming, &locator.name, &locator.parameters);
        let mut batch = Batch::new(type_url.clone(), upstream_type.provenance());
        let state = upstream_type.locator_state(locator).filter(|state| state.is_answered())?;
        if let Some(error) = state.error() {
            let (name, scope) = (locator.name.clone(), naming.scope(&locator.parameters));
            batch.errors.push(Failed { name, scope, error: Arc::clone(error) });
        }
        if locator.is_collection() {
            let timed_out = state.absence() == Absence::TimedOut;
            let absence = if timed_out { Absence::TimedOut } else { Absence::Known };
            batch.answered.push(naming.answered(locator, absence));
        } else if !served && state.absence() != Absence::Unknown {
            batch.absent.push(naming.absent(&locator.name, &locator.parameters, state.absence()));
        }
        (!batch.is_empty()).then_some(batch)
    }

    /// Gives up a type for another stream to continue with. The server still sends it on this one until the
    /// stream is closed, and it is ignored.
    pub fn hand_over(&mut self, type_url: &TypeUrl) -> Option<Handover> {
        let mut upstream_type = self.types.remove(type_url)?;
        upstream_type.close();
        // Whoever would release them knows of this stream only.
        upstream_type.per_stream.verdicts = Verdicts::default();
        (!upstream_type.is_idle()).then(|| Handover { type_url: type_url.clone(), upstream_type })
    }

    /// Continues with what another stream has given up. The type must not be wanted here yet.
    pub fn take_over(&mut self, handover: Handover) {
        self.types.insert(handover.type_url, handover.upstream_type);
    }
}

impl UpstreamType {
    /// What has to be asked for again with another locator of a name: a variant of that name in its answer would look
    /// like the successor of those that are held from an earlier stream. The same goes for collections, which have many
    /// names.
    fn in_doubt_with(&self, locator: &ResourceLocator) -> Vec<ResourceLocator> {
        let doubtful: HashSet<&Name> = match locator.breadth() {
            Breadth::Wildcard => before(self.cache.iter()).collect(),
            Breadth::Glob => before(self.cache.members(&locator.name)).collect(),
            Breadth::Name => {
                before([(&locator.name, self.cache.variants(&locator.name))].into_iter()).collect()
            }
        };
        let asking: HashSet<&Name> = doubtful.into_iter().flat_map(|name| self.asking(name, &[])).collect();
        let all = asking.into_iter().flat_map(|name| {
            let sets = self.wanted.get(name).into_iter().flatten();
            sets.map(|(parameters, _)| ResourceLocator::new(name.clone(), parameters.clone()))
        });
        all.collect()
    }
}

/// The names of what is held from an earlier stream.
fn before<'a>(
    held: impl Iterator<Item = (&'a Name, &'a [UpstreamVariant])>,
) -> impl Iterator<Item = &'a Name> {
    let before = |variants: &[UpstreamVariant]| variants.iter().any(UpstreamVariant::is_from_before);
    held.filter(move |(_, variants)| before(variants)).map(|(name, _)| name)
}
