//! Steps that take more than one response, since clients limit the size of a message.
//!
//! All parts are encoded with the first one, so that they show one state whatever is committed and
//! asked for meanwhile, and leave in one go: nothing comes in between. What a stream holds of them is a place in
//! a list that all streams share.

use std::sync::Arc;

use bytes::Bytes;
use weir_database::RemovalDelivery;
use weir_types::Version;

/// What is left of a step: never nothing.
pub(super) struct Split {
    parts: Arc<[Bytes]>,
    /// The next one.
    next: usize,
    /// That of what the client then has.
    pub(super) version: Version,
    /// Whether the parts together contain the removals of the commit that they name.
    pub(super) removals: RemovalDelivery,
}

impl Split {
    /// All of `parts` is to come; none where that is nothing.
    pub(super) fn new(parts: Arc<[Bytes]>, version: Version, removals: RemovalDelivery) -> Option<Box<Self>> {
        (!parts.is_empty()).then(|| Box::new(Self { parts, next: 0, version, removals }))
    }

    /// The next part, and what is left then.
    pub(super) fn take_next(mut self: Box<Self>) -> (Bytes, Option<Box<Self>>) {
        let part = self.parts[self.next].clone();
        self.next += 1;
        (part, (self.next < self.parts.len()).then_some(self))
    }
}
