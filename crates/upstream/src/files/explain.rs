//! Which variant of a name a client would get from files, why it would not get the others, and where two of
//! them could both be meant (TP2, "Matching Ambiguity").

use std::sync::Arc;

use weir_database::matching::VariantSet;
use weir_types::constraints::{Overlap, overlap};
use weir_types::{DynamicParameters, TypeUrl};

use super::load::Loaded;
use super::resource::Resource;

/// The answer.
#[derive(Debug, Default)]
pub struct Explanation<'a> {
    /// The variant that is served.
    pub chosen: Option<&'a Resource>,
    /// Others that match too, by file and line, but are less preferred: constrained by fewer keys, or later in
    /// canonical order.
    pub rivals: Vec<&'a Resource>,
    /// Those that do not match, by file and line.
    pub mismatches: Vec<Mismatch<'a>>,
    /// Pairs that can match the same client.
    pub overlaps: Vec<OverlapPair<'a>>,
}

/// A variant that does not match.
#[derive(Debug)]
pub struct Mismatch<'a> {
    /// The variant.
    pub resource: &'a Resource,
    /// The first of its constraints that does not hold, as in `env=prod or env=test`.
    pub requirement: String,
    /// What the client says about the keys of that constraint; none where it says nothing.
    pub given: Vec<(Arc<str>, Option<String>)>,
}

/// Two variants that can match the same client, so that which of them it gets is Weir's choice.
#[derive(Debug)]
pub struct OverlapPair<'a> {
    /// The two, by file and line.
    pub pair: [&'a Resource; 2],
    /// Parameters that both match; none where the constraints are too large to tell whether there are any.
    pub witness: Option<DynamicParameters>,
}

/// Explains what a client with `parameters` gets when it asks for `name`, a resource name or an alias.
pub fn explain<'a>(
    loaded: &'a Loaded,
    type_url: &TypeUrl,
    name: &str,
    parameters: &DynamicParameters,
) -> Explanation<'a> {
    let variants: Vec<_> =
        loaded.resources().filter(|r| r.type_url == *type_url && answers_to(r, name)).collect();
    let mut explanation = Explanation { overlaps: overlaps(&variants), ..Explanation::default() };
    let mut matching = VariantSet::default();
    for resource in &variants {
        match mismatch(resource, parameters) {
            Some(mismatch) => explanation.mismatches.push(mismatch),
            None => {
                matching.insert(Arc::clone(&resource.variant));
                explanation.rivals.push(resource);
            }
        }
    }
    if let Some(variant) = matching.iter().next() {
        let chosen = explanation.rivals.iter().position(|rival| Arc::ptr_eq(&rival.variant, variant));
        explanation.chosen = chosen.map(|at| explanation.rivals.remove(at));
    }
    explanation
}

fn answers_to(resource: &Resource, name: &str) -> bool {
    let variant = &resource.variant;
    **variant.name() == *name || variant.content().aliases.iter().any(|alias| **alias == *name)
}

fn mismatch<'a>(resource: &'a Resource, parameters: &DynamicParameters) -> Option<Mismatch<'a>> {
    let first = resource.variant.key().constraints.expr().first_mismatch(parameters)?;
    let mut keys = Vec::new();
    first.visit_keys(&mut |key| keys.push(Arc::clone(key)));
    keys.sort_unstable();
    keys.dedup();
    let given = keys.into_iter().map(|key| {
        let value = parameters.get(&key).map(str::to_owned);
        (key, value)
    });
    Some(Mismatch { resource, requirement: first.to_string(), given: given.collect() })
}

fn overlaps<'a>(variants: &[&'a Resource]) -> Vec<OverlapPair<'a>> {
    let mut pairs = Vec::new();
    for (i, left) in variants.iter().copied().enumerate() {
        for right in variants[i + 1..].iter().copied() {
            let constraints = |resource: &'a Resource| &resource.variant.key().constraints;
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
