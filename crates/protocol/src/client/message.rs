//! What passes between the machine and the codec of its stream.

use std::fmt;
use std::sync::Arc;

use super::Ticket;
use weir_types::{Batch, Name, ResourceLocator, TypeUrl, Variant, VariantKey};

use super::Reported;

/// A request in either dialect, before it is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The type it is about.
    pub type_url: TypeUrl,
    /// Whether it is the first of the stream, the one that carries the `Node`.
    pub first: bool,
    /// SotW: the last accepted version. Empty in delta.
    pub version: Arc<str>,
    /// The response that is answered, if any was received; in delta, empty unless this is its answer.
    pub nonce: Arc<str>,
    /// Why the response with this nonce is rejected.
    pub nack: Option<String>,
    /// SotW: everything that is subscribed. Delta: what is newly subscribed.
    pub subscribe: Vec<ResourceLocator>,
    /// Delta: what is no longer subscribed.
    pub unsubscribe: Vec<ResourceLocator>,
    /// Delta, first request of a type: what is held already, by name.
    pub initial_versions: Vec<(Name, Arc<str>)>,
}

impl Request {
    /// A request that asks for nothing and answers nothing.
    pub(super) fn empty(type_url: TypeUrl) -> Self {
        let (version, nonce, nack, subscribe, unsubscribe, initial_versions) = Default::default();
        Self { type_url, first: false, version, nonce, nack, subscribe, unsubscribe, initial_versions }
    }
}

/// A response in either dialect, after it was decoded.
#[derive(Debug)]
pub struct Response {
    /// The type it is about.
    pub type_url: TypeUrl,
    /// The version of the whole. SotW: what is acknowledged.
    pub version: Arc<str>,
    /// What identifies it in the acknowledgement.
    pub nonce: Arc<str>,
    /// The resources, or why one cannot be accepted.
    pub resources: Vec<Result<Variant, Rejected>>,
    /// What does not exist (any more); with no constraints when only a name was given.
    pub removed: Vec<VariantKey>,
    /// What cannot be delivered, and why.
    pub errors: Vec<Reported>,
}

/// A resource that is not accepted. Displayed, it is one clause of a NACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Its name, as far as it could be read: that name's last good content stays.
    pub name: Option<Name>,
    /// What is wrong with it, with the name in it.
    pub message: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What a response comes to.
#[derive(Debug)]
pub struct Applied {
    /// What has to be committed before the next [`poll_transmit`](super::UpstreamSession::poll_transmit), which
    /// gives the acknowledgement.
    pub batch: Batch,
    /// Rejected resources; the acknowledgement will be a NACK that names them.
    pub rejected: Vec<Rejected>,
    /// For holding the acknowledgement back; none where there is nothing to wait for, since it is none, or a
    /// NACK.
    pub ticket: Option<Ticket>,
    /// Resources that cannot be delivered, with the server's errors.
    pub errors: Vec<Reported>,
    /// Whether it is the first answer to something that was asked for.
    pub answers: bool,
}

impl Applied {
    /// Whether the server has answered what it was asked: anything that is of use, or that nothing is.
    pub fn is_answer(&self) -> bool {
        self.ticket.is_some() || !self.batch.is_empty()
    }
}
