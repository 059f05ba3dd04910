//! A step of one type: what decides which bytes a stream is sent.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_database::{RemovalDelivery, Shape};
use weir_types::{Commit, Cursor, Dialect, KnownVersions, Selector};

use super::{Nonce, TypeSubscription};

/// A step that a type subscription is about to make. Two streams for which it is equal are sent equal bytes.
pub(crate) struct Step<'a> {
    /// The type subscription.
    pub(crate) type_subscription: &'a TypeSubscription,
    /// The dialect of the response.
    pub(crate) dialect: Dialect,
    /// Up to where the client has been sent changes.
    pub(crate) after: Cursor,
    /// Whether to send the whole state, or what changed.
    pub(crate) shape: Shape,
    /// Whether removals are sent, or have to wait for other types.
    pub(crate) removals: RemovalDelivery,
    /// Whether to send a response even if there is nothing in it.
    pub(crate) forced: bool,
}

impl Step<'_> {
    /// Whether to send the whole state rather than what changed.
    pub(crate) fn is_full_state(&self) -> bool {
        self.shape == Shape::Everything
    }

    /// What must be sent though it did not change.
    pub(crate) fn resend(&self) -> &BTreeSet<Selector> {
        &self.type_subscription.resend
    }

    /// What is due beside the changes, since it could not be sent earlier.
    pub(crate) fn pending_errors(&self) -> &BTreeSet<Selector> {
        &self.type_subscription.pending_errors
    }

    /// What the client holds from an earlier stream.
    pub(crate) fn known(&self) -> Option<&Arc<KnownVersions>> {
        self.type_subscription.initial_versions.get()
    }

    /// The nonce for a response that goes up to `to`.
    pub(crate) fn nonce(&self, to: Commit) -> Nonce {
        Nonce::next(self.type_subscription.responses.nonce(), to)
    }
}
