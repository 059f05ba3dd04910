//! What a logical stream is subscribed to, with an identity that is cheap to compare and cheap to step.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::{AddAssign, SubAssign};
use std::sync::{Arc, LazyLock};

use crate::xdstp::collections_of;
use crate::{Form, Name, Selector};

static KEYED: LazyLock<[RandomState; 2]> = LazyLock::new(|| [RandomState::new(), RandomState::new()]);

/// Why a client does not get what it is subscribed to, whatever there is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalReason {
    /// The client may not have it.
    Denied,
    /// A limit is reached: which one, in words. That may pass.
    OverLimit(Arc<str>),
}

/// What is refused of a subscription, and why.
pub type Refusals = BTreeMap<Selector, RefusalReason>;

/// Nothing is refused.
static NO_REFUSALS: Refusals = BTreeMap::new();

/// A change of a subscription.
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionChange<'a> {
    /// What is subscribed to, or is no longer refused for what it was refused for. Without duplicates.
    pub add: &'a [Selector],
    /// What is not subscribed to any more. Without duplicates.
    pub remove: &'a [Selector],
    /// What of `add` is refused.
    pub refused: &'a Refusals,
}

impl<'a> SubscriptionChange<'a> {
    /// Subscribes to `add`; nothing is refused.
    pub fn adding(add: &'a [Selector]) -> Self {
        Self::new(add, &[])
    }

    /// Subscribes to `add` and no longer to `remove`; nothing is refused.
    pub fn new(add: &'a [Selector], remove: &'a [Selector]) -> Self {
        Self { add, remove, refused: &NO_REFUSALS }
    }
}

/// Identifies a set of selectors, and what of it is refused, whatever their order: the sum of their keyed 128-bit
/// hashes. Two equal fingerprints are taken for equal sets; the keys are drawn per process, so that no client can aim for
/// a collision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// The fingerprint of the set with this single member.
    pub fn of(selector: &Selector) -> Self {
        Self::hashing(selector)
    }

    fn of_member(selector: &Selector, refusal: Option<&RefusalReason>) -> Self {
        refusal.map_or_else(|| Self::of(selector), |reason| Self::hashing(&(selector, reason)))
    }

    fn hashing(member: &impl Hash) -> Self {
        let [high, low] = &*KEYED;
        Self((u128::from(high.hash_one(member)) << 64) | u128::from(low.hash_one(member)))
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
    /// What the stream is sent an error for instead.
    refused: Refusals,
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

    /// What is refused, and why.
    pub fn refused(&self) -> &Refusals {
        &self.refused
    }

    /// Why `selector` is refused, if it is subscribed and refused.
    pub fn refusal(&self, selector: &Selector) -> Option<&RefusalReason> {
        self.refused.get(selector)
    }

    /// The identity of the set that [`Self::patched`] would give, without building it.
    pub fn patched_fingerprint(&self, change: SubscriptionChange<'_>) -> Fingerprint {
        let SubscriptionChange { add, remove, refused } = change;
        let mut fingerprint = self.fingerprint;
        let own = |selector: &Selector| Fingerprint::of_member(selector, self.refusal(selector));
        for selector in remove.iter().filter(|s| self.contains(s)) {
            fingerprint -= own(selector);
        }
        let has_again = add.iter().any(|s| self.contains(s));
        let removed: HashSet<_> = if has_again { remove.iter().collect() } else { HashSet::new() };
        for selector in add {
            if self.contains(selector) && !removed.contains(selector) {
                fingerprint -= own(selector);
            }
            fingerprint += Fingerprint::of_member(selector, refused.get(selector));
        }
        fingerprint
    }

    /// This subscription without what `change` removes, then with what it adds.
    pub fn patched(&self, change: SubscriptionChange<'_>) -> Self {
        let SubscriptionChange { add, remove, refused } = change;
        let mut selectors = self.selectors.clone();
        for selector in remove {
            selectors.remove(selector);
        }
        selectors.extend(add.iter().cloned());
        let mut all_refused = self.refused.clone();
        for selector in remove.iter().chain(add) {
            all_refused.remove(selector);
        }
        let newly = |selector: &Selector| Some((selector.clone(), refused.get(selector)?.clone()));
        all_refused.extend(add.iter().filter_map(newly));
        Self::counted(selectors, all_refused, self.patched_fingerprint(change))
    }

    fn counted(selectors: HashSet<Selector>, refused: Refusals, fingerprint: Fingerprint) -> Self {
        let collections = count(selectors.iter().filter(|selector| selector.locator.is_collection()));
        let located = count(selectors.iter().filter(|selector| selector.form == Form::Located));
        Self { selectors, refused, fingerprint, collections, located }
    }
}

impl FromIterator<Selector> for Subscription {
    fn from_iter<I: IntoIterator<Item = Selector>>(selectors: I) -> Self {
        let selectors: HashSet<_> = selectors.into_iter().collect();
        let mut fingerprint = Fingerprint::default();
        for selector in &selectors {
            fingerprint += Fingerprint::of(selector);
        }
        Self::counted(selectors, Refusals::new(), fingerprint)
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
        let change = SubscriptionChange::new(&add, &remove);
        assert_eq!(base.patched_fingerprint(change), wanted.fingerprint());
        let patched = base.patched(change);
        assert_eq!((patched.fingerprint(), patched.len()), (wanted.fingerprint(), 2));
        assert_ne!(wanted.fingerprint(), set(&["a", "c"]).fingerprint());
        assert_eq!(wanted.collections(), 0);
        let collections: Vec<_> = set(&["*", "xdstp://x/T/*"]).iter().cloned().collect();
        assert_eq!(wanted.patched(SubscriptionChange::adding(&collections)).collections(), 2);
    }

    #[test]
    fn what_is_refused_is_part_of_the_identity() {
        let (base, names) = (set(&["a", "b"]), set(&["b", "c"]));
        let add: Vec<_> = names.iter().cloned().collect();
        let of = |name: &str| Selector::plain(name, DynamicParameters::empty());
        let reasons = [RefusalReason::Denied, RefusalReason::OverLimit("one".into())];
        let patched = |from: &Subscription, reason: Option<&RefusalReason>| {
            let refused = reason.map(|reason| (of("c"), reason.clone())).into_iter().collect();
            let change = SubscriptionChange { refused: &refused, ..SubscriptionChange::adding(&add) };
            let patched = from.patched(change);
            assert_eq!(patched.fingerprint(), from.patched_fingerprint(change));
            assert_eq!((patched.refusal(&of("c")), patched.refused().len()), (reason, refused.len()));
            patched
        };
        let [accepted, denied, over] =
            [None, Some(&reasons[0]), Some(&reasons[1])].map(|r| patched(&base, r));
        assert_ne!(accepted.fingerprint(), denied.fingerprint());
        assert_ne!(denied.fingerprint(), over.fingerprint());
        for from in [&accepted, &denied, &over] {
            for (reason, same) in
                [(None, &accepted), (Some(&reasons[0]), &denied), (Some(&reasons[1]), &over)]
            {
                assert_eq!(patched(from, reason).fingerprint(), same.fingerprint(), "{reason:?}");
            }
            let without = from.patched(SubscriptionChange::new(&[], &[of("c")]));
            assert_eq!((without.fingerprint(), without.refused().len()), (base.fingerprint(), 0));
        }
    }
}
