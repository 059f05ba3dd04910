//! Looking for a parameter set that makes expressions true.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Expr;
use crate::DynamicParameters;

/// How many partial assignments are tried before a question is left open.
const MAX_STEPS: usize = 100_000;

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
    /// Assignments that already decide against one of them are not continued.
    pub(super) fn satisfy(&self, exprs: &[&Expr]) -> Result<Option<DynamicParameters>, TooLarge> {
        let choices = self.0.iter().map(|(key, values)| (*key, values.iter().collect()));
        let mut search = Search { exprs, domain: choices.collect(), chosen: Vec::new(), steps: 0 };
        Ok(search.run()?.then(|| search.witness()))
    }
}

/// A value that is not among `values`.
pub(super) fn another(values: &BTreeSet<Option<Arc<str>>>) -> Option<Arc<str>> {
    (0..).map(|n| format!("other-{n}").into()).find(|value| !values.contains(&Some(Arc::clone(value))))
}

/// A key, and what it may be.
type Choices<'a> = (&'a Arc<str>, Vec<&'a Option<Arc<str>>>);

struct Search<'a> {
    exprs: &'a [&'a Expr],
    domain: Vec<Choices<'a>>,
    /// For the first keys of the domain: which of their values.
    chosen: Vec<usize>,
    steps: usize,
}

impl Search<'_> {
    /// Whether there is a witness below the current choice.
    fn run(&mut self) -> Result<bool, TooLarge> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(TooLarge);
        }
        let mut decided = true;
        for expr in self.exprs {
            match self.decide(expr) {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => decided = false,
            }
        }
        if decided || self.chosen.len() == self.domain.len() {
            return Ok(true);
        }
        for value in 0..self.domain[self.chosen.len()].1.len() {
            self.chosen.push(value);
            if self.run()? {
                return Ok(true);
            }
            self.chosen.pop();
        }
        Ok(false)
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
