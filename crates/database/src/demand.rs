//! Demand: what the views want from upstream, each locator once.
//!
//! Owns the queue of changes that sources drain, and keeps it within limits: how much is wanted of each authority,
//! and how fast that grows. Never speaks to an upstream.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use weir_types::{DynamicParameters, ResourceLocator, TypeUrl, authority};

use crate::limits::{Bucket, DemandLimits, Quota, Refusal};

/// How much of a name is told.
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

/// How many distinct parameter sets an upstream may be asked for.
#[derive(Clone, Debug)]
pub struct ParameterSets {
    /// The keys that matter to the upstream: sets are told apart by these only.
    pub keys: Arc<[Arc<str>]>,
    /// The limit.
    pub max: usize,
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
    /// Of each client, by the second.
    pub(crate) new_names_per_client: Option<u32>,
}

#[derive(Default)]
struct State {
    limits: Limits,
    changes: Vec<DemandChange>,
    /// How often something was wanted anew.
    renewals: u64,
    authorities: HashMap<String, Authority>,
    /// By authority and limit. Authorities without limits are one.
    refused: BTreeMap<(String, &'static str), u64>,
    /// As far as is known.
    now: Option<Instant>,
}

/// What is wanted of an authority that has limits.
#[derive(Default)]
struct Authority {
    /// Locators.
    subscriptions: usize,
    /// How many of them there are of each projected parameter set.
    sets: HashMap<DynamicParameters, usize>,
    new_subscriptions: Bucket,
    new_sets: Bucket,
}

/// On whose behalf something is wanted.
pub(crate) struct Asking<'a> {
    pub(crate) demand: &'a Demand,
    /// None where nobody counts what the client asks for.
    pub(crate) quota: Option<&'a Quota>,
}

impl Asking<'_> {
    /// Adds `locator` to what is wanted.
    pub(crate) fn want(&self, type_url: &TypeUrl, locator: &ResourceLocator) -> Result<(), Refusal> {
        self.demand.want(type_url, locator, self.quota)
    }

    /// Wants `locator`, which is wanted already, to be sent again.
    pub(crate) fn renew(&self, type_url: &TypeUrl, locator: &ResourceLocator) {
        let mut state = self.demand.state.lock();
        state.renewals += 1;
        state.changes.push(DemandChange::Renewed(type_url.clone(), locator.clone()));
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
        client: Option<&mut Bucket>,
        now: Option<Instant>,
    ) -> Result<(), Refusal> {
        let name = || locator.name.chars().take(SHOWN).collect::<String>();
        let too_fast = |what, limit, per_second| Err(Refusal::TooFast { what, limit, per_second });
        let mut client = client.zip(self.new_names_per_client);
        if let Some((bucket, limit)) = &mut client
            && !bucket.has_room(*limit, now)
        {
            return too_fast(format!("{:?}", name()), "limits.new_names_per_client", *limit);
        }
        if let Some((authority, state)) = &mut of {
            let limits = self.demand.get(*authority).copied().unwrap_or_default();
            if let Some(max) = limits.subscriptions.filter(|max| state.subscriptions >= *max) {
                let authority = (*authority).to_owned();
                return Err(Refusal::TooManySubscriptions { name: name(), authority, max });
            }
            if let Some(limit) = limits.new_subscriptions
                && !state.new_subscriptions.has_room(limit, now)
            {
                return too_fast(format!("{:?}", name()), "new_subscriptions_per_second", limit);
            }
            if let Some(ParameterSets { keys, max }) = self.parameter_sets.get(*authority) {
                let parameters = locator.parameters.projected(keys);
                if !state.sets.contains_key(&parameters) {
                    if state.sets.len() >= *max {
                        return Err(Refusal::TooManyParameterSets { parameters, max: *max });
                    }
                    if let Some(limit) = limits.new_parameter_sets {
                        if !state.new_sets.has_room(limit, now) {
                            let what = format!("parameters {parameters}");
                            return too_fast(what, "new_parameter_sets_per_second", limit);
                        }
                        state.new_sets.put();
                    }
                }
                *state.sets.entry(parameters).or_default() += 1;
            }
            state.subscriptions += 1;
            state.new_subscriptions.put();
        }
        if let Some((bucket, _)) = client {
            bucket.put();
        }
        Ok(())
    }
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
        quota: Option<&Quota>,
    ) -> Result<(), Refusal> {
        let mut state = self.state.lock();
        let State { limits, changes, authorities, refused, now, .. } = &mut *state;
        let authority = limits.authority(locator);
        let of = authority.map(|name| (name, authorities.entry(name.to_owned()).or_default()));
        let mut client = quota.map(|quota| quota.0.lock());
        let admitted = limits.admit(locator, of, client.as_deref_mut(), *now);
        if let Err(refusal) = &admitted {
            let key = (authority.unwrap_or_default().to_owned(), refusal.limit());
            *refused.entry(key).or_default() += 1;
        } else {
            changes.push(DemandChange::Wanted(type_url.clone(), locator.clone()));
        }
        admitted
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
            if let Some(parameters) = parameters
                && let Some(count) = of.sets.get_mut(&parameters)
            {
                *count -= 1;
                if *count == 0 {
                    of.sets.remove(&parameters);
                }
            }
        }
        changes.push(DemandChange::Dropped(type_url.clone(), locator.clone()));
    }

    /// Sets what may be wanted of `authority`.
    pub(crate) fn limit(&self, authority: &str, sets: Option<ParameterSets>, demand: Option<DemandLimits>) {
        let Limits { parameter_sets, demand: demands, .. } = &mut self.state.lock().limits;
        set(parameter_sets, authority, sets);
        set(demands, authority, demand);
    }

    /// Says again that all of this is wanted of `authority`, instead of what was not taken yet.
    pub(crate) fn say_again(&self, of: &str, wanted: Vec<(TypeUrl, ResourceLocator)>) {
        let mut state = self.state.lock();
        let State { limits, changes, authorities, .. } = &mut *state;
        changes.retain(|change| authority(&change.locator().name) != of);
        let keys = limits.parameter_sets.get(of).map(|sets| &sets.keys);
        let counted = authorities.entry(of.to_owned()).or_default();
        (counted.subscriptions, counted.sets) = (wanted.len(), HashMap::new());
        for (type_url, locator) in wanted {
            if let Some(keys) = keys {
                *counted.sets.entry(locator.parameters.projected(keys)).or_default() += 1;
            }
            changes.push(DemandChange::Wanted(type_url, locator));
        }
    }

    /// Time has passed.
    pub(crate) fn tick(&self, now: Instant) {
        self.state.lock().now = Some(now);
    }

    /// How often something was wanted anew.
    pub(crate) fn renewals(&self) -> u64 {
        self.state.lock().renewals
    }

    /// How much was refused, by authority and limit.
    pub(crate) fn refused(&self) -> BTreeMap<(String, &'static str), u64> {
        self.state.lock().refused.clone()
    }

    pub(crate) fn take(&self) -> Vec<DemandChange> {
        std::mem::take(&mut self.state.lock().changes)
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
mod tests {
    use std::time::Duration;

    use super::*;

    fn locator(name: &str, env: &str) -> ResourceLocator {
        ResourceLocator::new(name, [("env", env), ("pod", name)].into_iter().collect())
    }

    fn demand(limits: DemandLimits, max_sets: usize) -> Demand {
        let sets = ParameterSets { keys: Arc::from(["env".into()]), max: max_sets };
        let (parameter_sets, demand) = ([(String::new(), sets)].into(), [(String::new(), limits)].into());
        Demand::new(Limits { parameter_sets, demand, new_names_per_client: Some(1) })
    }

    fn want(demand: &Demand, name: &str, env: &str) -> Result<(), Refusal> {
        demand.want(&TypeUrl::new("eds"), &locator(name, env), None)
    }

    #[test]
    fn p15_the_number_of_parameter_sets_is_limited() {
        let demand = demand(DemandLimits::default(), 2);
        assert_eq!(want(&demand, "a", "prod"), Ok(()));
        assert_eq!(want(&demand, "b", "prod"), Ok(()), "the same set for the upstream");
        assert_eq!(want(&demand, "a", "test"), Ok(()));
        let refusal = want(&demand, "a", "canary").expect_err("the third set");
        assert_eq!(
            refusal.to_string(),
            "parameters {env=canary} would be one more than the 2 distinct parameter sets \
             (max_parameter_sets) that are served at once"
        );
        demand.drop(&TypeUrl::new("eds"), &locator("a", "test"));
        assert_eq!(want(&demand, "a", "canary"), Ok(()));
        assert_eq!(demand.take().len(), 5);
        assert!(demand.take().is_empty());
    }

    #[test]
    fn u12_the_number_of_subscriptions_is_limited() {
        let demand = demand(DemandLimits { subscriptions: Some(2), ..DemandLimits::default() }, 9);
        assert_eq!(want(&demand, "a", "x"), Ok(()));
        assert_eq!(want(&demand, "b", "x"), Ok(()));
        let refusal = want(&demand, "c", "x").expect_err("the third");
        assert_eq!(
            refusal.to_string(),
            "\"c\" would be one more than the 2 subscriptions (max_subscriptions) that the upstream of authority \"\" \
             is asked for at once"
        );
        let elsewhere = want(&demand, "xdstp://other/envoy.config.cluster.v3.Cluster/a", "x");
        assert_eq!(elsewhere, Ok(()), "another authority has limits of its own, or none");
        demand.drop(&TypeUrl::new("eds"), &locator("a", "x"));
        assert_eq!(want(&demand, "c", "x"), Ok(()));
        assert_eq!(demand.refused(), [((String::new(), "max_subscriptions"), 1)].into());
    }

    #[test]
    fn u12_new_subscriptions_and_parameter_sets_are_limited_by_the_second() {
        let limits =
            DemandLimits { new_subscriptions: Some(3), new_parameter_sets: Some(1), subscriptions: None };
        let demand = demand(limits, 99);
        let start = Instant::now();
        demand.tick(start);
        let sets = |demand: &Demand, from: usize| {
            (from..).take_while(|i| want(demand, "a", &i.to_string()).is_ok()).count()
        };
        assert_eq!(sets(&demand, 0), 10);
        let refusal = want(&demand, "a", "99").expect_err("too fast");
        assert_eq!(
            refusal.to_string(),
            "parameters {env=99} would be more than 1 a second (new_parameter_sets_per_second) after a burst of 10 \
             seconds; what was asked for before it is kept, so come again"
        );
        let names = |demand: &Demand, from: usize| {
            (from..).take_while(|i| want(demand, &i.to_string(), "0").is_ok()).count()
        };
        assert_eq!(names(&demand, 0), 20, "ten of thirty were for the sets");
        demand.tick(start + Duration::from_secs(2));
        assert_eq!((sets(&demand, 20), names(&demand, 40)), (2, 4));
    }

    #[test]
    fn u12_each_client_has_a_rate_of_its_own() {
        let demand = demand(DemandLimits::default(), 99);
        let (hostile, other) = (Quota::default(), Quota::default());
        let want =
            |client, i: usize| demand.want(&TypeUrl::new("eds"), &locator(&i.to_string(), "x"), Some(client));
        assert_eq!((0..).take_while(|i| want(&hostile, *i).is_ok()).count(), 10);
        let refusal = want(&hostile, 99).expect_err("too fast");
        assert_eq!(refusal.limit(), "limits.new_names_per_client");
        assert_eq!(want(&other, 100), Ok(()));
    }
}
