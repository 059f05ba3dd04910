//! Which variant of a name a client gets, why it does not get the others, and where two of them could both be meant
//! (TP2, "Matching Ambiguity").

use std::cmp::Reverse;
use std::sync::Arc;

use weir_types::constraints::{Overlap, overlap};
use weir_types::{DynamicParameters, Variant};

use crate::matching::VariantSet;

/// The answer, about variants that are found in `R`.
#[derive(Debug)]
pub struct Explanation<'a, R> {
    /// The variant that is served.
    pub chosen: Option<&'a R>,
    /// Others that match too, but are less preferred: of a lower rank, constrained by fewer keys, or later in
    /// canonical order.
    pub rivals: Vec<&'a R>,
    /// Those that do not match.
    pub mismatches: Vec<Mismatch<'a, R>>,
    /// Pairs of the same rank that can match the same client.
    pub overlaps: Vec<OverlapPair<'a, R>>,
}

/// A variant that does not match.
#[derive(Debug)]
pub struct Mismatch<'a, R> {
    /// The variant.
    pub resource: &'a R,
    /// The first of its constraints that does not hold, as in `env=prod or env=test`.
    pub requirement: String,
    /// What the client says about the keys of that constraint; none where it says nothing.
    pub given: Vec<(Arc<str>, Option<String>)>,
}

/// Two variants that can match the same client, so that which of them it gets is Weir's choice.
#[derive(Debug)]
pub struct OverlapPair<'a, R> {
    /// The two.
    pub pair: [&'a R; 2],
    /// Parameters that both match; none where the constraints are too large to tell whether there are any.
    pub witness: Option<DynamicParameters>,
}

/// What can be explained.
pub trait Candidate {
    /// The variant.
    fn variant(&self) -> &Arc<Variant>;

    /// Whatever matches with a higher rank is preferred to it.
    fn rank(&self) -> u8 {
        0
    }
}

/// Explains which of `candidates` a client with `parameters` gets. Where there is an order in the answer, it is theirs.
pub fn explain<'a, R: Candidate>(candidates: &[&'a R], parameters: &DynamicParameters) -> Explanation<'a, R> {
    let (mut matching, mut mismatches) = (Vec::new(), Vec::new());
    for candidate in candidates.iter().copied() {
        match mismatch(candidate, parameters) {
            Some(mismatch) => mismatches.push(mismatch),
            None => matching.push(candidate),
        }
    }
    let chosen = preferred(&matching).map(|at| matching.remove(at));
    Explanation { chosen, rivals: matching, mismatches, overlaps: overlaps(candidates) }
}

/// The place of what is served.
fn preferred<R: Candidate>(matching: &[&R]) -> Option<usize> {
    let rank = matching.iter().map(|candidate| Reverse(candidate.rank())).min()?;
    let mut set = VariantSet::default();
    for candidate in matching.iter().filter(|candidate| Reverse(candidate.rank()) == rank) {
        set.insert(Arc::clone(candidate.variant()));
    }
    let first = set.iter().next()?;
    matching.iter().position(|candidate| Arc::ptr_eq(candidate.variant(), first))
}

fn mismatch<'a, R: Candidate>(resource: &'a R, parameters: &DynamicParameters) -> Option<Mismatch<'a, R>> {
    let first = resource.variant().key().constraints.expr().first_mismatch(parameters)?;
    let given = first.keys().into_iter().map(|key| {
        let value = parameters.get(&key).map(str::to_owned);
        (key, value)
    });
    Some(Mismatch { resource, requirement: first.to_string(), given: given.collect() })
}

/// The pairs of the same rank that can match the same client.
pub fn overlaps<'a, R: Candidate>(candidates: &[&'a R]) -> Vec<OverlapPair<'a, R>> {
    let mut pairs = Vec::new();
    for (i, left) in candidates.iter().copied().enumerate() {
        for right in candidates[i + 1..].iter().copied().filter(|right| right.rank() == left.rank()) {
            let constraints = |candidate: &'a R| &candidate.variant().key().constraints;
            let witness = match overlap(constraints(left), constraints(right)) {
                Overlap::None => continue,
                Overlap::Witness(parameters) => Some(parameters),
                Overlap::Unknown => None,
            };
            pairs.push(OverlapPair { pair: [left, right], witness });
        }
    }
    pairs
}
