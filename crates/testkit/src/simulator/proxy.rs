//! Weir without IO: a database, the streams that fill it, and who carries what of its demand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_database::{Database, DemandChange, Removed, Settings};
use weir_protocol::Dialect;
use weir_protocol::client::Naming;
use weir_types::{Batch, DynamicParameters, Name, ResourceLocator, TypeUrl};

use super::agenda::End;
use super::excuse::{self, Excuse};
use super::play::Hop;
use super::upstream::Upstream;
use super::{KEYS, NAMES, types};
use crate::model::Response;

/// What a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// Wildcards, and names of types without one.
    Primary,
    /// Names of types with a wildcard.
    Secondary,
}

/// What has to be done for a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    /// It is new.
    Open,
    /// It has given up a type.
    Reopen,
    /// It has something to send.
    Flush,
}

/// The streams for one parameter set, or for all of them.
#[derive(Default)]
pub(super) struct LinkSet {
    pub(super) links: BTreeMap<Role, Upstream>,
    pub(super) wanted: BTreeMap<(TypeUrl, ResourceLocator), usize>,
    /// Types that have had a wildcard.
    claimed: BTreeSet<TypeUrl>,
    /// Types whose names are on the primary stream.
    named: BTreeSet<TypeUrl>,
}

/// The proxy.
pub(super) struct Proxy {
    pub(super) database: Database,
    /// Whether there is demand.
    bell: Arc<AtomicBool>,
    number: usize,
    hop: Hop,
    keys: Arc<[Arc<str>]>,
    /// How much has expired.
    expired: u64,
    relapses: Vec<Excuse>,
    pub(super) sets: BTreeMap<DynamicParameters, LinkSet>,
}

impl Proxy {
    pub(super) fn new(number: usize, hop: Hop) -> Self {
        let database = Database::new(Settings { idle: Duration::from_secs(10), ..Settings::default() });
        let bell = Arc::new(AtomicBool::new(false));
        let rung = Arc::clone(&bell);
        database.on_demand(move || rung.store(true, Ordering::Release));
        let keys = KEYS.map(Arc::from).into_iter().collect();
        Self { database, bell, number, hop, keys, expired: 0, relapses: Vec::new(), sets: BTreeMap::new() }
    }

    /// The set of streams that a locator belongs to, and what it is called there.
    pub(super) fn addressed(&self, locator: &ResourceLocator) -> (DynamicParameters, ResourceLocator) {
        if self.hop.native {
            return (DynamicParameters::empty(), locator.clone());
        }
        let parameters = locator.parameters.projected(&self.keys);
        (parameters.clone(), ResourceLocator::new(locator.name.clone(), parameters))
    }

    /// Follows the demand, if there is any. Gives what has to be done then.
    pub(super) fn follow_demand(&mut self) -> Option<Vec<(End, Need)>> {
        if !self.bell.swap(false, Ordering::AcqRel) {
            return None;
        }
        let mut needs = Vec::new();
        for change in sorted(self.database.take_demand()) {
            match change {
                DemandChange::Wanted(type_url, locator) => self.want(type_url, &locator, &mut needs),
                DemandChange::Renewed(type_url, locator) => self.renew(&type_url, &locator, &mut needs),
                DemandChange::Dropped(type_url, locator) => self.give_up(type_url, &locator, &mut needs),
            }
        }
        Some(needs)
    }

    fn want(&mut self, type_url: TypeUrl, locator: &ResourceLocator, needs: &mut Vec<(End, Need)>) {
        let (set, locator) = self.addressed(locator);
        let links = self.sets.entry(set.clone()).or_default();
        let count = links.wanted.entry((type_url.clone(), locator.clone())).or_default();
        *count += 1;
        if *count > 1 {
            let role = links.role(&type_url, &locator);
            let stream = links.links.get_mut(&role).expect("what is wanted has a stream");
            if let Some(batch) = stream.machine.recall(&type_url, &locator) {
                self.database.commit(batch);
            }
            return;
        }
        let displaces = links.claim(&type_url, &locator);
        if displaces && let Some(primary) = links.links.get_mut(&Role::Primary) {
            let handover = primary.machine.hand_over(&type_url);
            needs.push((End::Link(self.number, set.clone(), Role::Primary), Need::Reopen));
            if let Some(handover) = handover {
                self.stream(&set, Role::Secondary, needs).machine.take_over(handover);
            }
        }
        let role = self.sets[&set].role(&type_url, &locator);
        self.stream(&set, role, needs).machine.subscribe(&type_url, locator);
    }

    fn renew(&mut self, type_url: &TypeUrl, locator: &ResourceLocator, needs: &mut Vec<(End, Need)>) {
        let (set, locator) = self.addressed(locator);
        let links = self.sets.get_mut(&set).expect("what is renewed was wanted");
        let role = links.role(type_url, &locator);
        let stream = links.links.get_mut(&role).expect("what is wanted has a stream");
        stream.machine.renew(type_url, &locator);
        needs.push((End::Link(self.number, set, role), Need::Flush));
    }

    /// The stream of a set for a role, on which there will be something to send.
    fn stream(&mut self, set: &DynamicParameters, role: Role, needs: &mut Vec<(End, Need)>) -> &mut Upstream {
        let end = End::Link(self.number, set.clone(), role);
        let naming = match self.hop.native {
            true => Naming::Locators,
            false => Naming::names(Arc::clone(&self.keys), set),
        };
        let links = &mut self.sets.entry(set.clone()).or_default().links;
        needs.push((end, if links.contains_key(&role) { Need::Flush } else { Need::Open }));
        links.entry(role).or_insert_with(|| Upstream::new(self.hop.dialect, naming, set.clone()))
    }

    fn give_up(&mut self, type_url: TypeUrl, locator: &ResourceLocator, needs: &mut Vec<(End, Need)>) {
        let (set, locator) = self.addressed(locator);
        let links = self.sets.get_mut(&set).expect("what is dropped was wanted");
        let role = links.role(&type_url, &locator);
        let key = (type_url, locator);
        let count = links.wanted.get_mut(&key).expect("what is dropped was wanted");
        *count -= 1;
        if *count > 0 {
            return;
        }
        links.wanted.remove(&key);
        if links.wanted.is_empty() {
            self.sets.remove(&set);
        } else if let Some(stream) = links.links.get_mut(&role) {
            stream.machine.unsubscribe(&key.0, &key.1);
            needs.push((End::Link(self.number, set, role), Need::Flush));
        }
    }

    /// One of its streams.
    pub(super) fn link(&mut self, end: &End) -> Option<&mut Upstream> {
        let End::Link(_, set, role) = end else { return None };
        self.sets.get_mut(set)?.links.get_mut(role)
    }

    /// Takes in a response on a stream. Gives what was concluded from it that need not be so.
    pub(super) fn receive(
        &mut self,
        set: &DynamicParameters,
        role: Role,
        response: Response,
        now: Instant,
    ) -> Vec<Excuse> {
        let Some(links) = self.sets.get_mut(set) else { return Vec::new() };
        let Some(link) = links.links.get_mut(&role) else { return Vec::new() };
        let named: BTreeSet<Removed> = response.removed.iter().cloned().collect();
        let batch = link.receive(response, now);
        let excuses = match self.hop.native {
            true => excuse::ambiguities(&batch, &named, &links.wanted),
            false => Vec::new(),
        };
        self.note_relapses(&batch);
        self.database.commit(batch);
        excuses
    }

    /// In state of the world, nothing states what of a type without full state went while there was no stream: it may be the
    /// next to answer for a name when what is here goes.
    fn note_relapses(&mut self, batch: &Batch) {
        if self.hop.dialect == Dialect::Sotw && !batch.type_url.is_full_state() {
            let names = batch.removals.iter().map(|key| (batch.type_url.clone(), Some(key.name.clone())));
            self.relapses.extend(names);
        }
    }

    /// Lets time pass on the streams and in the database. Gives what was concluded from silence.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<Excuse> {
        let streams = self.sets.values_mut().flat_map(|links| links.links.values_mut());
        let known: Vec<Batch> = streams.flat_map(|stream| stream.machine.handle_timeout(now)).collect();
        let excuses = known.iter().flat_map(excuse::silence).collect();
        for batch in known {
            self.database.commit(batch);
        }
        self.database.sweep(now);
        excuses
    }

    /// The names for which something else may answer now that may be over, too: something has expired, and the word on the
    /// other is on its way, or [`Self::note_relapses`].
    pub(super) fn take_relapses(&mut self) -> Vec<Excuse> {
        let noted = std::mem::take(&mut self.relapses);
        let before = std::mem::replace(&mut self.expired, self.database.expired());
        if self.expired == before {
            return noted;
        }
        let relapses = |type_url: TypeUrl| {
            let all = self.database.describe(&type_url, &NAMES.map(Name::from)).into_iter();
            let split = all.filter(|resource| {
                let expired = resource.variants.iter().filter(|variant| variant.expired).count();
                (1..resource.variants.len()).contains(&expired)
            });
            split.map(move |resource| (type_url.clone(), Some(resource.name)))
        };
        noted.into_iter().chain(types().into_iter().flat_map(relapses)).collect()
    }

    /// Every stream.
    pub(super) fn ends(&self) -> impl Iterator<Item = End> {
        self.sets.iter().flat_map(|(set, links)| {
            links.links.keys().map(|role| End::Link(self.number, set.clone(), *role))
        })
    }

    /// Everything that is wanted of what is above, by parameter set.
    pub(super) fn wanted(&self) -> BTreeSet<(TypeUrl, ResourceLocator)> {
        self.sets.values().flat_map(|links| links.wanted.keys().cloned()).collect()
    }
}

/// Demand in an order of ours: that of what is wanted at one moment follows from no seed.
pub(super) fn sorted(mut changes: Vec<DemandChange>) -> Vec<DemandChange> {
    changes.sort_by(|one, other| key(one).cmp(&key(other)));
    changes
}

fn key(change: &DemandChange) -> (&TypeUrl, &ResourceLocator) {
    let (DemandChange::Wanted(type_url, locator)
    | DemandChange::Renewed(type_url, locator)
    | DemandChange::Dropped(type_url, locator)) = change;
    (type_url, locator)
}

impl LinkSet {
    /// Notes what kind of subscription a type has; whether its names have to leave the primary stream for it.
    fn claim(&mut self, type_url: &TypeUrl, locator: &ResourceLocator) -> bool {
        if locator.is_wildcard() {
            self.claimed.insert(type_url.clone());
            return self.named.remove(type_url);
        }
        if !self.claimed.contains(type_url) {
            self.named.insert(type_url.clone());
        }
        false
    }

    fn role(&self, type_url: &TypeUrl, locator: &ResourceLocator) -> Role {
        let primary = locator.is_wildcard() || !self.claimed.contains(type_url);
        if primary { Role::Primary } else { Role::Secondary }
    }
}
