//! From demand to the source of its authority; and what no source will ever bring is refused.

use std::collections::{HashMap, HashSet};

use weir_database::{Database, DemandChange};
use weir_types::xdstp::{MalformedName, canonical};
use weir_types::{ResourceLocator, TypeUrl, authority};

use crate::refusal::Refusals;
use crate::supervisor::Running;

/// Of how many authorities it is stated that they have no source: clients make up as many as they like.
const MAX_LOGGED: usize = 1000;

/// Sends each change of demand to the source of its authority.
pub(crate) struct Router {
    database: Database,
    sources: HashMap<String, Running>,
    /// Authorities of which a name was refused, and that was logged.
    refused: HashSet<String>,
}

// === impl Router ===

impl Router {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, sources: HashMap::new(), refused: HashSet::new() }
    }

    pub(crate) fn source(&self, authority: &str) -> Option<&Running> {
        self.sources.get(authority)
    }

    /// Whether there is a source that has to be sent all that is wanted for each name that is new.
    pub(crate) fn repeats_what_is_wanted(&self) -> bool {
        let mut control_planes = self.sources.values().filter_map(|source| source.settings.as_ref());
        control_planes.any(|settings| settings.borrow().repeats_what_is_wanted())
    }

    /// The names of `authority` come from there from now on.
    pub(crate) fn put(&mut self, authority: String, source: Running) {
        self.sources.insert(authority, source);
    }

    /// The names of `authority` come from nowhere any more.
    pub(crate) fn remove(&mut self, authority: &str) -> Option<Running> {
        self.refused.remove(authority);
        self.sources.remove(authority)
    }

    /// Sends each of `changes` to its source, and refuses what has none.
    pub(crate) fn route_all(&mut self, changes: Vec<DemandChange>) {
        let mut refusals = Refusals::default();
        changes.into_iter().for_each(|change| self.route(change, &mut refusals));
        refusals.commit(&self.database);
    }

    fn route(&mut self, change: DemandChange, refusals: &mut Refusals) {
        let source = match canonical(&change.locator().name) {
            Ok(name) => self.sources.get(authority(&name)).ok_or(Refusal::UnknownAuthority),
            Err(error) => Err(Refusal::Malformed(error)),
        };
        match (source, change) {
            // A source that has ended is noticed where it is joined.
            (Ok(source), change) => _ = source.demand.send(change),
            (Err(reason), DemandChange::Wanted(type_url, locator)) => {
                self.refuse(type_url, &locator, &reason, refusals);
            }
            (Err(_), DemandChange::Renewed(..) | DemandChange::Dropped(..)) => {}
        }
    }

    /// Nothing will ever come for what no source has, so nobody has to wait for it.
    fn refuse(
        &mut self,
        type_url: TypeUrl,
        locator: &ResourceLocator,
        reason: &Refusal,
        refusals: &mut Refusals,
    ) {
        let authority = authority(&locator.name);
        let new = self.refused.len() < MAX_LOGGED && self.refused.insert(authority.to_owned());
        if new {
            tracing::warn!(authority, name = %locator.name, %reason, "name rejected");
        }
        let message = match authority {
            "" => "no upstream is configured for names without an authority".to_owned(),
            authority => format!("no upstream is configured for the authority {authority:?}"),
        };
        refusals.add(&self.database, type_url, locator, message);
    }
}

/// Why a name is met by no source.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("no upstream is configured for this authority")]
    UnknownAuthority,
    #[error(transparent)]
    Malformed(#[from] MalformedName),
}
