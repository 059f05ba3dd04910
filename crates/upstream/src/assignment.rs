//! Which stream of an upstream carries what.
//!
//! What a server sends for a wildcard and for explicit names of the same type cannot be distinguished on one
//! stream. So the primary stream carries the wildcards, and the names of all types that have none, in the
//! upstream's own order; names of a type that has a wildcard go on a secondary stream. Globs are names here: what
//! belongs to one is known by its name.

use std::collections::HashMap;

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

/// Of how many types that nobody wants it is remembered that they have had a wildcard: clients make up as many as they
/// like.
const MAX_REMEMBERED: usize = 1000;

/// Remembers which types have had a wildcard: those stay claimed by it, so that names do not move back and forth.
#[derive(Debug, Default)]
pub(crate) struct Assignment {
    types: HashMap<TypeUrl, Placed>,
}

/// What is placed of a type.
#[derive(Debug, Default)]
struct Placed {
    /// How many subscriptions.
    count: usize,
    /// Whether one of them is, or was, to a wildcard.
    claimed: bool,
    /// Whether names are on the primary stream.
    named: bool,
}

// === impl Assignment ===

impl Assignment {
    /// Places a subscription of `type_url`, to its wildcard or to a name.
    pub(crate) fn place(&mut self, type_url: &TypeUrl, is_wildcard: bool) -> Placement {
        let placed = self.types.entry(type_url.clone()).or_default();
        placed.count += 1;
        let mut displaces_names = false;
        if is_wildcard {
            placed.claimed = true;
            displaces_names = std::mem::take(&mut placed.named);
        } else if !placed.claimed {
            placed.named = true;
        }
        Placement { role: self.role(type_url, is_wildcard), displaces_names }
    }

    /// A subscription of `type_url` that was placed is given up.
    pub(crate) fn give_up(&mut self, type_url: &TypeUrl) {
        let Some(placed) = self.types.get_mut(type_url) else { return };
        placed.count = placed.count.saturating_sub(1);
        if placed.count > 0 {
            return;
        }
        placed.named = false;
        if !placed.claimed || self.types.len() > MAX_REMEMBERED {
            self.types.remove(type_url);
        }
    }

    /// Where a subscription is that was placed before.
    pub(crate) fn role(&self, type_url: &TypeUrl, is_wildcard: bool) -> Role {
        let claimed = self.types.get(type_url).is_some_and(|placed| placed.claimed);
        if is_wildcard || !claimed { Role::Primary } else { Role::Secondary }
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
        (0..4).for_each(|_| assignment.give_up(&cds));
        assert_eq!(assignment.role(&cds, false), Role::Secondary, "a type stays claimed");
    }

    #[test]
    fn e05_types_that_clients_make_up_are_forgotten() {
        let mut assignment = Assignment::default();
        for i in 0..10_000 {
            for is_wildcard in [false, i % 2 == 0] {
                let type_url = TypeUrl::new(format!("type.googleapis.com/made.up.Type{i}"));
                assignment.place(&type_url, is_wildcard);
                assignment.give_up(&type_url);
            }
        }
        assert_eq!(assignment.types.len(), MAX_REMEMBERED);
    }
}
