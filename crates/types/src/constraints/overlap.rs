//! Whether two constraints can match the same client (TP2, "Matching Ambiguity").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Constraints, Expr};
use crate::DynamicParameters;

/// How many partial assignments are tried before the question is left open.
const MAX_STEPS: usize = 100_000;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// No parameter set matches both.
    None,
    /// This parameter set matches both.
    Witness(DynamicParameters),
    /// The expressions are too large to decide it.
    Unknown,
}

/// Looks for a parameter set that matches both.
///
/// A key's value matters only by which of the mentioned values it equals, so it is enough to try, per key,
/// absence, each mentioned value, and one that nobody mentions. Assignments that already decide against one
/// of the two are not continued.
pub fn overlap(left: &Constraints, right: &Constraints) -> Overlap {
    let mut domain: BTreeMap<&Arc<str>, BTreeSet<Option<Arc<str>>>> = BTreeMap::new();
    for expr in [left.expr(), right.expr()] {
        collect(expr, &mut domain);
    }
    for values in domain.values_mut() {
        let other =
            (0..).map(|n| format!("other-{n}").into()).find(|v| !values.contains(&Some(Arc::clone(v))));
        values.insert(other);
        values.insert(None);
    }
    let domain = domain.into_iter().map(|(key, values)| (key, values.into_iter().collect())).collect();
    let mut search = Search { exprs: [left.expr(), right.expr()], domain, chosen: Vec::new(), steps: 0 };
    match search.run() {
        Some(true) => Overlap::Witness(search.witness()),
        Some(false) => Overlap::None,
        None => Overlap::Unknown,
    }
}

fn collect<'a>(expr: &'a Expr, domain: &mut BTreeMap<&'a Arc<str>, BTreeSet<Option<Arc<str>>>>) {
    match expr {
        Expr::Value { key, value } => {
            domain.entry(key).or_default().insert(Some(Arc::clone(value)));
        }
        Expr::Exists { key } => {
            domain.entry(key).or_default();
        }
        Expr::Not(inner) => collect(inner, domain),
        Expr::All(list) | Expr::Any(list) => list.iter().for_each(|e| collect(e, domain)),
    }
}

/// A key, and what it may be: a value, or absent.
type Choices<'a> = (&'a Arc<str>, Vec<Option<Arc<str>>>);

struct Search<'a> {
    exprs: [&'a Expr; 2],
    domain: Vec<Choices<'a>>,
    /// For the first keys of the domain: which of their values.
    chosen: Vec<usize>,
    steps: usize,
}

impl Search<'_> {
    /// Whether there is a witness below the current choice; none when the steps ran out.
    fn run(&mut self) -> Option<bool> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return None;
        }
        let verdicts = self.exprs.map(|e| self.decide(e));
        if verdicts.contains(&Some(false)) {
            return Some(false);
        }
        if verdicts == [Some(true); 2] || self.chosen.len() == self.domain.len() {
            return Some(true);
        }
        let values = self.domain[self.chosen.len()].1.len();
        for value in 0..values {
            self.chosen.push(value);
            if self.run()? {
                return Some(true);
            }
            self.chosen.pop();
        }
        Some(false)
    }

    /// Whether the choice so far decides `expr`.
    fn decide(&self, expr: &Expr) -> Option<bool> {
        match expr {
            Expr::Value { key, value } => self.lookup(key).map(|chosen| chosen == Some(value)),
            Expr::Exists { key } => self.lookup(key).map(|chosen| chosen.is_some()),
            Expr::Not(inner) => self.decide(inner).map(|verdict| !verdict),
            Expr::All(all) => self.decide_list(all, false),
            Expr::Any(any) => self.decide_list(any, true),
        }
    }

    fn decide_list(&self, list: &[Expr], absorbing: bool) -> Option<bool> {
        let mut decided = true;
        for expr in list {
            match self.decide(expr) {
                Some(verdict) if verdict == absorbing => return Some(absorbing),
                Some(_) => {}
                None => decided = false,
            }
        }
        decided.then_some(!absorbing)
    }

    /// The choice for `key`: none when it is still open, inner none when the key is absent.
    fn lookup(&self, key: &Arc<str>) -> Option<Option<&Arc<str>>> {
        let index = self.domain.binary_search_by(|(known, _)| (*known).cmp(key)).ok()?;
        let choice = *self.chosen.get(index)?;
        Some(self.domain[index].1[choice].as_ref())
    }

    fn witness(&self) -> DynamicParameters {
        let chosen = self.chosen.iter().zip(&self.domain);
        chosen.filter_map(|(&i, (key, values))| Some((Arc::clone(key), values[i].clone()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::expr::tests::{any_expr, any_params};
    use super::*;

    fn env(values: &[&str]) -> Constraints {
        Constraints::new(Expr::Any(values.iter().map(|v| Expr::value("env", *v)).collect()))
    }

    #[test]
    fn overlapping_values_have_a_witness() {
        let witness = [("env", "test")].into_iter().collect();
        assert_eq!(overlap(&env(&["prod", "test"]), &env(&["qa", "test"])), Overlap::Witness(witness));
        assert_eq!(overlap(&env(&["prod"]), &env(&["qa"])), Overlap::None);
    }

    #[test]
    fn different_keys_overlap_unless_absence_is_said() {
        let version = Constraints::new(Expr::value("version", "v1"));
        let no_version =
            Constraints::new(Expr::All(vec![Expr::value("env", "prod"), Expr::not(Expr::exists("version"))]));
        assert!(matches!(overlap(&env(&["prod"]), &version), Overlap::Witness(_)));
        assert_eq!(overlap(&no_version, &version), Overlap::None);
    }

    #[test]
    fn a_question_too_large_is_left_open() {
        let parity = |bit: bool| {
            let pairs = (0..40).map(|i| {
                let (a, b) = (Expr::exists(format!("k{i}")), Expr::exists(format!("k{}", i + 40)));
                let both = Expr::All(vec![a.clone(), b.clone()]);
                let none = Expr::not(Expr::Any(vec![a, b]));
                if bit { Expr::Any(vec![both, none]) } else { Expr::not(Expr::Any(vec![both, none])) }
            });
            Constraints::new(Expr::All(pairs.collect()))
        };
        assert_eq!(overlap(&parity(true), &parity(false)), Overlap::Unknown);
    }

    proptest! {
        #[test]
        fn agrees_with_matching(left in any_expr(), right in any_expr(), params in any_params()) {
            let (left, right) = (Constraints::new(left), Constraints::new(right));
            match overlap(&left, &right) {
                Overlap::Witness(both) => prop_assert!(left.matches(&both) && right.matches(&both)),
                Overlap::None => prop_assert!(!(left.matches(&params) && right.matches(&params))),
                Overlap::Unknown => {}
            }
        }
    }
}
