//! What is watched of one type on one stream, on the server's side.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use weir_database::Removed;
use weir_protocol::Dialect;
use weir_types::{Constraints, Name, Selector, Variant};

use super::messages::{Response, Sent};
use super::{Held, Identity};
use crate::names::is_part_of;

/// The resources that a client should see.
pub(super) type Shown = BTreeMap<Identity, Arc<Variant>>;

/// What has left on a stream, and whether there was a reason for it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// What the client has once everything has arrived.
    sent: BTreeMap<Identity, Sent>,
    /// Whether the server cannot know what the client has, and so not what it withdraws, until it has sent all.
    unstated: bool,
    nonces: HashSet<String>,
    /// What the client should see, as of the last look.
    pub(super) shown: Shown,
    /// Whether there was a reason to send something since all was quiet.
    pub(super) reason: bool,
    /// How many responses have left since then.
    pub(super) responses: usize,
}

impl Watch {
    /// Of a type that the client has nothing of.
    pub(super) fn opening() -> Self {
        Self { reason: true, ..Self::default() }
    }

    /// A new stream of a client that has `held` already.
    pub(super) fn resuming(held: BTreeMap<Identity, Held>, dialect: Dialect) -> Self {
        let sent = held.into_iter().map(|(identity, held)| (identity, held.sent)).collect();
        Self { sent, reason: true, unstated: dialect == Dialect::Sotw, ..Self::default() }
    }

    /// Notes that the client does not want what `selectors` asked for any more, but for what is `shown` still.
    pub(super) fn forget(&mut self, selectors: &[Selector], shown: &Shown) {
        for selector in selectors {
            let name = &selector.locator.name;
            self.sent.retain(|identity, sent| {
                let collected = is_part_of(&identity.0, name);
                let other = !collected && identity.0 != *name && !sent.aliases.contains(name);
                other || shown.contains_key(identity)
            });
        }
    }

    /// Whether something of `shown` has not left yet.
    pub(super) fn lacks(&self, shown: &Shown) -> bool {
        let has = |(identity, variant): (&Identity, &Arc<Variant>)| {
            self.sent.get(identity).is_some_and(|sent| sent.body == variant.content().body)
        };
        !shown.iter().all(has)
    }

    /// Checks a response by itself, and against what left before. `shown` is what the client should see, before
    /// and after a change that came in the middle. Returns the names that are withdrawn.
    pub(super) fn check(&mut self, response: &Response, shown: [&Shown; 2]) -> Vec<Name> {
        self.responses += 1;
        assert!(self.nonces.insert(response.nonce.clone()), "d05: the nonce {} came before", response.nonce);
        no_identity_twice(response);
        for sent in &response.resources {
            if sent.is_heartbeat() {
                let held = self.sent.get(&sent.identity()).map(|held| &held.version);
                assert_eq!(held, Some(&sent.version), "t02: {} was not sent: {response:?}", sent.name);
                continue;
            }
            if sent.is_missing() {
                let there = |shown: &Shown| shown.contains_key(&sent.identity());
                assert!(!shown.into_iter().all(there), "i14: {} is there: {response:?}", sent.name);
                assert!(
                    !self.sent.contains_key(&sent.identity()),
                    "i14: {} is held: {response:?}",
                    sent.name
                );
                continue;
            }
            let current = |shown: &Shown| {
                let variant = shown.get(&sent.identity());
                variant.is_some_and(|variant| variant.content().body == sent.body)
            };
            let held_back =
                response.everything && !shown.iter().all(|s| s.keys().any(|(n, _)| *n == sent.name));
            let swapped = response.everything && sent.constraints.is_some();
            assert!(
                shown.into_iter().any(current) || held_back || swapped,
                "o02: {sent:?} is not what there is: {shown:?}"
            );
        }
        if self.unstated && !response.everything {
            // What the client has from an earlier stream it cannot state, and the server not withdraw.
            self.sent.clear();
        }
        let before: HashSet<Name> = self.sent.keys().map(|(name, _)| name.clone()).collect();
        self.apply(response);
        let has = |name: &Name| self.sent.keys().any(|(n, _)| n == name);
        let withdrawn: Vec<Name> = before.into_iter().filter(|name| !has(name)).collect();
        if std::mem::take(&mut self.unstated) {
            return Vec::new();
        }
        for name in &withdrawn {
            let there = |shown: &Shown| shown.keys().any(|(n, _)| n == name);
            assert!(!shown.into_iter().all(there), "p08: {name} was withdrawn, but is there: {response:?}");
        }
        withdrawn
    }

    fn apply(&mut self, response: &Response) {
        if response.everything {
            self.sent.clear();
        }
        for removed in &response.removed {
            match removed {
                Removed::Name(name) => {
                    self.sent.remove(&(name.clone(), None));
                    self.sent.remove(&(name.clone(), Some(Constraints::unconstrained())));
                }
                Removed::Variant(key) => {
                    self.sent.remove(&(key.name.clone(), Some(key.constraints.clone())));
                }
                Removed::Locator(_) => {}
            }
        }
        for sent in response.resources.iter().filter(|sent| sent.body.is_some()) {
            self.sent.insert(sent.identity(), sent.clone());
        }
    }
}

fn no_identity_twice(response: &Response) {
    let mut seen = HashSet::new();
    for sent in &response.resources {
        assert!(seen.insert((&sent.name, &sent.constraints)), "i12: {} comes twice: {response:?}", sent.name);
    }
    for removed in &response.removed {
        let identities = match removed {
            Removed::Name(name) => {
                vec![(name.clone(), None), (name.clone(), Some(Constraints::unconstrained()))]
            }
            Removed::Variant(key) => vec![(key.name.clone(), Some(key.constraints.clone()))],
            Removed::Locator(_) => continue,
        };
        for (name, constraints) in &identities {
            assert!(!seen.contains(&(name, constraints)), "i12: {name} comes and goes: {response:?}");
        }
    }
}
