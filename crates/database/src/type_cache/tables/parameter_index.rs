//! Which of many selections of a name may match constraints.
//!
//! Owns one key, that with the most values, and the selections of each of its values: where a control plane is asked for
//! thousands of parameter sets, what comes for one of them concerns that one only. Never decides whether one matches.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weir_types::{Constraints, DynamicParameters, Scope};

use crate::matching::needed_value;
use crate::view::SelectionId;

/// Below this many selections, trying one after the other is as fast.
pub(super) const INDEX_FROM: usize = 32;

/// A selection, with what it is for.
pub(super) type Listed = (DynamicParameters, SelectionId);

/// Finds selections by the value of one key.
#[derive(Debug)]
pub(super) struct ParameterIndex {
    key: Arc<str>,
    values: HashMap<Box<str>, Vec<Listed>>,
    /// Those that do not have the key.
    without: Vec<Listed>,
    /// At how many selections another key may have become the better one.
    outgrown_at: usize,
}

impl ParameterIndex {
    /// An index of `all`, if they have any parameters.
    pub(super) fn of<'a>(all: impl Iterator<Item = Listed> + Clone + 'a) -> Option<Self> {
        let mut values = HashMap::<String, HashSet<String>>::new();
        let mut count = 0;
        for (parameters, _) in all.clone() {
            count += 1;
            for (key, value) in parameters.iter() {
                values.entry(key.to_owned()).or_default().insert(value.to_owned());
            }
        }
        // Of equal ones, always the same.
        let (key, _) =
            values.into_iter().max_by(|(a, of_a), (b, of_b)| (of_a.len(), b).cmp(&(of_b.len(), a)))?;
        let (values, without) = Default::default();
        let mut index = Self { key: key.into(), values, without, outgrown_at: count * 2 };
        all.for_each(|(parameters, id)| index.insert(&parameters, id));
        Some(index)
    }

    /// Whether another key may be the better one among `count` selections.
    pub(super) fn is_outgrown(&self, count: usize) -> bool {
        count >= self.outgrown_at
    }

    pub(super) fn insert(&mut self, parameters: &DynamicParameters, id: SelectionId) {
        let listed = (parameters.clone(), id);
        match parameters.get(&self.key) {
            Some(value) => self.values.entry(value.into()).or_default().push(listed),
            None => self.without.push(listed),
        }
    }

    pub(super) fn remove(&mut self, parameters: &DynamicParameters, id: SelectionId) {
        let Some(value) = parameters.get(&self.key) else {
            return self.without.retain(|(_, other)| *other != id);
        };
        let Some(listed) = self.values.get_mut(value) else { return };
        listed.retain(|(_, other)| *other != id);
        if listed.is_empty() {
            self.values.remove(value);
        }
    }

    /// Those that may match `constraints`; none where these do not need a value of the key.
    pub(super) fn candidates(&self, constraints: &Constraints) -> Option<&[Listed]> {
        let value = needed_value(constraints, &self.key)?;
        Some(self.bucket(value.as_deref()))
    }

    /// Those that `scope` may cover; none where it does not state a value of the key.
    pub(super) fn covered_by(&self, scope: &Scope) -> Option<&[Listed]> {
        match scope {
            Scope::Projected { keys, parameters } if keys.contains(&self.key) => {
                Some(self.bucket(parameters.get(&self.key)))
            }
            Scope::Exactly(parameters) => Some(self.bucket(parameters.get(&self.key))),
            Scope::Projected { .. } | Scope::All => None,
        }
    }

    fn bucket(&self, value: Option<&str>) -> &[Listed] {
        match value {
            Some(value) => self.values.get(value).map_or(&[], Vec::as_slice),
            None => &self.without,
        }
    }
}
