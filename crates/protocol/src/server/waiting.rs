//! Clusters that are on their way to a client, and what waits for them.
//!
//! Owns whether anything does. Knows no time: who does says when it has been long enough.

use weir_types::Kind;

use super::{ServerStream, View};

impl<V: View, F: Clone> ServerStream<V, F> {
    /// Whether the client has not got ready the clusters that it was sent last.
    pub(super) fn clusters_are_on_their_way(&self) -> bool {
        self.aggregated
            && self.awaits_endpoints
            && self.logical.iter().any(|logical| match logical.type_url.kind() {
                Kind::Cluster => logical.is_outstanding(),
                Kind::ClusterLoadAssignment => logical.view.unsettled().0 > 0,
                _ => false,
            })
    }

    /// Whether something that there is to say waits for clusters, of which the client may never accept some, or nobody
    /// be able to say the endpoints: a number for each time that it does.
    pub fn waits(&self) -> Option<u32> {
        (self.clusters_are_on_their_way() && self.is_due()).then_some(self.waits)
    }

    /// What waits for clusters does so no longer. It does for those that are sent from now on.
    pub fn go_on(&mut self) {
        self.awaits_endpoints = false;
    }
}
