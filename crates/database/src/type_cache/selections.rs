//! All selections of a type.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use slab::Slab;

use crate::selection::Selection;

/// The selections of a type, by their places. A copy shares each of them until it changes.
#[derive(Default)]
pub(crate) struct Selections(Slab<Arc<Selection>>);

impl Selections {
    /// Takes over selections of another table, at their places there.
    pub(super) fn of(shared: impl IntoIterator<Item = (usize, Arc<Selection>)>) -> Self {
        Self(shared.into_iter().collect())
    }

    /// The selection at `place`, to be taken over by a copy.
    pub(super) fn share(&self, place: usize) -> Arc<Selection> {
        Arc::clone(&self.0[place])
    }

    pub(super) fn insert(&mut self, selection: Selection) -> usize {
        self.0.insert(Arc::new(selection))
    }

    /// Makes room for `count` more. Whether there was none.
    pub(super) fn make_room(&mut self, count: usize) -> bool {
        let grows = self.0.capacity() - self.0.len() < count;
        if grows {
            self.0.reserve(count);
        }
        grows
    }

    pub(super) fn remove(&mut self, place: usize) -> Arc<Selection> {
        self.0.remove(place)
    }

    pub(super) fn get(&self, place: usize) -> Option<&Selection> {
        self.0.get(place).map(|selection| &**selection)
    }

    pub(super) fn contains(&self, place: usize) -> bool {
        self.0.contains(place)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Selection)> {
        self.0.iter().map(|(place, selection)| (place, &**selection))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// How many places there are, taken or free.
    pub(super) fn places(&self) -> usize {
        self.0.capacity()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Index<usize> for Selections {
    type Output = Selection;

    fn index(&self, place: usize) -> &Selection {
        &self.0[place]
    }
}

impl IndexMut<usize> for Selections {
    fn index_mut(&mut self, place: usize) -> &mut Selection {
        Arc::make_mut(&mut self.0[place])
    }
}
