//! What a stream asks for, and what it is answered.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use weir_types::{
    Commit, Cursor, Form, KnownVersions, Name, ResourceError, Selector, Variant, VariantKey, Version,
};

/// What to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// What changed.
    Changes,
    /// All there is, so that absence shows what is gone.
    Everything,
}

/// How a stream is sent that a resource lives on as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Refresh {
    /// Not at all: the client is sent no times to live.
    #[default]
    None,
    /// By a heartbeat: name and version without the body. If the client may have dropped it, by the resource.
    Heartbeat,
    /// By the resource again.
    Whole,
}

/// Whether a stream is sent what is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemovalDelivery {
    /// Now.
    Now,
    /// Later, since other types have additions to come.
    Deferred,
}

/// What one stream asks for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Up to which commit the stream was sent changes.
    pub after: Cursor,
    /// What to answer.
    pub shape: Shape,
    /// Whether removals are sent.
    pub removals: RemovalDelivery,
    /// What must be sent though it did not change. May name what the wildcard covers.
    pub resend: &'a BTreeSet<Selector>,
    /// The selectors whose error could not be sent beside the resource itself ([`Errors::postponed`]).
    pub pending_errors: &'a BTreeSet<Selector>,
    /// What the client holds from an earlier stream.
    pub known: Option<&'a KnownVersions>,
    /// How the client is sent that something lives on as it is.
    pub refresh: Refresh,
    /// What time it is, for clients that drop by themselves what is not refreshed in time; none if times do not count.
    pub at: Option<Instant>,
    /// Whether the client is sent an error for unknown names while no control plane can be reached.
    pub sends_unavailable: bool,
    /// Whether the client is sent resources without a body for virtual hosts that do not exist: in the incremental
    /// dialect, the only one that has them.
    pub marks_missing: bool,
}

impl Query<'_> {
    /// Whether removals must not be sent yet.
    pub(crate) fn defers_removals(&self) -> bool {
        self.removals == RemovalDelivery::Deferred
    }
}

/// No selectors.
static NONE: BTreeSet<Selector> = BTreeSet::new();

impl Query<'static> {
    /// What has to be sent after `after` to a stream that wants no more than that.
    pub fn new(after: Cursor, shape: Shape) -> Self {
        Self {
            after,
            shape,
            removals: RemovalDelivery::Now,
            resend: &NONE,
            pending_errors: &NONE,
            known: None,
            refresh: Refresh::None,
            at: None,
            sends_unavailable: false,
            marks_missing: false,
        }
    }
}

/// Something that is removed from a client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Removed {
    /// A resource that the client knows by its plain name (`removed_resources`).
    Name(Name),
    /// A variant that was sent with its constraints (`removed_resource_names`), or to a locator without any
    /// (`removed_resources`: "must be used for any resource for which constraints were sent").
    Variant(VariantKey),
    /// A locator that nothing matches (`removed_resource_names` with the name alone).
    Locator(Name),
}

/// Something that upstream cannot deliver, as a client that asked for it is sent (`resource_errors`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// What was asked for.
    pub name: Name,
    /// How it was asked for.
    pub form: Form,
    /// What is wrong.
    pub error: Arc<ResourceError>,
}

/// What is new since a cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    /// Nothing.
    #[default]
    None,
    /// There is a visible change, or something is sent again.
    Changed,
    /// A resource is sent although the client may have it, since it lives longer than the client knows: there may be
    /// changes beside it. Only for [`Refresh::Whole`].
    Refreshed,
}

/// The errors of an answer.
#[derive(Debug, Default)]
pub struct Errors {
    /// What to send with it. May be something that is removed with it.
    pub sent: Vec<Failing>,
    /// What has to be sent after it, since the resource itself is in it.
    pub postponed: Vec<Selector>,
}

/// The answer.
#[derive(Debug, Default)]
pub struct Diff {
    /// Up to which commit the stream is sent changes with this.
    pub to: Commit,
    /// What to send, by name; each resource once.
    pub resources: Vec<(Arc<Variant>, Form)>,
    /// What the client has, and what upstream has vouched for since. Only for [`Refresh::Heartbeat`].
    pub heartbeats: Vec<(Arc<Variant>, Form)>,
    /// What is gone, or was asked for and is not there.
    pub removed: Vec<Removed>,
    /// What upstream cannot deliver.
    pub errors: Errors,
    /// Locators that nothing matches, of names of which other locators are not answered yet: the bare name would be
    /// taken for the answer to those, too.
    pub waiting: Vec<Selector>,
    /// Of clusters that the client does not have yet: the names of the endpoints that they take from EDS, in order.
    pub new_endpoints: Vec<Name>,
    /// What is new since the cursor. Only with [`Shape::Everything`] can there be resources without any.
    pub news: News,
    /// A pure function of what the view shows; for [`Shape::Everything`], of what is sent.
    pub version: Version,
    /// Whether the client states to hold a resource whose absence is known from upstream's silence only. Its
    /// statement then has to be remembered.
    pub disputed: bool,
}

impl Removed {
    /// A name that nothing answers, asked for in `form`.
    pub(super) fn absent(name: &Name, form: Form) -> Self {
        match form {
            Form::Plain => Self::Name(name.clone()),
            Form::Located => Self::Locator(name.clone()),
        }
    }

    /// The name of a resource, which something else may show.
    pub(super) fn shown_name(&self) -> Option<&Name> {
        match self {
            Self::Name(name) | Self::Variant(VariantKey { name, .. }) => Some(name),
            Self::Locator(_) => None,
        }
    }

    /// A variant that was sent in `form`.
    pub(super) fn variant(key: &VariantKey, form: Form) -> Self {
        match form {
            Form::Plain => Self::Name(key.name.clone()),
            Form::Located => Self::Variant(key.clone()),
        }
    }
}
