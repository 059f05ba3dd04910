//! The parameter sets of which something is wanted of an authority.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use weir_types::DynamicParameters;

use crate::limits::{Charge, Refusal};

/// How many distinct parameter sets an upstream may be asked for.
#[derive(Clone, Debug)]
pub struct ParameterSets {
    /// The keys that matter to the upstream: sets are distinguished by these only.
    pub keys: Arc<[Arc<str>]>,
    /// The limit.
    pub max: usize,
    /// The node id that the upstream is sent for a set, where no two sets may share it.
    pub node_id: Option<NodeIdOf>,
}

/// The node id of a parameter set.
#[derive(Clone)]
pub struct NodeIdOf(Arc<dyn Fn(&DynamicParameters) -> String + Send + Sync>);

impl ParameterSets {
    /// The node id of a set, where no other set may have it.
    pub(super) fn node_id_of(&self, parameters: &DynamicParameters) -> Option<String> {
        self.node_id.as_ref().map(|NodeIdOf(make)| make(parameters))
    }
}

impl NodeIdOf {
    /// The id that `make` makes of the parameters of a set.
    pub fn new(make: impl Fn(&DynamicParameters) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }
}

impl fmt::Debug for NodeIdOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeIdOf")
    }
}

/// The wanted sets, by parameters and by node id.
#[derive(Default)]
pub(super) struct WantedSets {
    sets: HashMap<DynamicParameters, Set>,
    /// Of those with an id of their own.
    by_id: HashMap<String, DynamicParameters>,
}

/// What is wanted with one parameter set.
struct Set {
    /// Locators.
    subscriptions: usize,
    /// Who was the first to ask, and pays for it.
    charge: Option<Charge>,
    node_id: Option<String>,
}

impl WantedSets {
    /// Notes that one more locator is wanted with these parameters; false where it would be the first.
    pub(super) fn add_to(&mut self, parameters: &DynamicParameters) -> bool {
        self.sets.get_mut(parameters).map(|set| set.subscriptions += 1).is_some()
    }

    /// Whether there may be a set of these parameters, with this node id, beside the others.
    ///
    /// # Errors
    /// When there are as many as there may be, or another set has its node id.
    pub(super) fn check(
        &self,
        parameters: &DynamicParameters,
        node_id: Option<&str>,
        max: usize,
    ) -> Result<(), Refusal> {
        if let Some((id, holder)) = node_id.and_then(|id| self.by_id.get_key_value(id)) {
            let (id, parameters, holder) = (id.clone(), parameters.clone(), holder.clone());
            return Err(Refusal::SharedNodeId { id, parameters, holder });
        }
        if self.sets.len() >= max {
            return Err(Refusal::TooManyParameterSets { parameters: parameters.clone(), max });
        }
        Ok(())
    }

    /// Adds a set, of which one locator is wanted.
    pub(super) fn insert(
        &mut self,
        parameters: DynamicParameters,
        node_id: Option<String>,
        charge: Option<Charge>,
    ) {
        if let Some(id) = &node_id {
            self.by_id.insert(id.clone(), parameters.clone());
        }
        self.sets.insert(parameters, Set { subscriptions: 1, charge, node_id });
    }

    /// Takes one locator away from what is wanted with these parameters.
    pub(super) fn drop(&mut self, parameters: &DynamicParameters) {
        let Some(set) = self.sets.get_mut(parameters) else { return };
        set.subscriptions -= 1;
        if set.subscriptions == 0
            && let Some(Set { node_id: Some(id), .. }) = self.sets.remove(parameters)
        {
            self.by_id.remove(&id);
        }
    }

    /// Who pays for a set.
    pub(super) fn take_charge(&mut self, parameters: &DynamicParameters) -> Option<Charge> {
        self.sets.get_mut(parameters)?.charge.take()
    }

    /// How many locators are wanted with these parameters.
    pub(super) fn count(&self, parameters: &DynamicParameters) -> usize {
        self.sets.get(parameters).map_or(0, |set| set.subscriptions)
    }
}
