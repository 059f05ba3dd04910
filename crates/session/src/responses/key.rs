//! What two streams must have in common to be sent the same bytes.

use std::collections::BTreeSet;

use crate::stream::{Nonce, Step};
use weir_database::Refresh;
use weir_types::{Cursor, Dialect, Fingerprint, Selector};

use crate::wrapping::Wrapping;

/// Identifies a response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResponseKey {
    view: u64,
    dialect: Dialect,
    pub(super) wrapping: Wrapping,
    pub(super) refresh: Refresh,
    pub(super) tells_away: bool,
    after: Cursor,
    nonce: Nonce,
    everything: bool,
    hold_removals: bool,
    forced: bool,
    owed: Fingerprint,
    unsaid: Fingerprint,
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
        let view = step.logical.view();
        Self {
            view: view.place().view(),
            dialect: step.dialect,
            wrapping: match step.dialect {
                Dialect::Sotw => wrapping,
                Dialect::Delta => Wrapping::default(),
            },
            refresh,
            tells_away: view.tells.away,
            after: step.after,
            nonce: step.nonce(view.head().newest()),
            everything: step.everything,
            hold_removals: step.hold_removals,
            forced: step.forced,
            owed: fingerprint(step.owed()),
            unsaid: fingerprint(step.unsaid()),
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
