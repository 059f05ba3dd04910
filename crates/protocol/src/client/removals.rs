//! What a response takes away, and which locators are left with nothing.

use std::collections::HashSet;

use weir_types::{
    Absence, Breadth, Constraints, DynamicParameters, Name, ResourceLocator, Undecided, VariantKey, WILDCARD,
};

use super::Naming;
use super::parsed_response::ParsedResponse;
use super::responses::ResponseApplication;
use super::upstream_cache::UpstreamVariant;

/// Which locators of a name may be left with nothing.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// Those that match one of these: variants that are gone.
    gone: Vec<Constraints>,
    /// Those that a bare name is meant for.
    bare: bool,
}

impl Doubt {
    /// Whether a locator with `parameters` has lost a variant.
    pub(super) fn concerns(&self, naming: &Naming, parameters: &DynamicParameters) -> bool {
        self.gone.iter().any(|constraints| naming.matches(constraints, parameters))
    }
}

impl ResponseApplication<'_> {
    pub(super) fn remove(&mut self, parsed: &ParsedResponse) {
        let sent: HashSet<VariantKey> = self.batch.upserts.iter().map(|v| v.key().clone()).collect();
        let mut bare = parsed.bare_removals();
        for removed in parsed.removed.iter().filter(|removed| &*removed.name != WILDCARD) {
            let stored = self.settings.naming.stored(removed);
            if sent.contains(&stored) {
                continue;
            }
            let count = bare.remove(&removed.name).filter(|_| Breadth::of(&removed.name) == Breadth::Name);
            if let Some(count) = count {
                let explained = self.explains(&removed.name, count);
                self.drop_before(&removed.name, parsed, explained);
            }
            self.drop_held(stored);
            let doubt = self.doubtful.entry(removed.name.clone()).or_default();
            match removed.constraints.is_unconstrained() {
                true => doubt.bare = true,
                false => doubt.gone.push(removed.constraints.clone()),
            }
            self.empty(&removed.name, parsed, &sent);
        }
    }

    /// A removal by bare name also concerns variants of earlier streams that were stated at the beginning of the
    /// stream: those of that name, or those that only its alias reaches. If unserved locators of the name explain the
    /// removal (`explained`), the server has to confirm those variants first.
    fn drop_before(&mut self, name: &Name, parsed: &ParsedResponse, explained: bool) {
        let stays = |resource: &Name, held: &UpstreamVariant| {
            let mut asking = self.upstream_type.asking(resource, &held.aliases);
            parsed.spoiled.contains(resource) || asking.any(|asking| asking != name)
        };
        let before = self.upstream_type.cache.answering(name).filter(|(_, held)| held.is_from_before());
        let before = before.filter(|(_, held)| !explained || held.is_orphaned());
        let before = before.filter(|(resource, held)| *resource == name || !stays(resource, held));
        let before: Vec<_> = before.map(|(resource, held)| held.key(resource)).collect();
        before.into_iter().for_each(|key| self.drop_held(key));
        self.unconfirmed.extend(explained.then(|| name.clone()));
    }

    /// Forgets a variant that the server has no more.
    pub(super) fn drop_held(&mut self, key: VariantKey) {
        if let Some(held) = self.upstream_type.cache.remove(&key) {
            self.upstream_type.emptied.forget(&key);
            for name in std::iter::once(&key.name).chain(&*held.aliases) {
                self.doubtful.entry(name.clone()).or_default().gone.push(key.constraints.clone());
            }
            if held.is_of_this_stream() {
                let bare = VariantKey::new(key.name.clone(), Constraints::unconstrained());
                let is_bare = self.settings.naming.stored(&bare) == key;
                *self.withdrawn.entry(key.name.clone()).or_default() |= is_bare;
                held.aliases.iter().for_each(|alias| _ = self.withdrawn.entry(alias.clone()).or_default());
            }
            self.batch.removals.push(key.clone());
            self.dropped.push((key, held));
        }
    }

    /// Marks the locators absent that the server has answered and that nothing matches, now that all is applied. Returns
    /// those that it has not answered: of names whose removal was `in_flight` with the request for them, and of names
    /// that are `spared`, since what came of them cannot be accepted.
    pub(super) fn mark_absent(
        &mut self,
        in_flight: &HashSet<Name>,
        spared: &HashSet<Name>,
    ) -> Vec<ResourceLocator> {
        let mut undecided = Vec::new();
        for (name, doubt) in std::mem::take(&mut self.doubtful) {
            let Some(mut sets) = self.upstream_type.wanted.remove(&name) else { continue };
            let naming = &self.settings.naming;
            let meant = self.meant.get(&name).filter(|_| doubt.bare);
            for (parameters, state) in &mut sets {
                let lost = doubt.concerns(naming, parameters);
                let concerned = lost || meant.is_some_and(|meant| meant.contains(parameters));
                if !concerned
                    || Breadth::of(&name) != Breadth::Name
                    || self.upstream_type.is_served(naming, &name, parameters)
                {
                    continue;
                }
                if !state.request().is_sent() {
                    let scope = naming.scope(parameters);
                    self.batch.undecided.push(Undecided { name: name.clone(), scope });
                    // Silence about it is an answer only after it is sent.
                    state.retract();
                    self.upstream_type.unsettle();
                    continue;
                }
                if state.is_borrowed() && in_flight.contains(&name) || spared.contains(&name) {
                    state.retract();
                    self.upstream_type.unsettle();
                    undecided.push(ResourceLocator::new(name.clone(), parameters.clone()));
                    continue;
                }
                state.receive_absence();
                self.batch.absent.push(naming.absent(&name, parameters, Absence::Known));
            }
            self.upstream_type.wanted.insert(name, sets);
        }
        undecided
    }
}
