//! The request of a client, in either dialect.

use std::sync::Arc;

use weir_types::{KnownVersions, Refusals, Selector, TypeUrl, Version};

use super::Nonce;

/// One request.
#[derive(Clone, Debug)]
pub struct SubscriptionRequest {
    /// The type subscription that it belongs to.
    pub type_url: TypeUrl,
    /// The response that it answers; empty for none.
    pub nonce: String,
    /// Why that response was rejected, if it was.
    pub nack: Option<Nack>,
    /// What to subscribe to.
    pub names: Names,
    /// Whether no names, in the first request for the type, mean all resources.
    pub has_legacy_wildcard: bool,
    /// What of that the client may not have.
    pub refused: Refusals,
    /// State of the world: the version that the client has, if Weir could have given it.
    pub version: Option<Version>,
    /// Incremental: what the client holds from an earlier stream.
    pub initial_versions: Option<Arc<KnownVersions>>,
}

/// How a request changes a subscription: the difference between the dialects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// State of the world: the whole subscription, without duplicates.
    Replace(Vec<Selector>),
    /// Incremental: what is new, and what is not wanted any more, each without duplicates.
    Patch {
        /// To be sent, whether or not it is subscribed already.
        subscribe: Vec<Selector>,
        /// No longer wanted, if it ever was.
        unsubscribe: Vec<Selector>,
    },
}

impl Names {
    /// Whether there is no name at all.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Replace(names) => names.is_empty(),
            Self::Patch { subscribe, unsubscribe } => subscribe.is_empty() && unsubscribe.is_empty(),
        }
    }
}

/// A client's rejection (`error_detail`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nack {
    /// The gRPC status code.
    pub code: i32,
    /// The error that the client sent.
    pub message: String,
}

/// The answer of a request to a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The newest response is accepted.
    Ack(Nonce),
    /// A response is rejected.
    Nack {
        /// The response; none if it is not the newest one.
        nonce: Option<Nonce>,
        /// Why.
        nack: Nack,
    },
}
