//! What the origin had when.

use std::collections::BTreeMap;

use bytes::Bytes;
use weir_types::{Constraints, DynamicParameters, Name, TypeUrl};

/// All variants of a name.
pub(super) type Variants = Vec<(Constraints, Bytes)>;

/// Every state of every name, by the revision that began it. Before the first, there was nothing.
#[derive(Debug, Default)]
pub(super) struct History {
    names: BTreeMap<(TypeUrl, Name), Vec<(u64, Variants)>>,
}

impl History {
    pub(super) fn note(&mut self, type_url: &TypeUrl, name: &Name, revision: u64, variants: Variants) {
        self.names.entry((type_url.clone(), name.clone())).or_default().push((revision, variants));
    }

    fn states(&self, type_url: &TypeUrl, name: &Name) -> &[(u64, Variants)] {
        self.names.get(&(type_url.clone(), name.clone())).map_or(&[], Vec::as_slice)
    }

    /// The variants of a name now.
    pub(super) fn latest(&self, type_url: &TypeUrl, name: &Name) -> &[(Constraints, Bytes)] {
        self.states(type_url, name).last().map_or(&[], |(_, variants)| variants)
    }

    /// The first revision from `from` on at which clients with `parameters` were to have `body` of a name, or
    /// nothing. None if that was never so.
    pub(super) fn find(
        &self,
        type_url: &TypeUrl,
        name: &Name,
        parameters: &DynamicParameters,
        from: u64,
        body: Option<&Bytes>,
    ) -> Option<u64> {
        let states = self.states(type_url, name);
        let ends = states.iter().map(|(begin, _)| *begin).chain([u64::MAX]);
        let known = states.iter().map(|(begin, variants)| (*begin, resolve(variants, parameters)));
        let begins = [(0, None)].into_iter().chain(known);
        let mut fitting = begins.zip(ends).filter(|((_, has), end)| *end > from && *has == body);
        fitting.next().map(|((begin, _), _)| begin.max(from))
    }
}

/// What clients with `parameters` have of a name.
fn resolve<'a>(variants: &'a Variants, parameters: &DynamicParameters) -> Option<&'a Bytes> {
    let mut matching = variants.iter().filter(|(constraints, _)| constraints.matches(parameters));
    matching.next().map(|(_, body)| body)
}
