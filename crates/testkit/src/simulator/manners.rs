//! How the origin behaves where the protocol leaves it a choice: drawn by seed, for a whole play.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use weir_database::Removed;
use weir_protocol::Dialect;
use weir_types::{KnownVersions, Name, TypeUrl, WILDCARD};

use crate::model::{Request, Response, Sent};

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

/// What the origin does, in a whole play, where the protocol leaves it a choice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Customs {
    /// How it answers a subscription to a name that it does not have.
    pub(super) missing: Missing,
    /// Whether it answers a wildcard of which it has nothing.
    pub(super) ignores_empty_wildcards: bool,
    /// Incremental: whether each resource has a response of its own.
    pub(super) sends_one_by_one: bool,
    /// For how long it may take over the answer that a name, or a wildcard, has nothing.
    pub(super) hesitates: Duration,
}

impl Customs {
    /// Some of all that are possible.
    pub(super) fn drawn(rng: &mut fastrand::Rng) -> Self {
        Self {
            missing: Missing::drawn(rng),
            ignores_empty_wildcards: rng.u32(0..3) == 0,
            sends_one_by_one: rng.u32(0..3) == 0,
            hesitates: Duration::from_millis([0, 0, 500, 5_000][rng.usize(0..4)]),
        }
    }
}

/// What a connection to the origin was sent, and how the origin answers what it does not have.
#[derive(Debug, Default)]
pub(super) struct Manners {
    customs: Customs,
    /// The names of what the asking end holds, or may hold.
    held: BTreeSet<(TypeUrl, Name)>,
}

impl Manners {
    pub(super) fn new(customs: Customs) -> Self {
        Self { customs, ..Self::default() }
    }

    /// Notes what the asking end states to hold.
    pub(super) fn note_stated(&mut self, request: &Request) {
        let known: KnownVersions = request.known.iter().cloned().collect();
        let names = known.names().cloned();
        let any = request.version.is_some().then(Name::wildcard).cloned();
        self.held.extend(names.chain(any).map(|name| (request.type_url.clone(), name)));
    }

    /// The response as this origin sends it; none if it does not.
    pub(super) fn shape(&mut self, mut response: Response, dialect: Dialect) -> Option<Response> {
        if self.customs.ignores_empty_wildcards {
            let count = response.removed.len();
            response.removed.retain(|removed| &**removed.name() != WILDCARD);
            let ignored = count == 0 || response.removed.len() < count;
            let holds = self.held.iter().any(|(type_url, _)| *type_url == response.type_url);
            if ignored && response.resources.is_empty() && response.removed.is_empty() && !holds {
                return None;
            }
        }
        let names = response.resources.iter().map(|sent| (response.type_url.clone(), sent.name.clone()));
        self.held.extend(names);
        self.answer_missing(response, dialect)
    }

    fn answer_missing(&mut self, mut response: Response, dialect: Dialect) -> Option<Response> {
        let missing = self.customs.missing;
        if missing == Missing::Removal || dialect == Dialect::Sotw && missing != Missing::Silence {
            return Some(response);
        }
        let is_answer = |removed: &Removed| {
            let held = self.held.contains(&(response.type_url.clone(), removed.name().clone()));
            !held && !matches!(removed, Removed::Variant(_)) && &**removed.name() != WILDCARD
        };
        let (answers, removed): (Vec<_>, Vec<_>) = response.removed.into_iter().partition(is_answer);
        response.removed = removed;
        for name in answers.iter().map(Removed::name) {
            match missing {
                Missing::Marker => response.resources.push(marker(name)),
                Missing::Error => response.missing.push(name.clone()),
                Missing::Removal | Missing::Silence => {}
            }
        }
        let empty = response.resources.is_empty() && response.removed.is_empty();
        let silent = empty && missing == Missing::Silence && !answers.is_empty();
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
