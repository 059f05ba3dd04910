//! Which variant of a name a client would get from files, and why.

use std::sync::Arc;

use weir_database::explain::{self, Candidate};
use weir_types::{DynamicParameters, Name, TypeUrl, Variant};

use super::load::Loaded;
use super::resource::Resource;

/// The answer. Everything in it is by file and line.
pub type Explanation<'a> = explain::Explanation<'a, Resource>;

/// A variant that does not match.
pub type Mismatch<'a> = explain::Mismatch<'a, Resource>;

impl Candidate for Resource {
    fn variant(&self) -> &Arc<Variant> {
        &self.variant
    }
}

/// Explains what a client with `parameters` gets when it asks for `name`, a resource name or an alias.
pub fn explain<'a>(
    loaded: &'a Loaded,
    type_url: &TypeUrl,
    name: &Name,
    parameters: &DynamicParameters,
) -> Explanation<'a> {
    let variants: Vec<_> =
        loaded.resources().filter(|r| r.type_url == *type_url && answers_to(r, name)).collect();
    explain::explain(&variants, parameters)
}

fn answers_to(resource: &Resource, name: &Name) -> bool {
    let variant = &resource.variant;
    variant.name() == name || variant.content().aliases.contains(name)
}
