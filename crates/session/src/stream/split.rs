//! Steps that take more than one response, since clients limit the size of a message.
//!
//! All parts are encoded with the first one, so that they show one state whatever is committed and
//! asked for meanwhile, and leave in one go: nothing comes in between. What a stream holds of them is a place in
//! a list that all streams share.

use std::sync::Arc;

use bytes::Bytes;
use weir_types::{TypeUrl, Version};

use super::{OutgoingResponse, ServerStream};

/// What is left of a step.
pub(super) struct Split {
    pub(super) type_url: TypeUrl,
    pub(super) version: Version,
    pub(super) parts: Arc<[Bytes]>,
    /// The next one.
    pub(super) next: usize,
    /// Whether the parts together contain everything of the commit that they name.
    pub(super) whole: bool,
}

impl ServerStream {
    pub(super) fn next_part(&mut self) -> Option<OutgoingResponse> {
        let split = self.split.as_mut()?;
        let index =
            self.types.iter().position(|type_subscription| type_subscription.type_url == split.type_url)?;
        let type_subscription = &mut self.types[index];
        let frame = split.parts.get(split.next)?.clone();
        let nonce = type_subscription.responses.nonce()?.following();
        split.next += 1;
        let last = split.next == split.parts.len();
        let version = split.version;
        type_subscription.sent(nonce, version, last && split.whole);
        type_subscription.unfinished = !last;
        if last {
            self.split = None;
        }
        Some(OutgoingResponse { index, nonce, version, frame, refreshes: false, uncacheable: false })
    }
}
