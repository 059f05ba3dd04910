//! What must be true when all has come to rest.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use weir_protocol::Dialect;
use weir_types::{Name, ResourceLocator, TypeUrl};

use super::agenda::End;
use super::manners::Missing;
use super::peer::Peer;
use super::play::{Hop, Simulation, Tally};
use super::script::Asked;
use super::types;
use crate::model::Held;

impl Simulation {
    /// Everybody has what the origin has for them, and nobody asks for what nobody wants.
    pub(super) fn check(&self) {
        for (who, peer) in self.peers.iter().enumerate() {
            for type_url in types() {
                self.check_client(who, peer, &type_url);
            }
        }
        for number in 0..self.proxies.len() {
            self.check_demand(number);
            self.check_subscriptions(number);
        }
    }

    fn check_client(&self, who: usize, peer: &Peer, type_url: &TypeUrl) {
        let dialect = peer.client.dialect();
        let wanted = peer.client.wanted(type_url);
        let held = peer.client.held(type_url);
        let has: BTreeSet<(Name, Bytes)> = held.values().map(content).collect();
        let should = self.origin.shows(type_url, &wanted);
        let missing: Vec<_> = should.difference(&has).collect();
        let held_back = !missing.is_empty() && self.is_held_back(peer, type_url);
        self.count(held_back);
        assert!(
            missing.is_empty() || held_back,
            "client {who} ({dialect}) lacks {missing:?} of {type_url} for {wanted:?}, has {held:?}"
        );
        for held in held.values().filter(|held| !held.stray) {
            let wrong = !should.contains(&content(held));
            let unsayable = wrong && self.is_unsayable(peer, type_url, held);
            self.count(unsayable);
            assert!(
                !wrong || unsayable,
                "client {who} ({dialect}) has {held:?} of {type_url} for {wanted:?}, which should be {should:?}"
            );
        }
    }

    /// Whether a client that may hold something of a wildcard is not sent what it would take for the whole state, since the
    /// origin does not answer for it (i16).
    fn is_held_back(&self, peer: &Peer, type_url: &TypeUrl) -> bool {
        let wanted = peer.client.wanted(type_url).into_iter();
        let mut wildcards = wanted.filter(|selector| selector.locator.is_wildcard());
        let has_nothing = |selector| self.origin.shows(type_url, &BTreeSet::from([selector])).is_empty();
        self.customs.ignores_empty_wildcards
            && peer.client.dialect() == Dialect::Sotw
            && type_url.is_full_state()
            && peer.has_returned()
            && wildcards.any(has_nothing)
    }

    /// Counts what was looked at, and whether it was not as it should be for a reason.
    fn count(&self, excused: bool) {
        let Tally { checked, excused: so_far } = self.tally.get();
        self.tally.set(Tally { checked: checked + 1, excused: so_far + u64::from(excused) });
    }

    /// Whether it may never have been stated that this is gone: in SotW, for a type without full state, of a variant
    /// that the client has from an earlier stream, and of what a wildcard brought on one. And silence is no proof against what a client or a proxy states to have from an earlier stream (i06).
    fn is_unsayable(&self, peer: &Peer, type_url: &TypeUrl, held: &Held) -> bool {
        let by_client = peer.client.dialect() == Dialect::Sotw && held.doubtful;
        let mut hops = self.hops[..=peer.proxy].iter();
        let states = if held.doubtful { peer.proxy + 1 } else { peer.proxy };
        let is_silent = |hop: &Hop| hop.dialect == Dialect::Sotw || self.customs.missing == Missing::Silence;
        let by_silence = hops.clone().take(states).any(is_silent);
        let by_hop = hops.any(|hop| hop.dialect == Dialect::Sotw && type_url.has_legacy_wildcard());
        by_silence
            || self.is_taken_over(peer, type_url, held)
            || !type_url.is_full_state() && (by_client || by_hop || self.is_never_withdrawn())
    }

    /// Whether a stream to the origin that is opened again does not learn what has gone meanwhile of a type without full
    /// state: it cannot state what it holds in the state of the world, and a silent origin does not answer for it (u05).
    fn is_never_withdrawn(&self) -> bool {
        self.customs.missing == Missing::Silence
            && self.hops.first().is_some_and(|hop| hop.dialect == Dialect::Sotw)
    }

    /// Whether it may have come for a name that was given up before its end was sent, and be taken for what a
    /// wildcard with other parameters brought.
    fn is_taken_over(&self, peer: &Peer, type_url: &TypeUrl, held: &Held) -> bool {
        let wanted = peer.client.wanted(type_url);
        let covered = wanted.iter().any(|selector| selector.locator.is_wildcard());
        covered
            && peer.asks_for_others()
            && held.sent.constraints.is_some()
            && self.asking.of(type_url) == Asked::Both
    }

    /// A proxy wants just what those below it want (u02).
    fn check_demand(&self, number: usize) {
        let proxy = &self.proxies[number];
        let mut below: BTreeSet<(TypeUrl, ResourceLocator)> = BTreeSet::new();
        for peer in self.peers.iter().filter(|peer| peer.proxy == number) {
            for type_url in types() {
                let wanted = peer.client.wanted(&type_url).into_iter();
                below.extend(wanted.map(|selector| (type_url.clone(), selector.locator)));
            }
        }
        below.extend(self.proxies.get(number + 1).into_iter().flat_map(|below| below.wanted()));
        let expected: BTreeSet<_> =
            below.into_iter().map(|(type_url, locator)| (type_url, proxy.addressed(&locator).1)).collect();
        assert_eq!(proxy.wanted(), expected, "u02: what proxy {number} wants, and those below it");
    }

    /// What is above a proxy believes it to want what it wants.
    fn check_subscriptions(&self, number: usize) {
        let proxy = &self.proxies[number];
        for (set, links) in &proxy.sets {
            // State of the world cannot state that a wildcard is given up which was requested by an empty list.
            let hop = self.hops[number];
            let comparable = |locator: &ResourceLocator| {
                !locator.is_wildcard() || hop.native || hop.dialect == Dialect::Delta
            };
            let subscribed = links.links.values().flat_map(|link| link.transport.subscribed());
            let subscribed: BTreeSet<_> = subscribed.filter(|(_, locator)| comparable(locator)).collect();
            let wanted = links.wanted.keys().filter(|(_, locator)| comparable(locator));
            let wanted: BTreeSet<_> = wanted.cloned().collect();
            assert_eq!(subscribed, wanted, "what was sent and what is wanted by proxy {number} for {set}");
        }
    }

    /// Everybody goes, and leaves nothing behind (d10).
    pub(super) fn close(mut self) {
        self.peers.clear();
        for proxy in &mut self.proxies {
            proxy.sets.clear();
        }
        let now = self.now();
        for proxy in &self.proxies {
            proxy.database.sweep(now);
            proxy.database.sweep(now + Duration::from_secs(3600));
            let left = proxy.database.statistics();
            let counts = [left.selections, left.views, left.tombstones, left.subscribed_variants];
            assert_eq!(counts, [0; 4], "d10: something is left behind: {left:?}");
        }
        assert!(!self.ends().iter().any(|end| matches!(end, End::Link(..))), "no stream is left");
    }
}

pub(super) fn content(held: &Held) -> (Name, Bytes) {
    (held.sent.name.clone(), held.sent.body.clone().unwrap_or_default())
}
