//! Clusters that a client was sent before it has asked for their endpoints.

use std::collections::HashSet;
use std::sync::Arc;

use weir_types::Name;

/// How many responses with clusters are remembered. A client asks for endpoints when it has the first of them; one
/// that has not asked by then gets them elsewhere.
pub(super) const MAX_RESPONSES: usize = 32;

/// The endpoints that a client will wait for.
#[derive(Debug)]
pub(super) enum AwaitedEndpoints {
    /// Those of the clusters in these responses, which streams share.
    Of(Vec<Arc<HashSet<Name>>>),
    /// Any.
    Any,
}

impl Default for AwaitedEndpoints {
    fn default() -> Self {
        Self::Of(Vec::new())
    }
}

impl AwaitedEndpoints {
    /// Adds those of one more response.
    pub(super) fn add(&mut self, clusters: Arc<HashSet<Name>>) {
        match self {
            Self::Of(responses) if responses.len() < MAX_RESPONSES => responses.push(clusters),
            _ => *self = Self::Any,
        }
    }

    /// Whether the client may wait for the endpoints `name`.
    pub(super) fn contains(&self, name: &Name) -> bool {
        match self {
            Self::Of(responses) => responses.iter().any(|clusters| clusters.contains(name)),
            Self::Any => true,
        }
    }

    /// How many names are remembered.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Of(responses) => responses.iter().map(|clusters| clusters.len()).sum(),
            Self::Any => 0,
        }
    }
}
