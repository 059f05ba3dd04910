//! What must not be cached: whoever comes late to it has it sent again, although the server has sent it already.

use weir_types::{Breadth, ResourceLocator, TypeUrl};

use super::upstream_cache::Validity;
use super::upstream_type::UpstreamType;
use super::{Naming, ReopenReason, UpstreamSession};
use crate::Dialect;

impl UpstreamSession {
    /// Has the server send again what it has for `locator`, if that is wanted.
    ///
    /// A name is subscribed to once more; in state of the world it has to be missing from the list for that, which
    /// does not mention the resource unless a response is the full state. A collection that is named once more may go
    /// unanswered, and so may a poll: these are asked for on a new stream ([`Self::needs_new_stream`]).
    pub fn renew(&mut self, type_url: &TypeUrl, locator: &ResourceLocator) {
        let Some(upstream_type) = self.types.get_mut(type_url) else { return };
        let Some(state) = upstream_type.locator_state(locator) else { return };
        state.renew();
        upstream_type.unsettle();
        if locator.is_collection() {
            upstream_type.open_collections.insert(locator.name.clone());
        }
        let per_stream = &mut upstream_type.per_stream;
        if !per_stream.exchange.is_started() {
            return;
        }
        let listed = self.settings.dialect == Dialect::Sotw;
        if locator.is_collection() || listed && (type_url.is_full_state() || self.settings.polled) {
            per_stream.reopen(ReopenReason::Renewal);
        } else {
            per_stream.resend(locator);
        }
    }
}

impl UpstreamType {
    /// Whether anything that answers `locator` was only for those who had asked for it when it came.
    pub(super) fn is_uncacheable(&self, naming: &Naming, locator: &ResourceLocator) -> bool {
        let uncacheable = |held: &super::upstream_cache::UpstreamVariant| {
            held.validity == Validity::Uncacheable && naming.matches(&held.constraints, &locator.parameters)
        };
        match locator.breadth() {
            Breadth::Wildcard => self.cache.iter().flat_map(|(_, variants)| variants).any(uncacheable),
            Breadth::Name | Breadth::Glob => {
                self.cache.answering(&locator.name).any(|(_, held)| uncacheable(held))
            }
        }
    }
}
