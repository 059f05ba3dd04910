//! The views of a type.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};

use slab::Slab;
use weir_types::Fingerprint;

use crate::view::{Identity, View, ViewId};

/// The views of a type, by their places, and by what is subscribed to.
#[derive(Default)]
pub(crate) struct ViewTable {
    slots: Slab<View>,
    by_identity: HashMap<Identity, ViewId>,
}

impl ViewTable {
    /// A table of one view, at its place in another table, which nobody finds.
    pub(crate) fn of_one(id: ViewId, view: View) -> Self {
        Self { slots: Slab::from_iter([(id.0, view)]), by_identity: HashMap::new() }
    }

    /// Adds a view, which nobody finds.
    pub(crate) fn insert(&mut self, view: View) -> ViewId {
        ViewId(self.slots.insert(view))
    }

    /// Has a view found by its identity. False if another one is.
    pub(crate) fn publish(&mut self, id: ViewId) -> bool {
        let identity = &self.slots[id.0].shared.identity;
        let is_free = !self.by_identity.contains_key(identity);
        if is_free {
            self.by_identity.insert(identity.clone(), id);
        }
        is_free
    }

    /// Has nobody find a view any more.
    pub(crate) fn withdraw(&mut self, id: ViewId) {
        self.by_identity.remove(&self.slots[id.0].shared.identity);
    }

    /// Removes a view that nobody finds any more.
    pub(crate) fn remove(&mut self, id: ViewId) -> View {
        self.slots.remove(id.0)
    }

    pub(crate) fn find(&self, identity: &Identity) -> Option<ViewId> {
        self.by_identity.get(identity).copied()
    }

    /// The view of a subscription; one of them, where what must not be cached came at more than one time.
    pub(crate) fn of(&self, subscription: Fingerprint) -> Option<&View> {
        let first = self.by_identity.get(&Identity::new(subscription, Vec::new()));
        let any = || self.by_identity.iter().find(|(identity, _)| identity.subscription() == subscription);
        first.or_else(|| any().map(|(_, id)| id)).map(|id| &self[*id])
    }

    pub(crate) fn get(&self, id: ViewId) -> Option<&View> {
        self.slots.get(id.0)
    }

    /// Two views.
    pub(crate) fn pair_mut(&mut self, one: ViewId, other: ViewId) -> Option<(&mut View, &mut View)> {
        self.slots.get2_mut(one.0, other.0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ViewId, &View)> {
        self.slots.iter().map(|(place, view)| (ViewId(place), view))
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether each view is found.
    pub(crate) fn is_published(&self) -> bool {
        self.by_identity.len() == self.slots.len()
    }
}

impl Index<ViewId> for ViewTable {
    type Output = View;

    fn index(&self, id: ViewId) -> &View {
        &self.slots[id.0]
    }
}

impl IndexMut<ViewId> for ViewTable {
    fn index_mut(&mut self, id: ViewId) -> &mut View {
        &mut self.slots[id.0]
    }
}
