//! Which of many variants may match a parameter set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weir_types::constraints::Expr;
use weir_types::{Constraints, DynamicParameters};

use super::table::Place;

/// Something about one key that must hold for a variant to match, and that a parameter set can be looked up by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Literal {
    Value(Arc<str>, Arc<str>),
    Present(Arc<str>),
    Missing(Arc<str>),
}

impl Literal {
    fn key(&self) -> &Arc<str> {
        let (Self::Value(key, _) | Self::Present(key) | Self::Missing(key)) = self;
        key
    }
}

/// Files each variant under one literal that it needs, the rarest when it comes, so that few candidates are left to try.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The keys of the literals, and how many buckets each has.
    keys: BTreeMap<Arc<str>, usize>,
    buckets: BTreeMap<Literal, BTreeSet<Place>>,
    /// Variants that need no single literal.
    rest: BTreeSet<Place>,
}

impl Index {
    pub(super) fn insert(&mut self, constraints: &Constraints, place: Place) {
        let size = |literal: &Literal| self.buckets.get(literal).map_or(0, BTreeSet::len);
        let Some(rarest) = needed(constraints.expr()).into_iter().min_by_key(size) else {
            self.rest.insert(place);
            return;
        };
        let key = Arc::clone(rarest.key());
        let bucket = self.buckets.entry(rarest).or_default();
        if bucket.is_empty() {
            *self.keys.entry(key).or_default() += 1;
        }
        bucket.insert(place);
    }

    pub(super) fn remove(&mut self, constraints: &Constraints, place: Place) {
        self.rest.remove(&place);
        for literal in needed(constraints.expr()) {
            let Some(bucket) = self.buckets.get_mut(&literal) else { continue };
            if bucket.remove(&place) && bucket.is_empty() {
                self.buckets.remove(&literal);
                self.forget_bucket(literal.key());
            }
        }
    }

    fn forget_bucket(&mut self, key: &Arc<str>) {
        let Some(count) = self.keys.get_mut(key) else { return };
        *count -= 1;
        if *count == 0 {
            self.keys.remove(key);
        }
    }

    /// The places of all variants that may match.
    pub(super) fn candidates(&self, parameters: &DynamicParameters) -> impl Iterator<Item = Place> {
        let literals = self.keys.keys().flat_map(|key| match parameters.get(key) {
            Some(value) => {
                let value = Literal::Value(Arc::clone(key), value.into());
                [Some(value), Some(Literal::Present(Arc::clone(key)))]
            }
            None => [Some(Literal::Missing(Arc::clone(key))), None],
        });
        let buckets = literals.flatten().filter_map(|literal| self.buckets.get(&literal));
        buckets.chain([&self.rest]).flatten().copied()
    }
}

/// The value of `key` that parameters must have to match `constraints`, or that they must have none, as far as that can be
/// read off their top.
pub(crate) fn needed_value(constraints: &Constraints, key: &str) -> Option<Option<Arc<str>>> {
    needed(constraints.expr()).into_iter().find_map(|literal| match literal {
        Literal::Value(of, value) if *of == *key => Some(Some(value)),
        Literal::Missing(of) if *of == *key => Some(None),
        _ => None,
    })
}

/// The literals that must all hold for `expr` to hold, as far as they can be read off its top.
fn needed(expr: &Expr) -> Vec<Literal> {
    match expr {
        Expr::Value { key, value } => vec![Literal::Value(Arc::clone(key), Arc::clone(value))],
        Expr::Exists { key } => vec![Literal::Present(Arc::clone(key))],
        Expr::Not(inner) => match &**inner {
            Expr::Exists { key } => vec![Literal::Missing(Arc::clone(key))],
            _ => Vec::new(),
        },
        Expr::All(all) => all.iter().flat_map(needed).collect(),
        Expr::Any(_) => Vec::new(),
    }
}
