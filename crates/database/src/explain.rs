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
    pub mismatches: Vec<&'a R>,
    /// Pairs of the same rank that can match the same client: compared as they are asked for.
    pub overlaps: Overlaps<'a, R>,
}

/// A variant that does not match.
#[derive(Debug)]
pub struct Mismatch<'a, R> {
    /// The variant.
    pub resource: &'a R,
    /// The first of its constraints that does not hold, as in `env=prod or env=test`.
    pub requirement: String,
    /// What the client states about the keys of that constraint; none where it states nothing.
    pub given: Vec<(Arc<str>, Option<String>)>,
}

/// Two variants that can match the same client, so that which of them it gets is Weir's choice.
#[derive(Debug)]
pub struct OverlapPair<'a, R> {
    /// The two.
    pub pair: [&'a R; 2],
    /// Parameters that both match; none where the constraints are too large to find out whether there are any.
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
    let matches = |candidate: &&R| candidate.variant().key().constraints.matches(parameters);
    let (mut matching, mismatches): (Vec<_>, Vec<_>) = candidates.iter().copied().partition(matches);
    let chosen = preferred(&matching).map(|at| matching.remove(at));
    Explanation { chosen, rivals: matching, mismatches, overlaps: Overlaps::of(candidates) }
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

impl<'a, R: Candidate> Mismatch<'a, R> {
    /// Why `resource` does not match `parameters`; none where it does.
    pub fn of(resource: &'a R, parameters: &DynamicParameters) -> Option<Self> {
        let first = resource.variant().key().constraints.expr().first_mismatch(parameters)?;
        let given = first.keys().into_iter().map(|key| {
            let value = parameters.get(&key).map(str::to_owned);
            (key, value)
        });
        Some(Self { resource, requirement: first.to_string(), given: given.collect() })
    }
}

/// Compares variants by twos. An item is a comparison: a pair, or none where the two cannot match the same client. So
/// whoever iterates can stop at any time, and go on from there.
#[derive(Debug)]
pub struct Overlaps<'a, R> {
    candidates: Vec<&'a R>,
    /// The places of the pair that is compared next.
    at: [usize; 2],
    work: usize,
}

impl<'a, R: Candidate> Overlaps<'a, R> {
    /// What a comparison costs beside the search, which is counted in nodes visited.
    const COMPARISON: usize = 16;

    /// Of all pairs of the same rank.
    pub fn of(candidates: &[&'a R]) -> Self {
        Self { candidates: candidates.to_vec(), at: [0, 1], work: 0 }
    }

    /// The pair that is compared next; none at the end.
    pub fn place(&self) -> Option<[usize; 2]> {
        let [left, right] = self.at;
        let behind = left.saturating_add(1);
        let at =
            if right < self.candidates.len() { [left, right] } else { [behind, behind.saturating_add(1)] };
        (at[1] < self.candidates.len()).then_some(at)
    }

    /// Goes on at a [`Self::place`].
    pub fn continue_at(&mut self, [left, right]: [usize; 2]) {
        self.at = [left, right.max(left.saturating_add(1))];
    }

    /// How much the comparisons have cost, in nodes visited.
    pub fn work(&self) -> usize {
        self.work
    }
}

impl<'a, R: Candidate> Iterator for Overlaps<'a, R> {
    type Item = Option<OverlapPair<'a, R>>;

    fn next(&mut self) -> Option<Self::Item> {
        let [left, right] = self.place()?;
        self.at = [left, right + 1];
        self.work += Self::COMPARISON;
        let pair = [self.candidates[left], self.candidates[right]];
        if pair[0].rank() != pair[1].rank() {
            return Some(None);
        }
        let [left, right] = pair.map(|candidate| &candidate.variant().key().constraints);
        Some(match overlap(left, right, &mut self.work) {
            Overlap::None => None,
            Overlap::Witness(parameters) => Some(OverlapPair { pair, witness: Some(parameters) }),
            Overlap::Unknown => Some(OverlapPair { pair, witness: None }),
        })
    }
}
