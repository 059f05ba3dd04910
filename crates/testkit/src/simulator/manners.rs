//! How the origin behaves where the protocol leaves it a choice: drawn by seed, for a whole play.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_database::Removed;
use weir_protocol::Dialect;
use weir_types::{KnownVersions, Name, TypeUrl, WILDCARD};

use crate::model::{Response, Sent};

/// How the origin answers a subscription to a name that it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Missing {
    /// By a removal; in the state of the world, by an error.
    #[default]
    Removal,
    /// By a resource that has the name and the alias and no body.
    Marker,
    /// By an error, in either dialect.
    Error,
    /// Not at all.
    Silence,
}

impl Missing {
    /// One of all.
    pub(super) fn drawn(rng: &mut fastrand::Rng) -> Self {
        [Self::Removal, Self::Marker, Self::Error, Self::Silence][rng.usize(0..4)]
    }
}

/// What a connection to the origin was sent, and how the origin answers what it does not have.
#[derive(Debug, Default)]
pub(super) struct Manners {
    missing: Missing,
    /// The names of what the asking end holds, or may hold.
    held: BTreeSet<(TypeUrl, Name)>,
}

impl Manners {
    pub(super) fn new(missing: Missing) -> Self {
        Self { missing, ..Self::default() }
    }

    /// Notes what the asking end states to hold.
    pub(super) fn note_known(&mut self, type_url: &TypeUrl, known: &KnownVersions) {
        self.held.extend(known.names().map(|name| (type_url.clone(), name.clone())));
    }

    /// The response as this origin sends it; none if it does not.
    pub(super) fn shape(&mut self, mut response: Response, dialect: Dialect) -> Option<Response> {
        let names = response.resources.iter().map(|sent| (response.type_url.clone(), sent.name.clone()));
        self.held.extend(names);
        if self.missing == Missing::Removal || dialect == Dialect::Sotw && self.missing != Missing::Silence {
            return Some(response);
        }
        let is_answer = |removed: &Removed| {
            let held = self.held.contains(&(response.type_url.clone(), removed.name().clone()));
            !held && !matches!(removed, Removed::Variant(_)) && &**removed.name() != WILDCARD
        };
        let (answers, removed): (Vec<_>, Vec<_>) = response.removed.into_iter().partition(is_answer);
        response.removed = removed;
        for name in answers.iter().map(Removed::name) {
            match self.missing {
                Missing::Marker => response.resources.push(marker(name)),
                Missing::Error => response.missing.push(name.clone()),
                Missing::Removal | Missing::Silence => {}
            }
        }
        let empty = response.resources.is_empty() && response.removed.is_empty();
        let silent = empty && self.missing == Missing::Silence && !answers.is_empty();
        // In the state of the world, only what is sent can be acknowledged.
        (!silent || dialect == Dialect::Sotw).then_some(response)
    }
}

fn marker(name: &Name) -> Sent {
    Sent {
        name: name.clone(),
        constraints: None,
        version: String::new(),
        body: None,
        aliases: Arc::from([name.clone()]),
        ttl: None,
    }
}
