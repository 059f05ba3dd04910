//! One response of an upstream: the unit that is committed atomically.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{
    DynamicParameters, Failed, Name, ResourceError, ResourceLocator, TypeUrl, Variant, VariantKey, WILDCARD,
};

/// Through which kind of subscription upstream sent something. A wildcard client never receives a resource
/// that only somebody's explicit subscription brought, so the two are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provenance {
    /// Answers explicit names and globs, which stand for their names; kept while a locator of the name, or a
    /// glob that it belongs to, is subscribed.
    Named,
    /// Answers a wildcard; kept while a matching wildcard is subscribed.
    Wildcard,
    /// Held whether or not anyone subscribes (files); answers names and wildcards.
    Local,
}

/// The dynamic parameters that a source answers for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// For all.
    All,
    /// For parameters that are, projected on `keys`, equal to `parameters`.
    Projected {
        /// The key universe of the source.
        keys: Arc<[Arc<str>]>,
        /// The values of those keys; a key that is missing here is one that the client does not send.
        parameters: DynamicParameters,
    },
    /// For exactly these parameters.
    Exactly(DynamicParameters),
}

impl Scope {
    /// Whether a subscriber with `parameters` is concerned.
    pub fn covers(&self, parameters: &DynamicParameters) -> bool {
        match self {
            Self::All => true,
            Self::Projected { keys, parameters: wanted } => parameters.projected(keys) == *wanted,
            Self::Exactly(wanted) => parameters == wanted,
        }
    }
}

/// What is known of a locator that no variant matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Absence {
    /// Nobody has answered yet.
    #[default]
    Unknown,
    /// A connected upstream did not answer within the does-not-exist timeout.
    TimedOut,
    /// Upstream sent a removal.
    Known,
}

/// Upstream's word that nothing matches the locators of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The name that was asked for.
    pub name: Name,
    /// For whom.
    pub scope: Scope,
    /// How we know.
    pub absence: Absence,
}

/// That what matched a locator is gone, while upstream's own word on the locator is still on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The name that was asked for.
    pub name: Name,
    /// For whom.
    pub scope: Scope,
}

/// Upstream's word that it has sent all there is of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The wildcard or the glob; none for all of them.
    pub collection: Option<Name>,
    /// For whom.
    pub scope: Scope,
    /// How we know that there is no more: by upstream's word, or by its silence.
    pub absence: Absence,
}

impl Answered {
    /// All collections, for everyone.
    pub fn all() -> Self {
        Self { collection: None, scope: Scope::All, absence: Absence::Known }
    }

    /// The wildcard.
    pub fn wildcard(scope: Scope) -> Self {
        Self { collection: Some(WILDCARD.into()), scope, absence: Absence::Known }
    }

    /// Whether `locator`, of a collection, is answered.
    pub fn covers(&self, locator: &ResourceLocator) -> bool {
        self.collection.as_ref().is_none_or(|collection| *collection == locator.name)
            && self.scope.covers(&locator.parameters)
    }
}

/// Upstream's word that a variant is what it was, and lives on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The variant, which was sent before.
    pub key: VariantKey,
    /// For how long from now.
    pub ttl: Duration,
}

/// Everything that one upstream response changes. Subscribers see all or nothing of what concerns a name or a collection; the
/// database commits large batches in parts.
#[derive(Debug)]
pub struct Batch {
    /// The one type it is about.
    pub type_url: TypeUrl,
    /// Through which kind of subscription it came.
    pub provenance: Provenance,
    /// Variants that are new or may have changed.
    pub upserts: Vec<Variant>,
    /// Variants that are refreshed without being sent.
    pub heartbeats: Vec<Heartbeat>,
    /// Variants that are gone.
    pub removals: Vec<VariantKey>,
    /// Locators that lose their variant by `removals`, but that upstream has not answered. They keep the variant
    /// until it does.
    pub undecided: Vec<Undecided>,
    /// Names that nothing matches. Applied after `upserts` and `removals`.
    pub absent: Vec<Absent>,
    /// Names whose subscribers get an error. Applied after `absent`.
    pub errors: Vec<Failed>,
    /// The collections that are answered: what was not sent for them does not exist.
    pub answered: Vec<Answered>,
    /// When it was received: times to live count from then. Without it they do not count.
    pub received: Option<Instant>,
}

impl Batch {
    /// A batch that changes nothing yet.
    pub fn new(type_url: TypeUrl, provenance: Provenance) -> Self {
        Self {
            type_url,
            provenance,
            upserts: Vec::new(),
            heartbeats: Vec::new(),
            removals: Vec::new(),
            undecided: Vec::new(),
            absent: Vec::new(),
            errors: Vec::new(),
            answered: Vec::new(),
            received: None,
        }
    }

    /// Whether applying it would do nothing.
    pub fn is_empty(&self) -> bool {
        self.upserts.is_empty()
            && self.heartbeats.is_empty()
            && self.removals.is_empty()
            && self.undecided.is_empty()
            && self.absent.is_empty()
            && self.errors.is_empty()
            && self.answered.is_empty()
    }

    /// The same answers, for one parameter set of those that they are for. For one more parameter set that subscribes
    /// to a locator that is answered already: only that set needs the answer.
    #[must_use]
    pub fn only_for(mut self, parameters: &DynamicParameters) -> Self {
        let absent = self.absent.iter_mut().map(|absent| &mut absent.scope);
        let errors = self.errors.iter_mut().map(|failed| &mut failed.scope);
        let answered = self.answered.iter_mut().map(|answered| &mut answered.scope);
        for scope in absent.chain(errors).chain(answered).filter(|scope| scope.covers(parameters)) {
            *scope = Scope::Exactly(parameters.clone());
        }
        self
    }

    /// Upstream's word that nothing matches this one locator.
    pub fn mark_absent(&mut self, locator: &ResourceLocator, absence: Absence) {
        let scope = Scope::Exactly(locator.parameters.clone());
        self.absent.push(Absent { name: locator.name.clone(), scope, absence });
    }

    /// Upstream's word that all there is for this one locator, of a collection, has been sent.
    pub fn mark_answered(&mut self, locator: &ResourceLocator) {
        let scope = Scope::Exactly(locator.parameters.clone());
        let absence = Absence::Known;
        self.answered.push(Answered { collection: Some(locator.name.clone()), scope, absence });
    }

    /// An error for this one locator. That nothing matches it, where the error means that, is stated by
    /// [`Self::mark_absent`] as well.
    pub fn fail(&mut self, locator: &ResourceLocator, error: ResourceError) {
        let scope = Scope::Exactly(locator.parameters.clone());
        self.errors.push(Failed { name: locator.name.clone(), scope, error: Arc::new(error) });
    }
}
