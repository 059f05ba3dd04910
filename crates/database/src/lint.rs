//! What is wrong with the variants of a name, before a client finds out (TP2, "Matching Behavior and Best Practices"):
//! two that match the same client, different sets of keys, values that none is for.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_types::DynamicParameters;
use weir_types::constraints::{KnownValues, uncovered};

use crate::explain::{Candidate, OverlapPair, Overlaps};

/// How many parameter sets are named that no variant is for.
const NAMED: usize = 10;

/// What is wrong, about variants that are found in `R`.
#[derive(Debug)]
pub enum Finding<'a, R> {
    /// Two of the same rank can match the same client.
    Overlap(OverlapPair<'a, R>),
    /// They are constrained by different keys.
    Keys(Vec<Keyed<'a, R>>),
    /// None of them is for these values; at most 10 sets of them.
    Uncovered(Vec<DynamicParameters>),
    /// The constraints are too large to find out whether there are values that none is for.
    Undecided,
}

/// Variants that are constrained by the same keys.
#[derive(Debug)]
pub struct Keyed<'a, R> {
    /// The keys, in order.
    pub keys: Vec<Arc<str>>,
    /// The variants.
    pub variants: Vec<&'a R>,
}

/// What is wrong with the variants of one name. Where it is known which values keys have, these `known` ones are
/// expected to be covered.
pub fn lint<'a, R: Candidate>(variants: &[&'a R], known: Option<&KnownValues>) -> Vec<Finding<'a, R>> {
    let mut findings: Vec<_> = Overlaps::of(variants).flatten().map(Finding::Overlap).collect();
    findings.extend(differing_keys(variants).map(Finding::Keys));
    findings.extend(known.and_then(|known| not_covered(variants, known)));
    findings
}

fn differing_keys<'a, R: Candidate>(variants: &[&'a R]) -> Option<Vec<Keyed<'a, R>>> {
    let mut by_keys: BTreeMap<Vec<Arc<str>>, Vec<&'a R>> = BTreeMap::new();
    for variant in variants.iter().copied() {
        let keys = variant.variant().key().constraints.expr().keys();
        by_keys.entry(keys).or_default().push(variant);
    }
    let differ = by_keys.len() > 1;
    let keyed = by_keys.into_iter().map(|(keys, variants)| Keyed { keys, variants });
    differ.then(|| keyed.collect())
}

fn not_covered<'a, R: Candidate>(variants: &[&'a R], known: &KnownValues) -> Option<Finding<'a, R>> {
    let constraints: Vec<_> = variants.iter().map(|variant| &variant.variant().key().constraints).collect();
    match uncovered(&constraints, known, NAMED) {
        Ok(sets) if sets.is_empty() => None,
        Ok(sets) => Some(Finding::Uncovered(sets)),
        Err(_) => Some(Finding::Undecided),
    }
}

#[cfg(test)]
mod tests {
    use weir_types::constraints::Expr;
    use weir_types::{Constraints, Content, Variant, VariantKey};

    use super::*;

    struct Held(Arc<Variant>, u8);

    impl Candidate for Held {
        fn variant(&self) -> &Arc<Variant> {
            &self.0
        }

        fn rank(&self) -> u8 {
            self.1
        }
    }

    fn held(expr: Expr, rank: u8) -> Held {
        let key = VariantKey::new("x", Constraints::new(expr));
        Held(Arc::new(Variant::new(key, Content::default())), rank)
    }

    fn env(value: &str) -> Expr {
        Expr::value("env", value)
    }

    /// What is found, in words.
    fn found(variants: &[Held], known: &[(&str, &str)]) -> Vec<String> {
        let mut values = KnownValues::new();
        for (key, value) in known {
            values.entry(Arc::from(*key)).or_default().insert(Arc::from(*value));
        }
        let variants: Vec<_> = variants.iter().collect();
        let findings = lint(&variants, (!known.is_empty()).then_some(&values)).into_iter();
        let words = findings.map(|finding| match finding {
            Finding::Overlap(pair) => format!("overlap at {}", pair.witness.unwrap()),
            Finding::Keys(sets) => {
                let sets: Vec<_> =
                    sets.iter().map(|of| format!("{}x[{}]", of.variants.len(), of.keys.join(" "))).collect();
                format!("keys {}", sets.join(", "))
            }
            Finding::Uncovered(sets) => format!("uncovered {}", sets[0]),
            Finding::Undecided => "undecided".to_owned(),
        });
        words.collect()
    }

    #[test]
    fn p12_what_keeps_to_the_practice_is_clean() {
        let known = [("env", "prod"), ("env", "test")];
        assert_eq!(found(&[held(env("prod"), 0), held(env("test"), 0)], &known), [""; 0]);
        assert_eq!(found(&[held(Expr::All(vec![]), 0)], &known), [""; 0]);
        assert_eq!(found(&[], &[]), [""; 0]);
    }

    #[test]
    fn p12_each_fault_is_found_with_a_witness() {
        let either = Expr::Any(vec![env("prod"), env("test")]);
        let versioned = Expr::All(vec![env("qa"), Expr::value("version", "v1")]);
        let variants = [held(either, 0), held(env("test"), 0), held(versioned, 0)];
        let wanted = ["overlap at {env=test}", "keys 2x[env], 1x[env version]"];
        assert_eq!(found(&variants, &[]), wanted);
        let known = [("env", "dev"), ("version", "v1")];
        assert_eq!(found(&variants, &known)[2..], ["uncovered {env=dev}"]);
    }

    #[test]
    fn p12_what_a_rank_decides_is_no_overlap() {
        assert_eq!(found(&[held(env("prod"), 0), held(env("prod"), 1)], &[]), [""; 0]);
    }
}
