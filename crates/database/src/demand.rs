//! Demand: what the views want from upstream, each locator once.
//!
//! Keeps it within limits: how much is wanted of each authority, and how fast that grows. Never connects to an upstream.

mod counts;
mod queue;
mod sets;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use weir_types::{DynamicParameters, ResourceLocator, TypeUrl, authority};

use self::queue::Queue;
use self::sets::WantedSets;
pub use self::sets::{NodeIdOf, ParameterSets};
use crate::limits::{Bucket, Charge, ClientLimits, DemandLimits, Item, Quota, Refusal, Refused};

/// How many characters of a name a message quotes.
const SHOWN: usize = 100;

/// A change of what is wanted from upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DemandChange {
    /// Somebody subscribes to this now.
    Wanted(TypeUrl, ResourceLocator),
    /// Somebody subscribes to this, which is wanted already, and what came of it must not be cached: upstream has to
    /// send it again.
    Renewed(TypeUrl, ResourceLocator),
    /// Nobody has subscribed to this for the idle time.
    Dropped(TypeUrl, ResourceLocator),
}

impl DemandChange {
    /// What is wanted, or not any more.
    pub fn locator(&self) -> &ResourceLocator {
        let (Self::Wanted(_, locator) | Self::Renewed(_, locator) | Self::Dropped(_, locator)) = self;
        locator
    }
}

type Callback = Box<dyn Fn() + Send + Sync>;

pub(crate) struct Demand {
    state: Mutex<State>,
    callback: Mutex<Option<Callback>>,
}

/// What may be wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// Per authority where each parameter set costs a stream.
    pub(crate) parameter_sets: HashMap<String, ParameterSets>,
    /// Per authority.
    pub(crate) demand: HashMap<String, DemandLimits>,
    /// Of each client.
    pub(crate) per_client: ClientLimits,
}

#[derive(Default)]
struct State {
    limits: Limits,
    changes: Queue,
    /// How often something was wanted anew.
    renewals: u64,
    authorities: HashMap<String, Authority>,
    /// By authority and limit. Authorities without limits are one.
    refused: BTreeMap<(String, &'static str), u64>,
    /// By authority: idle sets that have given way to others.
    displaced: BTreeMap<String, u64>,
    /// As far as is known.
    now: Option<Instant>,
    /// When no set was found idle.
    no_idle_sets: Option<Instant>,
}

/// What is wanted of an authority that has limits.
#[derive(Default)]
struct Authority {
    /// Locators.
    subscriptions: usize,
    /// By projected parameter set.
    sets: WantedSets,
    new_subscriptions: Bucket,
    new_sets: Bucket,
}

/// On whose behalf something is wanted.
pub(crate) struct Asking<'a> {
    pub(crate) demand: &'a Demand,
    /// None where nobody counts what the client asks for.
    pub(crate) quota: Option<&'a Arc<Quota>>,
    /// Whether it was refused before, and is asked for again on nobody's request.
    pub(crate) again: bool,
}

impl Asking<'_> {
    /// Adds `locator` to what is wanted. Who asks pays for as long as what is returned lives.
    pub(crate) fn want(
        &self,
        type_url: &TypeUrl,
        locator: &ResourceLocator,
    ) -> Result<Option<Charge>, Refusal> {
        self.demand.want(type_url, locator, self.quota, self.again)
    }

    /// Wants `locator`, which is wanted already, to be sent again.
    pub(crate) fn renew(&self, type_url: &TypeUrl, locator: &ResourceLocator) {
        let mut state = self.demand.state.lock();
        state.renewals += 1;
        state.changes.renew((type_url.clone(), locator.clone()));
    }
}

impl Limits {
    /// The authority of `locator`, if it has limits.
    fn authority<'a>(&self, locator: &'a ResourceLocator) -> Option<&'a str> {
        let authority = authority(&locator.name);
        let limited = self.parameter_sets.contains_key(authority) || self.demand.contains_key(authority);
        limited.then_some(authority)
    }

    /// Notes that a locator is wanted, if it may be.
    fn admit(
        &self,
        locator: &ResourceLocator,
        mut of: Option<(&str, &mut Authority)>,
        quota: Option<&Arc<Quota>>,
        now: Option<Instant>,
    ) -> Result<Option<Charge>, Refusal> {
        self.check_client(Item::Name, || format!("{:?}", shown(locator)), quota, now)?;
        if let Some((authority, state)) = &mut of {
            let limits = self.demand.get(*authority).copied().unwrap_or_default();
            if let Some(max) = limits.subscriptions.filter(|max| state.subscriptions >= *max) {
                let (name, authority) = (shown(locator), (*authority).to_owned());
                return Err(Refusal::TooManySubscriptions { name, authority, max });
            }
            if let Some(limit) = limits.new_subscriptions
                && !state.new_subscriptions.has_room(limit, now)
            {
                let what = format!("{:?}", shown(locator));
                return too_fast(what, "new_subscriptions_per_second", limit);
            }
            if let Some(sets) = self.parameter_sets.get(*authority) {
                self.admit_set(locator.parameters.projected(&sets.keys), (sets, limits), state, quota, now)?;
            }
            state.subscriptions += 1;
            state.new_subscriptions.put();
        }
        Ok(quota.map(|quota| Charge::new(quota, Item::Name)))
    }

    /// Whether who asks may be the first to ask for one more item, which is called `what`.
    fn check_client(
        &self,
        item: Item,
        what: impl FnOnce() -> String,
        quota: Option<&Arc<Quota>>,
        now: Option<Instant>,
    ) -> Result<(), Refusal> {
        let Some(quota) = quota else { return Ok(()) };
        let ClientLimits { names, parameter_sets, new_names, new_parameter_sets } = self.per_client;
        let (max, limit, new, rate) = match item {
            Item::Name => {
                (names, "limits.max_new_names_per_client", new_names, "limits.new_names_per_client")
            }
            Item::ParameterSet => (
                parameter_sets,
                "limits.max_new_parameter_sets_per_client",
                new_parameter_sets,
                "limits.new_parameter_sets_per_client",
            ),
        };
        let mut used = quota.used();
        let account = used.account(item);
        if let Some(max) = max.filter(|max| account.wanted >= *max) {
            return Err(Refusal::TooManyOfClient { what: what(), limit, max });
        }
        match new {
            Some(per_second) if !account.new.has_room(per_second, now) => too_fast(what(), rate, per_second),
            _ => Ok(()),
        }
    }

    /// Notes that something is wanted with these parameters, as the upstream knows them.
    fn admit_set(
        &self,
        parameters: DynamicParameters,
        (sets, limits): (&ParameterSets, DemandLimits),
        state: &mut Authority,
        quota: Option<&Arc<Quota>>,
        now: Option<Instant>,
    ) -> Result<(), Refusal> {
        if state.sets.add_to(&parameters) {
            return Ok(());
        }
        let node_id = sets.node_id_of(&parameters);
        state.sets.check(&parameters, node_id.as_deref(), sets.max)?;
        self.check_client(Item::ParameterSet, || format!("parameters {parameters}"), quota, now)?;
        if let Some(limit) = limits.new_parameter_sets {
            if !state.new_sets.has_room(limit, now) {
                let what = format!("parameters {parameters}");
                return too_fast(what, "new_parameter_sets_per_second", limit);
            }
            state.new_sets.put();
        }
        let charge = quota.map(|quota| Charge::new(quota, Item::ParameterSet));
        state.sets.insert(parameters, node_id, charge);
        Ok(())
    }
}

/// The beginning of a name, for a message.
fn shown(locator: &ResourceLocator) -> String {
    locator.name.chars().take(SHOWN).collect()
}

fn too_fast<T>(what: String, limit: &'static str, per_second: u32) -> Result<T, Refusal> {
    Err(Refusal::TooFast { what, limit, per_second })
}

// === impl Demand ===

impl Demand {
    pub(crate) fn new(limits: Limits) -> Self {
        let state = State { limits, ..State::default() };
        Self { state: Mutex::new(state), callback: Mutex::default() }
    }

    fn want(
        &self,
        type_url: &TypeUrl,
        locator: &ResourceLocator,
        quota: Option<&Arc<Quota>>,
        again: bool,
    ) -> Result<Option<Charge>, Refusal> {
        let mut state = self.state.lock();
        let State { limits, changes, authorities, refused, now, .. } = &mut *state;
        let authority = limits.authority(locator);
        let of = authority.map(|name| (name, authorities.entry(name.to_owned()).or_default()));
        let admitted = limits.admit(locator, of, quota, *now);
        match &admitted {
            Ok(_) => {
                let asker = quota.map(|quota| Arc::as_ptr(quota) as usize);
                changes.want(asker, (type_url.clone(), locator.clone()));
            }
            Err(refusal) if !again => {
                let key = (authority.unwrap_or_default().to_owned(), refusal.limit());
                *refused.entry(key).or_default() += 1;
            }
            Err(_) => {}
        }
        admitted
    }

    /// Makes room for `count` more changes.
    pub(crate) fn make_room(&self, count: usize) {
        self.state.lock().changes.make_room(count);
    }

    /// Takes `locator` away from what is wanted.
    pub(crate) fn drop(&self, type_url: &TypeUrl, locator: &ResourceLocator) {
        let mut state = self.state.lock();
        let State { limits, changes, authorities, .. } = &mut *state;
        if let Some(authority) = limits.authority(locator)
            && let Some(of) = authorities.get_mut(authority)
        {
            of.subscriptions = of.subscriptions.saturating_sub(1);
            let keys = limits.parameter_sets.get(authority).map(|sets| &sets.keys);
            let parameters = keys.map(|keys| locator.parameters.projected(keys));
            parameters.iter().for_each(|parameters| of.sets.drop(parameters));
        }
        changes.drop((type_url.clone(), locator.clone()));
    }

    /// Sets what may be wanted of `authority`.
    pub(crate) fn limit(&self, authority: &str, sets: Option<ParameterSets>, demand: Option<DemandLimits>) {
        let Limits { parameter_sets, demand: demands, .. } = &mut self.state.lock().limits;
        set(parameter_sets, authority, sets);
        set(demands, authority, demand);
    }

    /// Sets how much each client may be the first to ask for.
    pub(crate) fn limit_clients(&self, limits: ClientLimits) {
        self.state.lock().limits.per_client = limits;
    }

    /// Queues all of this again as wanted of `authority`, instead of what was not taken yet.
    pub(crate) fn repeat(&self, of: &str, wanted: Vec<(TypeUrl, ResourceLocator)>) {
        let mut state = self.state.lock();
        let State { limits, changes, authorities, .. } = &mut *state;
        changes.forget(|locator| authority(&locator.name) == of);
        let sets = limits.parameter_sets.get(of);
        let counted = authorities.entry(of.to_owned()).or_default();
        let mut before = std::mem::take(&mut counted.sets);
        counted.subscriptions = wanted.len();
        for (type_url, locator) in wanted {
            if let Some(sets) = sets {
                let parameters = locator.parameters.projected(&sets.keys);
                if !counted.sets.add_to(&parameters) {
                    // Who was the first to ask for it pays on.
                    let charge = before.take_charge(&parameters);
                    let node_id = sets.node_id_of(&parameters);
                    counted.sets.insert(parameters, node_id, charge);
                }
            }
            changes.want(None, (type_url, locator));
        }
    }

    /// The parameter set of a locator, where those of the authority `of` are limited.
    pub(crate) fn set_of(&self, of: &str, locator: &ResourceLocator) -> Option<DynamicParameters> {
        let state = self.state.lock();
        let sets = state.limits.parameter_sets.get(of).filter(|_| authority(&locator.name) == of)?;
        Some(locator.parameters.projected(&sets.keys))
    }

    /// How many locators are wanted with a parameter set.
    pub(crate) fn count_of_set(&self, of: &str, set: &DynamicParameters) -> usize {
        self.state.lock().authorities.get(of).map_or(0, |state| state.sets.count(set))
    }

    /// Whether it is worth to look for idle sets: who is refused may ask often, and looking takes time.
    pub(crate) fn may_look_for_idle_sets(&self) -> bool {
        let state = self.state.lock();
        state.no_idle_sets.is_none() || state.no_idle_sets != state.now
    }

    /// What was refused is tried again, and does not count.
    pub(crate) fn take_back(&self, Refused(refused): &Refused) {
        let mut state = self.state.lock();
        let State { limits, refused: counts, .. } = &mut *state;
        for (selector, refusal) in refused {
            let authority = limits.authority(&selector.locator).unwrap_or_default();
            if let Some(count) = counts.get_mut(&(authority.to_owned(), refusal.limit())) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// No set was found idle.
    pub(crate) fn note_no_idle_sets(&self) {
        let mut state = self.state.lock();
        state.no_idle_sets = state.now;
    }

    /// Time has passed.
    pub(crate) fn tick(&self, now: Instant) {
        self.state.lock().now = Some(now);
    }

    pub(crate) fn waiting(&self) -> u64 {
        self.state.lock().changes.waiting() as u64
    }

    /// About `count` changes, in turns of those who ask, and whether there are more.
    pub(crate) fn take(&self, count: usize) -> (Vec<DemandChange>, bool) {
        let mut state = self.state.lock();
        (state.changes.take(count), !state.changes.is_empty())
    }

    pub(crate) fn on_change(&self, callback: Callback) {
        *self.callback.lock() = Some(callback);
        self.announce();
    }

    /// Calls back if there is something to take. Not to be called under a type's lock.
    pub(crate) fn announce(&self) {
        if !self.state.lock().changes.is_empty()
            && let Some(callback) = &*self.callback.lock()
        {
            callback();
        }
    }
}

fn set<T>(map: &mut HashMap<String, T>, authority: &str, value: Option<T>) {
    match value {
        Some(value) => _ = map.insert(authority.to_owned(), value),
        None => _ = map.remove(authority),
    }
}

#[cfg(test)]
mod tests;
