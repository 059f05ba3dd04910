//! Which values no variant is for (TP2, "Matching Behavior and Best Practices": "there must be a variant of the
//! resource for every value of a key that is going to be present").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::search::{Domain, TooLarge, another};
use super::{Constraints, Expr};
use crate::DynamicParameters;

/// The values that a key is known to have.
pub type KnownValues = BTreeMap<Arc<str>, BTreeSet<Arc<str>>>;

impl Constraints {
    /// Adds the values that are mentioned to those that are known.
    pub fn learn(&self, known: &mut KnownValues) {
        for (key, values) in Domain::of([self.expr()]).iter_mut() {
            known.entry(Arc::clone(key)).or_default().extend(values.iter().flatten().cloned());
        }
    }
}

/// Parameter sets that none of `variants` matches, `most` at most, and none of which contains another one. Every key
/// that the variants use has one of its `known` values, or of those in the constraints; a key without any has an
/// arbitrary value. Parameter sets that lack a key are not considered.
///
/// # Errors
/// When the constraints are too large to decide it.
pub fn uncovered(
    variants: &[&Constraints],
    known: &KnownValues,
    most: usize,
) -> Result<Vec<DynamicParameters>, TooLarge> {
    let mut domain = Domain::of(variants.iter().map(|constraints| constraints.expr()));
    for (key, values) in domain.iter_mut() {
        values.extend(known.get(key).into_iter().flatten().cloned().map(Some));
        if values.is_empty() {
            let any = another(values);
            values.insert(any);
        }
    }
    let mut unmet: Vec<_> =
        variants.iter().map(|constraints| Expr::not(constraints.expr().clone())).collect();
    let mut found = Vec::new();
    while found.len() < most {
        let Some(witness) = domain.satisfy(&unmet.iter().collect::<Vec<_>>(), &mut 0)? else { break };
        // The next one is another one.
        let all = witness.iter().map(|(key, value)| Expr::value(key, value)).collect();
        unmet.push(Expr::not(Expr::All(all)));
        found.push(witness);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::expr::tests::any_expr;
    use super::*;

    fn known(pairs: &[(&str, &str)]) -> KnownValues {
        let mut known = KnownValues::new();
        for (key, value) in pairs {
            known.entry(Arc::from(*key)).or_default().insert(Arc::from(*value));
        }
        known
    }

    fn params(pairs: &[(&str, &str)]) -> DynamicParameters {
        pairs.iter().copied().collect()
    }

    fn is(key: &str, value: &str) -> Expr {
        Expr::value(key, value)
    }

    #[test]
    fn p12_values_that_no_variant_is_for() {
        let all = known(&[("env", "prod"), ("env", "test"), ("version", "v1"), ("version", "v2")]);
        let both = |env, version| Expr::All(vec![is("env", env), is("version", version)]);
        for (variants, wanted) in [
            (vec![is("env", "prod"), is("env", "test")], vec![]),
            (vec![is("env", "prod")], vec![params(&[("env", "test")])]),
            (vec![Expr::not(is("env", "prod"))], vec![params(&[("env", "prod")])]),
            (
                vec![both("prod", "v1"), is("env", "test")],
                vec![params(&[("env", "prod"), ("version", "v2")])],
            ),
            (vec![is("env", "qa")], vec![params(&[("env", "prod")]), params(&[("env", "test")])]),
            (vec![Expr::exists("zone")], vec![]),
            (vec![Expr::not(Expr::exists("zone"))], vec![params(&[("zone", "other-0")])]),
            (vec![Expr::All(vec![])], vec![]),
        ] {
            let variants: Vec<_> = variants.into_iter().map(Constraints::new).collect();
            let found = uncovered(&variants.iter().collect::<Vec<_>>(), &all, 10);
            assert_eq!(found.unwrap(), wanted, "{variants:?}");
        }
    }

    #[test]
    fn no_more_than_asked_for_are_found() {
        let values: Vec<_> = (0..100).map(|i| i.to_string()).collect();
        let pairs: Vec<_> = values.iter().map(|value| ("env", value.as_str())).collect();
        let variant = Constraints::new(is("env", "x"));
        assert_eq!(uncovered(&[&variant], &known(&pairs), 7).unwrap().len(), 7);
    }

    /// All parameter sets with a value for each key.
    fn assignments(domain: &KnownValues) -> Vec<DynamicParameters> {
        let mut all = vec![Vec::new()];
        for (key, values) in domain {
            let with = |pairs: Vec<(Arc<str>, Arc<str>)>| {
                let more = move |value: &Arc<str>| {
                    let mut pairs = pairs.clone();
                    pairs.push((Arc::clone(key), Arc::clone(value)));
                    pairs
                };
                values.iter().map(more).collect::<Vec<_>>()
            };
            all = all.into_iter().flat_map(with).collect();
        }
        all.into_iter().map(|pairs| pairs.into_iter().collect()).collect()
    }

    proptest! {
        #[test]
        fn p12_agrees_with_trying_everything(exprs in prop::collection::vec(any_expr(), 0..5)) {
            let variants: Vec<_> = exprs.into_iter().map(Constraints::new).collect();
            let mut domain = KnownValues::new();
            variants.iter().for_each(|variant| variant.learn(&mut domain));
            for values in domain.values_mut().filter(|values| values.is_empty()) {
                values.insert(Arc::from("any"));
            }
            let found = uncovered(&variants.iter().collect::<Vec<_>>(), &domain, usize::MAX).unwrap();
            for all in assignments(&domain) {
                let covered = variants.iter().any(|variant| variant.matches(&all));
                let is_within = |part: &DynamicParameters| part.iter().all(|(key, value)| all.get(key) == Some(value));
                prop_assert_eq!(!covered, found.iter().any(is_within), "{}", all);
            }
        }
    }
}
