//! What one subscription asks for.

use std::fmt;

use crate::{DynamicParameters, Name, xdstp};

/// The name that stands for everything of a type that the server sees fit.
pub const WILDCARD: &str = "*";

/// A resource name and the dynamic parameters that choose among its variants:
/// `envoy.service.discovery.v3.ResourceLocator`. Not to be confused with `xds.core.v3.ResourceLocator`,
/// which is an `xdstp://` URI taken apart.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceLocator {
    /// The resource's name or alias, or that of a collection: [`WILDCARD`], or an `xdstp://` glob.
    pub name: Name,
    /// The dynamic parameters that the client states.
    pub parameters: DynamicParameters,
}

impl ResourceLocator {
    /// The locator of `name` for a client with `parameters`.
    pub fn new(name: impl Into<Name>, parameters: DynamicParameters) -> Self {
        Self { name: name.into(), parameters }
    }

    /// Whether this asks for everything that the server sees fit.
    pub fn is_wildcard(&self) -> bool {
        &*self.name == WILDCARD
    }

    /// Whether any number of resources may answer this.
    pub fn is_collection(&self) -> bool {
        self.breadth() != Breadth::Name
    }

    /// How much this asks for.
    pub fn breadth(&self) -> Breadth {
        Breadth::of(&self.name)
    }
}

/// How much a locator asks for. Where several ask for the same resource, the narrowest is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Breadth {
    /// Everything that the server sees fit.
    Wildcard,
    /// The resources of a directory ([`xdstp`]).
    Glob,
    /// One resource, by its name or an alias.
    Name,
}

impl Breadth {
    /// How much is asked for by `name`.
    pub fn of(name: &str) -> Self {
        match name {
            WILDCARD => Self::Wildcard,
            name if xdstp::is_glob(name) => Self::Glob,
            _ => Self::Name,
        }
    }
}

impl fmt::Debug for ResourceLocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.parameters)
    }
}

/// How a client asked, and so how it is answered ("p07" of TP2's MUST, with one exception: today's clients
/// know only plain names).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// By plain name: variants are sent under their plain name, without constraints.
    Plain,
    /// By locator: variants are sent with their constraints.
    Located,
}

/// A locator in the form in which a client asked for it: the unit of a [`crate::Subscription`].
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selector {
    /// What is asked for.
    pub locator: ResourceLocator,
    /// How it was asked for.
    pub form: Form,
}

impl Selector {
    /// A plain name, with the parameters that were derived for the client.
    pub fn plain(name: impl Into<Name>, parameters: DynamicParameters) -> Self {
        Self { locator: ResourceLocator::new(name, parameters), form: Form::Plain }
    }

    /// A locator that the client sent.
    pub fn located(name: impl Into<Name>, parameters: DynamicParameters) -> Self {
        Self { locator: ResourceLocator::new(name, parameters), form: Form::Located }
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/{:?}", self.form, self.locator)
    }
}
