//! Which stream of an upstream carries what.
//!
//! What a server sends for a wildcard and for explicit names of the same type cannot be told apart on one
//! stream. So the primary stream carries the wildcards, and the names of all types that have none, in the
//! upstream's own order; names of a type that has a wildcard go on a secondary stream. Globs are names here: what
//! belongs to one can be told by its name.

use std::collections::HashSet;

use weir_types::TypeUrl;

/// What a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Wildcards, and names of types without one.
    Primary,
    /// Names of types with a wildcard.
    Secondary,
}

/// One of the streams for a parameter set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    /// What it is for.
    pub role: Role,
    /// The one type that it carries; none where types share streams.
    pub type_url: Option<TypeUrl>,
}

impl Default for Lane {
    fn default() -> Self {
        Self { role: Role::Primary, type_url: None }
    }
}

/// Where to send a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) role: Role,
    /// The names of the type are on the primary stream and have to be moved to the secondary one first.
    pub(crate) displaces_names: bool,
}

/// Remembers which types have had a wildcard: those stay claimed by it, so that names do not move back and
/// forth.
#[derive(Debug, Default)]
pub(crate) struct Assignment {
    claimed: HashSet<TypeUrl>,
    /// Types whose names are on the primary stream.
    named: HashSet<TypeUrl>,
}

// === impl Assignment ===

impl Assignment {
    /// Places a subscription of `type_url`, to its wildcard or to a name.
    pub(crate) fn place(&mut self, type_url: &TypeUrl, is_wildcard: bool) -> Placement {
        let mut displaces_names = false;
        if is_wildcard {
            self.claimed.insert(type_url.clone());
            displaces_names = self.named.remove(type_url);
        } else if !self.claimed.contains(type_url) {
            self.named.insert(type_url.clone());
        }
        Placement { role: self.role(type_url, is_wildcard), displaces_names }
    }

    /// Where a subscription is that was placed before.
    pub(crate) fn role(&self, type_url: &TypeUrl, is_wildcard: bool) -> Role {
        if is_wildcard || !self.claimed.contains(type_url) { Role::Primary } else { Role::Secondary }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w01_wildcards_and_names_of_a_type_never_share_a_stream() {
        let (cds, eds) = (TypeUrl::new("cds"), TypeUrl::new("eds"));
        let mut assignment = Assignment::default();
        for (type_url, is_wildcard, role, displaces_names) in [
            (&eds, false, Role::Primary, false),
            (&cds, false, Role::Primary, false),
            (&cds, true, Role::Primary, true),
            (&cds, false, Role::Secondary, false),
            (&cds, true, Role::Primary, false),
            (&eds, false, Role::Primary, false),
        ] {
            let placement = assignment.place(type_url, is_wildcard);
            assert_eq!(placement, Placement { role, displaces_names }, "{type_url} {is_wildcard}");
        }
        assert_eq!(assignment.role(&cds, false), Role::Secondary, "a type stays claimed");
    }
}
