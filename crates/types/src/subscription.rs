//! A set of selectors with an identity that is cheap to compare and cheap to step.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::{AddAssign, SubAssign};
use std::sync::LazyLock;

use crate::xdstp::collections_of;
use crate::{Form, Name, Selector};

static KEYED: LazyLock<[RandomState; 2]> = LazyLock::new(|| [RandomState::new(), RandomState::new()]);

/// Identifies a set of selectors, whatever their order: the sum of their keyed 128-bit hashes. Two equal
/// fingerprints are taken for equal sets; the keys are drawn per process, so that no client can aim for a
/// collision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// The fingerprint of the set with this single member.
    pub fn of(selector: &Selector) -> Self {
        let [high, low] = &*KEYED;
        Self((u128::from(high.hash_one(selector)) << 64) | u128::from(low.hash_one(selector)))
    }
}

impl AddAssign for Fingerprint {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

impl SubAssign for Fingerprint {
    fn sub_assign(&mut self, other: Self) {
        self.0 = self.0.wrapping_sub(other.0);
    }
}

/// Everything that one logical stream is subscribed to.
#[derive(Clone, Debug, Default)]
pub struct Subscription {
    selectors: HashSet<Selector>,
    fingerprint: Fingerprint,
    /// The names of collections, and how many selectors there are of each.
    collections: HashMap<Name, usize>,
    /// The names that are subscribed to by locator, and how many locators there are of each.
    located: HashMap<Name, usize>,
}

impl Subscription {
    /// Whether nothing is subscribed.
    pub fn is_empty(&self) -> bool {
        self.selectors.is_empty()
    }

    /// How many selectors there are.
    pub fn len(&self) -> usize {
        self.selectors.len()
    }

    /// How many of the selectors are of collections.
    pub fn collections(&self) -> usize {
        self.collections.values().sum()
    }

    /// Whether there is a collection that the resource `name` may be part of, in whatever form and with whatever
    /// parameters.
    pub fn may_collect(&self, name: &Name) -> bool {
        !self.collections.is_empty() && collections_of(name).any(|name| self.collections.contains_key(&name))
    }

    /// How many locators there are of `name`.
    pub fn locators_of(&self, name: &Name) -> usize {
        self.located.get(name).copied().unwrap_or_default()
    }

    /// Whether `selector` is subscribed.
    pub fn contains(&self, selector: &Selector) -> bool {
        self.selectors.contains(selector)
    }

    /// The selectors, in no order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Selector> {
        self.selectors.iter()
    }

    /// The identity of the set.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The identity of the set that [`Self::patched`] would give, without building it. `add` and `remove`
    /// hold no duplicates.
    pub fn patched_fingerprint(&self, add: &[Selector], remove: &[Selector]) -> Fingerprint {
        let mut fingerprint = self.fingerprint;
        for selector in remove.iter().filter(|s| self.contains(s)) {
            fingerprint -= Fingerprint::of(selector);
        }
        let again: Vec<_> = add.iter().filter(|s| self.contains(s)).collect();
        let removed: HashSet<_> = if again.is_empty() { HashSet::new() } else { remove.iter().collect() };
        let stays = |selector: &Selector| self.contains(selector) && !removed.contains(selector);
        for selector in add.iter().filter(|selector| !stays(selector)) {
            fingerprint += Fingerprint::of(selector);
        }
        fingerprint
    }

    fn counted(selectors: HashSet<Selector>, fingerprint: Fingerprint) -> Self {
        let collections = count(selectors.iter().filter(|selector| selector.locator.is_collection()));
        let located = count(selectors.iter().filter(|selector| selector.form == Form::Located));
        Self { selectors, fingerprint, collections, located }
    }

    /// This set without `remove`, then with `add`.
    pub fn patched(&self, add: &[Selector], remove: &[Selector]) -> Self {
        let mut selectors = self.selectors.clone();
        for selector in remove {
            selectors.remove(selector);
        }
        selectors.extend(add.iter().cloned());
        Self::counted(selectors, self.patched_fingerprint(add, remove))
    }
}

impl FromIterator<Selector> for Subscription {
    fn from_iter<I: IntoIterator<Item = Selector>>(selectors: I) -> Self {
        let selectors: HashSet<_> = selectors.into_iter().collect();
        let mut fingerprint = Fingerprint::default();
        for selector in &selectors {
            fingerprint += Fingerprint::of(selector);
        }
        Self::counted(selectors, fingerprint)
    }
}

/// How many there are of each name.
fn count<'a>(selectors: impl Iterator<Item = &'a Selector>) -> HashMap<Name, usize> {
    let mut counts = HashMap::new();
    for selector in selectors {
        *counts.entry(selector.locator.name.clone()).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DynamicParameters;

    fn set(names: &[&str]) -> Subscription {
        names.iter().map(|name| Selector::plain(*name, DynamicParameters::empty())).collect()
    }

    #[test]
    fn the_neighbour_is_known_before_it_is_built() {
        let (base, wanted) = (set(&["a", "b"]), set(&["b", "c"]));
        let add: Vec<_> = set(&["c", "b"]).iter().cloned().collect();
        let remove: Vec<_> = set(&["a", "x"]).iter().cloned().collect();
        assert_eq!(base.patched_fingerprint(&add, &remove), wanted.fingerprint());
        let patched = base.patched(&add, &remove);
        assert_eq!((patched.fingerprint(), patched.len()), (wanted.fingerprint(), 2));
        assert_ne!(wanted.fingerprint(), set(&["a", "c"]).fingerprint());
        assert_eq!(wanted.collections(), 0);
        let collections: Vec<_> = set(&["*", "xdstp://x/T/*"]).iter().cloned().collect();
        assert_eq!(wanted.patched(&collections, &[]).collections(), 2);
    }
}
