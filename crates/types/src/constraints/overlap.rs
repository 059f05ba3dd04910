//! Whether two constraints can match the same client (TP2, "Matching Ambiguity").

use super::Constraints;
use super::search::{Domain, another};
use crate::DynamicParameters;

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
/// absence, each mentioned value, and one that nobody mentions. The work, in nodes visited, is added to `visits`.
pub fn overlap(left: &Constraints, right: &Constraints, visits: &mut usize) -> Overlap {
    let exprs = [left.expr(), right.expr()];
    let mut domain = Domain::of(exprs);
    for (_, values) in domain.iter_mut() {
        let other = another(values);
        values.extend([None, other]);
    }
    match domain.satisfy(&exprs, visits) {
        Ok(Some(witness)) => Overlap::Witness(witness),
        Ok(None) => Overlap::None,
        Err(_) => Overlap::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Expr;
    use super::super::expr::tests::{any_expr, any_params};
    use super::*;

    fn overlap(left: &Constraints, right: &Constraints) -> Overlap {
        super::overlap(left, right, &mut 0)
    }

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
    fn different_keys_overlap_unless_absence_is_stated() {
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
