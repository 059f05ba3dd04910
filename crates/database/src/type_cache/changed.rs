//! The names of which a change has changed variants, and for whom.
//!
//! Owns which parameters a change of a name can make a difference for: those that match what was brought or removed. Where
//! that are many constraints, it concerns everybody. Never knows who asks.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use weir_types::{Constraints, DynamicParameters, Name};

/// How many constraints are kept apart.
pub(crate) const MAX_CONSTRAINTS: usize = 8;

/// The parameters that a change of a name makes a difference for.
#[derive(Clone, Debug)]
pub(crate) enum Concerned {
    /// Those that match one of these.
    Matching(Vec<Constraints>),
    /// Perhaps all.
    All,
}

/// The names that have changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed(BTreeMap<Name, Concerned>);

impl Concerned {
    /// Whether the change makes a difference for `parameters`.
    pub(crate) fn covers(&self, parameters: &DynamicParameters) -> bool {
        match self {
            Self::Matching(all) => all.iter().any(|constraints| constraints.matches(parameters)),
            Self::All => true,
        }
    }

    fn add(&mut self, constraints: &Constraints) {
        match self {
            Self::Matching(all) if all.contains(constraints) => {}
            Self::Matching(all) if all.len() < MAX_CONSTRAINTS && !constraints.is_unconstrained() => {
                all.push(constraints.clone());
            }
            _ => *self = Self::All,
        }
    }

    fn merge(&mut self, other: &Self) {
        match other {
            Self::Matching(all) => all.iter().for_each(|constraints| self.add(constraints)),
            Self::All => *self = Self::All,
        }
    }
}

impl Changed {
    /// Notes that a variant of `name` with these constraints was brought, removed or refreshed.
    pub(crate) fn note(&mut self, name: &Name, constraints: &Constraints) {
        self.entry(name).add(constraints);
    }

    /// Notes that what concerns `name` concerns what it is `also` called.
    pub(crate) fn note_also(&mut self, also: &Name, concerned: &Concerned) {
        self.entry(also).merge(concerned);
    }

    fn entry(&mut self, name: &Name) -> &mut Concerned {
        match self.0.entry(name.clone()) {
            Entry::Vacant(new) => new.insert(Concerned::Matching(Vec::with_capacity(1))),
            Entry::Occupied(old) => old.into_mut(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.keys()
    }

    /// The names, in order, with whom each concerns.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Name, &Concerned)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use weir_types::constraints::Expr;

    use super::*;

    #[test]
    fn a_change_concerns_those_who_match_it_and_many_changes_everybody() {
        let name = Name::from("a");
        let of = |value: usize| Constraints::new(Expr::value("k", value.to_string()));
        let has = |value: usize| [("k", value.to_string())].into_iter().collect::<DynamicParameters>();
        let covers =
            |changed: &Changed, value| changed.iter().all(|(_, concerned)| concerned.covers(&has(value)));
        let mut changed = Changed::default();
        for value in 0..MAX_CONSTRAINTS {
            changed.note(&name, &of(value));
            changed.note(&name, &of(value));
        }
        assert!(covers(&changed, 0) && covers(&changed, MAX_CONSTRAINTS - 1) && !covers(&changed, 99));
        let mut all = changed.clone();
        all.note(&name, &of(98));
        assert!(covers(&all, 99));
        changed.note(&name, &Constraints::unconstrained());
        assert!(covers(&changed, 99));
    }
}
