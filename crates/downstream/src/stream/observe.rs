//! A stream, looked at.

use std::sync::Arc;

use weir_types::TypeUrl;

use super::{Open, Stream};
use crate::clients::{Condition, DeliveryStatus, Observed, Snapshot, TypeStatus};
use crate::node::Client;

impl Open {
    /// Whether there may be a response, or the end.
    pub(super) fn is_due(&self) -> bool {
        self.session.may_transmit() || self.session.close_reason().is_some()
    }

    /// What is remembered of a type, from its first request on.
    pub(super) fn delivery(&mut self, type_url: &TypeUrl) -> Option<&mut DeliveryStatus> {
        let type_subscription = self.session.types();
        let at = type_subscription
            .iter()
            .position(|type_subscription| type_subscription.type_url() == type_url)?;
        if self.deliveries.len() < type_subscription.len() {
            // There are few types, so no room is kept for more of them.
            self.deliveries.reserve_exact(1);
            self.deliveries.insert(at, DeliveryStatus::default());
        }
        self.deliveries.get_mut(at)
    }
}

impl Observed for Stream {
    fn observe(&self) -> Option<Snapshot> {
        let state = self.state.lock();
        let open = state.open.as_ref()?;
        let types = open.session.types().iter().zip(&open.deliveries);
        Some(Snapshot {
            id: self.entry.id(),
            client: Arc::clone(&open.client),
            peer: self.peer.address,
            service: self.service.short_name(),
            transport: self.service.version.as_str(),
            dialect: self.dialect.as_str(),
            since: self.since.into(),
            types: types
                .map(|(type_subscription, delivery)| TypeStatus::of(type_subscription, delivery))
                .collect(),
        })
    }

    fn client(&self) -> Option<(Arc<Client>, &'static str)> {
        let state = self.state.lock();
        let open = state.open.as_ref()?;
        Some((Arc::clone(&open.client), self.dialect.as_str()))
    }

    fn stand(&self) -> Option<Vec<(u64, Condition)>> {
        let state = self.state.lock();
        let type_subscription = state.open.as_ref()?.session.types().iter();
        Some(
            type_subscription
                .map(|type_subscription| {
                    (type_subscription.view().attachment().view(), Condition::of(type_subscription))
                })
                .collect(),
        )
    }
}
