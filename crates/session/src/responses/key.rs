//! What two streams must have in common to be sent the same bytes.

use std::collections::BTreeSet;

use weir_database::{Refresh, RemovalDelivery, Shape};
use weir_types::{Cursor, Dialect, Fingerprint, Selector};

use crate::stream::{Nonce, Step};
use crate::wrapping::Wrapping;

/// Identifies a response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResponseKey {
    view: u64,
    dialect: Dialect,
    pub(super) wrapping: Wrapping,
    pub(super) refresh: Refresh,
    pub(super) sends_unavailable: bool,
    after: Cursor,
    nonce: Nonce,
    shape: Shape,
    removals: RemovalDelivery,
    forced: bool,
    resend: Fingerprint,
    pending_errors: Fingerprint,
    known: u64,
    pub(super) limit: usize,
    /// Whether it names the trace that it belongs to, which is that of what is in it.
    noted: bool,
    /// Where it has times to live in it: when it was made.
    pub(super) second: Option<u64>,
}

impl ResponseKey {
    /// That of a step, for a client that takes at most `limit` bytes.
    pub(super) fn new(
        step: &Step<'_>,
        wrapping: Wrapping,
        refresh: Refresh,
        limit: usize,
        noted: bool,
    ) -> Self {
        let view = step.type_subscription.view();
        Self {
            view: view.attachment().view(),
            dialect: step.dialect,
            wrapping: match step.dialect {
                Dialect::Sotw => wrapping,
                Dialect::Delta => Wrapping::default(),
            },
            refresh,
            sends_unavailable: view.errors.unavailable,
            after: step.after,
            nonce: step.nonce(view.head().newest()),
            shape: step.shape,
            removals: step.removals,
            forced: step.forced,
            resend: fingerprint(step.resend()),
            pending_errors: fingerprint(step.pending_errors()),
            known: step.known().map_or(0, |known| known.fingerprint()),
            limit,
            noted,
            second: None,
        }
    }
}

/// What identifies a set of selectors.
fn fingerprint(selectors: &BTreeSet<Selector>) -> Fingerprint {
    let mut fingerprint = Fingerprint::default();
    selectors.iter().for_each(|selector| fingerprint += Fingerprint::of(selector));
    fingerprint
}
