//! Demand: what the views want from upstream, each locator once.
//!
//! Owns the queue of changes that sources drain, and the limit on distinct parameter sets where each of them
//! costs an upstream stream of its own. Never speaks to an upstream.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use weir_types::{DynamicParameters, ResourceLocator, TypeUrl, authority};

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

/// How many distinct parameter sets an upstream may be asked for.
#[derive(Clone, Debug)]
pub struct ParameterSets {
    /// The keys that matter to the upstream: sets are told apart by these only.
    pub keys: Arc<[Arc<str>]>,
    /// The limit.
    pub max: usize,
}

/// Why a subscription is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Each distinct parameter set costs an upstream stream, and there are as many as are allowed.
    #[error(
        "parameters {parameters} would be one more than the {max} distinct parameter sets \
         (max_parameter_sets) that are served at once"
    )]
    TooManyParameterSets {
        /// The parameters that are one too many, projected on the upstream's keys.
        parameters: DynamicParameters,
        /// The limit.
        max: usize,
    },
}

type Callback = Box<dyn Fn() + Send + Sync>;

pub(crate) struct Demand {
    limits: HashMap<String, ParameterSets>,
    state: Mutex<State>,
    callback: Mutex<Option<Callback>>,
}

#[derive(Default)]
struct State {
    changes: Vec<DemandChange>,
    /// How often something was wanted anew.
    renewals: u64,
    /// Per authority: how many wanted locators there are of each projected parameter set.
    sets: HashMap<String, HashMap<DynamicParameters, usize>>,
}

impl Demand {
    pub(crate) fn new(limits: HashMap<String, ParameterSets>) -> Self {
        Self { limits, state: Mutex::default(), callback: Mutex::default() }
    }

    /// Adds `locator` to what is wanted.
    pub(crate) fn want(&self, type_url: &TypeUrl, locator: &ResourceLocator) -> Result<(), Refusal> {
        let mut state = self.state.lock();
        if let Some((authority, limit)) = self.limits.get_key_value(authority(&locator.name)) {
            let sets = state.sets.entry(authority.clone()).or_default();
            let parameters = locator.parameters.projected(&limit.keys);
            if sets.len() >= limit.max && !sets.contains_key(&parameters) {
                return Err(Refusal::TooManyParameterSets { parameters, max: limit.max });
            }
            *sets.entry(parameters).or_default() += 1;
        }
        state.changes.push(DemandChange::Wanted(type_url.clone(), locator.clone()));
        Ok(())
    }

    /// Wants `locator`, which is wanted already, to be sent again.
    pub(crate) fn renew(&self, type_url: &TypeUrl, locator: &ResourceLocator) {
        let mut state = self.state.lock();
        state.renewals += 1;
        state.changes.push(DemandChange::Renewed(type_url.clone(), locator.clone()));
    }

    /// How often something was wanted anew.
    pub(crate) fn renewals(&self) -> u64 {
        self.state.lock().renewals
    }

    /// Takes `locator` away from what is wanted.
    pub(crate) fn drop(&self, type_url: &TypeUrl, locator: &ResourceLocator) {
        let mut state = self.state.lock();
        if let Some((authority, limit)) = self.limits.get_key_value(authority(&locator.name)) {
            let sets = state.sets.entry(authority.clone()).or_default();
            let parameters = locator.parameters.projected(&limit.keys);
            if let Some(count) = sets.get_mut(&parameters) {
                *count -= 1;
                if *count == 0 {
                    sets.remove(&parameters);
                }
            }
        }
        state.changes.push(DemandChange::Dropped(type_url.clone(), locator.clone()));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn locator(name: &str, env: &str) -> ResourceLocator {
        ResourceLocator::new(name, [("env", env), ("pod", name)].into_iter().collect())
    }

    #[test]
    fn p15_the_number_of_parameter_sets_is_limited() {
        let limit = ParameterSets { keys: Arc::from(["env".into()]), max: 2 };
        let demand = Demand::new([(String::new(), limit)].into());
        let eds = TypeUrl::new("eds");
        assert_eq!(demand.want(&eds, &locator("a", "prod")), Ok(()));
        assert_eq!(demand.want(&eds, &locator("b", "prod")), Ok(()), "the same set for the upstream");
        assert_eq!(demand.want(&eds, &locator("a", "test")), Ok(()));
        let refusal = demand.want(&eds, &locator("a", "canary")).expect_err("the third set");
        assert_eq!(
            refusal.to_string(),
            "parameters {env=canary} would be one more than the 2 distinct parameter sets \
             (max_parameter_sets) that are served at once"
        );
        demand.drop(&eds, &locator("a", "test"));
        assert_eq!(demand.want(&eds, &locator("a", "canary")), Ok(()));
        assert_eq!(demand.take().len(), 5);
        assert!(demand.take().is_empty());
    }
}
