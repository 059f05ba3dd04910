//! Where in the store something belongs.

use std::sync::Arc;

use weir_types::xdstp::glob_of;
use weir_types::{Breadth, DynamicParameters, Kind, Name, Provenance, ResourceLocator, TypeUrl, VariantKey};

/// What is equal of an upstream stream in one process and in the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The authority whose names it serves.
    pub authority: String,
    /// The keys that distinguish its parameter sets; none for an upstream that is asked by locators.
    pub keys: Option<Arc<[Arc<str>]>>,
    /// The parameter set that it is for; empty for an upstream that is asked by locators.
    pub parameters: DynamicParameters,
}

/// What an upstream stream has brought of one type, by one reach.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partition {
    /// Which stream.
    pub origin: Arc<Origin>,
    /// Which type.
    pub type_url: TypeUrl,
    /// Through which kind of subscription.
    pub provenance: Provenance,
}

// === impl Partition ===

impl Partition {
    /// Where the answers to `locator` are.
    pub fn of(origin: &Arc<Origin>, type_url: &TypeUrl, locator: &ResourceLocator) -> Self {
        let provenance = if locator.is_wildcard() { Provenance::Wildcard } else { Provenance::Named };
        Self { origin: Arc::clone(origin), type_url: type_url.clone(), provenance }
    }

    /// Whether all of it is secret.
    pub(crate) fn is_secret(&self) -> bool {
        self.type_url.kind_of_message() == Kind::Secret
    }

    /// Whether a variant for whoever matches its constraints is for someone with `parameters`. By name only, where
    /// the upstream goes by the stream.
    pub(crate) fn matches(&self, key: &VariantKey, parameters: &DynamicParameters) -> bool {
        self.origin.keys.is_some() || key.constraints.matches(parameters)
    }

    /// Whether `locator` is answered by the variant `key` with these other names.
    pub(crate) fn reaches(&self, locator: &ResourceLocator, key: &VariantKey, aliases: &[Name]) -> bool {
        let asked = match locator.breadth() {
            Breadth::Wildcard => true,
            Breadth::Glob => glob_of(&key.name).as_deref() == Some(&*locator.name),
            Breadth::Name => key.name == locator.name || aliases.contains(&locator.name),
        };
        asked && self.matches(key, &locator.parameters)
    }
}
