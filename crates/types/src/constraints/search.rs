//! Looking for a parameter set that makes expressions true.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Expr;
use crate::DynamicParameters;

/// How many nodes of the expressions are visited before a question is left open.
const MAX_VISITS: usize = 4_000_000;

/// The expressions are too large to search through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the constraints are too large to decide it")]
pub struct TooLarge;

/// What each key may be: a value, or absent.
#[derive(Debug, Default)]
pub(super) struct Domain<'a>(BTreeMap<&'a Arc<str>, BTreeSet<Option<Arc<str>>>>);

impl<'a> Domain<'a> {
    /// The keys that `exprs` mention, each with the values that are mentioned.
    pub(super) fn of(exprs: impl IntoIterator<Item = &'a Expr>) -> Self {
        let mut domain = Self::default();
        exprs.into_iter().for_each(|expr| domain.collect(expr));
        domain
    }

    fn collect(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Value { key, value } => {
                self.0.entry(key).or_default().insert(Some(Arc::clone(value)));
            }
            Expr::Exists { key } => {
                self.0.entry(key).or_default();
            }
            Expr::Not(inner) => self.collect(inner),
            Expr::All(list) | Expr::Any(list) => list.iter().for_each(|expr| self.collect(expr)),
        }
    }

    pub(super) fn iter_mut(
        &mut self,
    ) -> impl Iterator<Item = (&'a Arc<str>, &mut BTreeSet<Option<Arc<str>>>)> {
        self.0.iter_mut().map(|(key, values)| (*key, values))
    }

    /// Looks for parameters from here that make all of `exprs` true. A key that does not matter is not among them.
    /// Assignments that already decide against one of them are not continued. The work is added to `visits`.
    pub(super) fn satisfy(
        &self,
        exprs: &[&Expr],
        visits: &mut usize,
    ) -> Result<Option<DynamicParameters>, TooLarge> {
        let mut search = Search::new(self, exprs);
        let found = search.run();
        *visits += search.visits;
        Ok(found?.then(|| search.witness()))
    }
}

/// A value that is not among `values`.
pub(super) fn another(values: &BTreeSet<Option<Arc<str>>>) -> Option<Arc<str>> {
    (0..).map(|n| format!("other-{n}").into()).find(|value| !values.contains(&Some(Arc::clone(value))))
}

/// A key, and what it may be.
type Choices<'a> = (&'a Arc<str>, Vec<&'a Option<Arc<str>>>);

/// An expression that has to become true or false: one part of a conjunction.
struct Goal<'a> {
    expr: &'a Expr,
    wanted: bool,
    /// How many nodes it takes to look at it.
    size: usize,
    /// Whether the choice so far makes it so.
    met: bool,
}

/// A choice of a value for a key.
struct Choice {
    value: usize,
    /// How many goals were met before it.
    met_before: usize,
}

/// A depth-first search over the keys. Its stack is `chosen`, so that the number of keys does not matter to the thread's.
struct Search<'a> {
    domain: Vec<Choices<'a>>,
    goals: Vec<Goal<'a>>,
    /// For each key, the goals that mention it.
    concerned: Vec<Vec<usize>>,
    /// For the first keys of the domain: which of their values.
    chosen: Vec<Choice>,
    /// The goals that are met, in the order in which they were.
    met: Vec<usize>,
    visits: usize,
}

impl<'a> Search<'a> {
    fn new(domain: &'a Domain<'a>, exprs: &[&'a Expr]) -> Self {
        let domain: Vec<Choices<'a>> =
            domain.0.iter().map(|(key, values)| (*key, values.iter().collect())).collect();
        let concerned = vec![Vec::new(); domain.len()];
        let mut search =
            Self { domain, goals: Vec::new(), concerned, chosen: Vec::new(), met: Vec::new(), visits: 0 };
        exprs.iter().for_each(|expr| search.add_goals(expr, true));
        search
    }

    /// Takes conjunctions apart: only the parts that mention a key are looked at again when it is chosen.
    fn add_goals(&mut self, expr: &'a Expr, wanted: bool) {
        match (expr, wanted) {
            (Expr::Not(inner), _) => self.add_goals(inner, !wanted),
            (Expr::All(parts), true) | (Expr::Any(parts), false) => {
                parts.iter().for_each(|part| self.add_goals(part, wanted));
            }
            _ => {
                let (goal, size) = (self.goals.len(), expr.size().nodes);
                self.goals.push(Goal { expr, wanted, size, met: false });
                self.visits += size;
                expr.visit_keys(&mut |key| {
                    let concerned = self.domain.binary_search_by(|(known, _)| (*known).cmp(key));
                    let concerned = concerned.ok().and_then(|at| self.concerned.get_mut(at));
                    concerned
                        .filter(|goals| goals.last() != Some(&goal))
                        .into_iter()
                        .for_each(|goals| goals.push(goal));
                });
            }
        }
    }

    /// Whether there is a witness. The choices are its first part then.
    fn run(&mut self) -> Result<bool, TooLarge> {
        if !self.meet(&(0..self.goals.len()).collect::<Vec<_>>())? {
            return Ok(false);
        }
        let mut value = 0;
        while self.met.len() < self.goals.len() {
            let key = self.chosen.len();
            let Some((_, values)) = self.domain.get(key) else { return Ok(true) };
            if value < values.len() {
                self.chosen.push(Choice { value, met_before: self.met.len() });
                let concerned = std::mem::take(&mut self.concerned[key]);
                let open = self.meet(&concerned);
                self.concerned[key] = concerned;
                if open? {
                    value = 0;
                    continue;
                }
            }
            let Some(last) = self.chosen.pop() else { return Ok(false) };
            for goal in self.met.drain(last.met_before..) {
                self.goals[goal].met = false;
            }
            value = last.value + 1;
        }
        Ok(true)
    }

    /// Looks at `goals` after a choice: false when it decides against one of them.
    fn meet(&mut self, goals: &[usize]) -> Result<bool, TooLarge> {
        for &goal in goals {
            let Goal { expr, wanted, size, met } = self.goals[goal];
            if met {
                continue;
            }
            self.visits += size;
            if self.visits > MAX_VISITS {
                return Err(TooLarge);
            }
            match self.decide(expr) {
                Some(verdict) if verdict == wanted => {
                    self.goals[goal].met = true;
                    self.met.push(goal);
                }
                Some(_) => return Ok(false),
                None => {}
            }
        }
        Ok(true)
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
        let choice = self.chosen.get(index)?;
        Some(self.domain[index].1[choice.value].as_ref())
    }

    fn witness(&self) -> DynamicParameters {
        let chosen = self.chosen.iter().zip(&self.domain);
        let value = |(choice, (key, values)): (&Choice, &Choices<'_>)| {
            Some((Arc::clone(key), values[choice.value].clone()?))
        };
        chosen.filter_map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(n: usize, of: impl Fn(usize) -> Expr) -> Vec<Expr> {
        (0..n).map(of).collect()
    }

    #[test]
    fn p12_many_keys_take_neither_the_stack_nor_a_square_of_time() {
        let exists = keys(90_000, |n| Expr::exists(format!("k{n}")));
        let named = keys(90_000, |n| Expr::value(format!("k{n}"), "v"));
        let last = Expr::not(named[89_999].clone());
        for (exprs, satisfiable) in [
            ([Expr::All(exists.clone()), Expr::All(named.clone())], true),
            ([Expr::not(Expr::Any(exists)), last.clone()], true),
            ([Expr::All(named), last], false),
        ] {
            let mut domain = Domain::of(&exprs);
            domain.iter_mut().for_each(|(_, values)| values.extend([None]));
            let mut visits = 0;
            let found = domain.satisfy(&[&exprs[0], &exprs[1]], &mut visits).unwrap();
            assert_eq!((found.is_some(), visits < 2_000_000), (satisfiable, true), "{visits}");
        }
    }
}
