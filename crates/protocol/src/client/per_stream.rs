//! State of one type that lasts as long as one upstream stream.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_types::ResourceLocator;

use super::verdicts::Verdicts;

/// What is over when the stream is.
#[derive(Debug, Default)]
pub(super) struct PerStreamState {
    /// The first request was sent.
    pub(super) opened: bool,
    /// How many requests were sent.
    pub(super) requests: u32,
    /// A response has come.
    pub(super) heard: bool,
    /// Explicit names were sent, so that an empty list no longer means the wildcard.
    pub(super) named: bool,
    /// SotW: the server takes the empty list for a wildcard, and will until there is a name in it.
    pub(super) implicit: bool,
    /// The wildcard of the empty list was given up, which the server cannot be told.
    pub(super) lingers: bool,
    /// It is wanted again, which the server cannot be told either.
    pub(super) exhausted: bool,
    /// Not all that is held is stated, so that there is something to answer.
    pub(super) pressed: bool,
    /// SotW: the list has to be sent.
    pub(super) changed: bool,
    /// Of the last response that was answered.
    pub(super) nonce: Arc<str>,
    /// SotW: of the last accepted response.
    pub(super) version: Arc<str>,
    pub(super) verdicts: Verdicts,
    /// Delta: what has to be asked for.
    pub(super) subscribe: BTreeSet<ResourceLocator>,
    /// What the server believes to be wanted and is not, or was not for a moment.
    pub(super) unsubscribe: BTreeSet<ResourceLocator>,
    /// SotW: what was not wanted for a moment while an answer was held back.
    pub(super) unheard: BTreeSet<ResourceLocator>,
}
