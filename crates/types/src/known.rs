//! What a reconnecting client states that it holds.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use crate::{Form, Name, Variant, Version};

static KEYED: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The resources of one type that a client holds from an earlier stream (`initial_resource_versions`).
#[derive(Clone, Debug, Default)]
pub struct KnownVersions {
    versions: HashMap<Name, Option<Version>>,
    /// Names that the client states in the version of [`Variant::missing`]: it holds the answer, and no resource.
    missing: HashSet<Name>,
    fingerprint: u64,
}

impl KnownVersions {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.versions.len() + self.missing.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the client states to hold `name`, in whatever version.
    pub fn contains(&self, name: &Name) -> bool {
        self.versions.contains_key(name)
    }

    /// Whether the client states to hold `name` in just this version.
    pub fn is_current(&self, name: &Name, version: Version) -> bool {
        self.versions.get(name) == Some(&Some(version))
    }

    /// Whether the client states that it received the answer that `name` does not exist.
    pub fn is_missing(&self, name: &Name) -> bool {
        self.missing.contains(name)
    }

    /// The same names, but in versions that are not known where `is` is true of them.
    #[must_use]
    pub fn doubting(&self, is: impl Fn(&Name) -> bool) -> Self {
        let mut doubting = Self::default();
        for (name, version) in &self.versions {
            doubting.insert(name.clone(), version.filter(|_| !is(name)));
        }
        self.missing.iter().filter(|name| !is(name)).for_each(|name| doubting.insert_missing(name.clone()));
        doubting
    }

    /// The names that are held, in no order.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.versions.keys()
    }

    /// The names that are stated: those that are held, and those that the client knows to be missing.
    pub fn stated(&self) -> impl Iterator<Item = &Name> {
        self.versions.keys().chain(&self.missing)
    }

    /// The same statement about those names only for which `keep` is true.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(&Name) -> bool) -> Self {
        let mut kept = Self::default();
        for (name, version) in self.versions.iter().filter(|(name, _)| keep(name)) {
            kept.insert(name.clone(), *version);
        }
        self.missing.iter().filter(|name| keep(name)).for_each(|name| kept.insert_missing(name.clone()));
        kept
    }

    fn insert_missing(&mut self, name: Name) {
        let entry = KEYED.hash_one(("missing", &name));
        if self.missing.insert(name) {
            self.fingerprint = self.fingerprint.wrapping_add(entry);
        }
    }

    /// Of a name that is stated twice, the last version counts.
    fn insert(&mut self, name: Name, version: Option<Version>) {
        let entry = |name: &Name, version| KEYED.hash_one((name, version));
        self.fingerprint = self.fingerprint.wrapping_add(entry(&name, version));
        match self.versions.entry(name) {
            Entry::Vacant(vacant) => _ = vacant.insert(version),
            Entry::Occupied(mut occupied) => {
                let before = occupied.insert(version);
                self.fingerprint = self.fingerprint.wrapping_sub(entry(occupied.key(), before));
            }
        }
    }

    /// Equal for equal statements within a process, whatever the order.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

/// Versions that Weir could not have given are kept as unknown ones: different from all.
impl<N: Into<Name>, V: AsRef<str>> FromIterator<(N, V)> for KnownVersions {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(stated: I) -> Self {
        let mut known = Self::default();
        for (name, version) in stated {
            let (name, version) = (name.into(), Version::parse(version.as_ref()));
            match version.is_some_and(|version| version == Variant::missing(&name).version(Form::Plain)) {
                true => known.insert_missing(name),
                false => known.insert(name, version),
            }
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_versions_are_never_current() {
        let known: KnownVersions = [("a", Version(7).to_string()), ("b", "7".into())].into_iter().collect();
        let [a, b, c] = ["a", "b", "c"].map(Name::from);
        assert!(known.is_current(&a, Version(7)) && !known.is_current(&a, Version(8)));
        assert!(known.contains(&b) && !known.is_current(&b, Version(7)));
        assert!(!known.contains(&c));
        let doubted = known.doubting(|name| *name == a);
        assert!(doubted.contains(&a) && !doubted.is_current(&a, Version(7)));
        assert_eq!(known.doubting(|_| false).fingerprint(), known.fingerprint());
    }

    #[test]
    fn i14_the_answer_that_a_name_is_missing_is_no_resource() {
        let version = |name: &str| Variant::missing(&name.into()).version(Form::Plain).to_string();
        let known: KnownVersions = [("a", version("a")), ("b", version("a"))].into_iter().collect();
        let [a, b] = ["a", "b"].map(Name::from);
        assert!(known.is_missing(&a) && !known.contains(&a));
        assert!(!known.is_missing(&b) && known.contains(&b));
        assert_eq!((known.len(), known.names().count(), known.stated().count()), (2, 1, 2));
        assert!(known.filtered(|_| true).is_missing(&a) && !known.filtered(|name| *name == b).is_missing(&a));
        assert_eq!(known.doubting(|name| *name == a).stated().count(), 1);
        assert_ne!(known.doubting(|_| true).fingerprint(), known.fingerprint());
    }

    #[test]
    fn a_part_of_a_statement_is_like_one_of_its_own() {
        let ab: KnownVersions = [("a", "1"), ("b", "2")].into_iter().collect();
        let a: KnownVersions = [("a", "1")].into_iter().collect();
        let [name, other] = ["a", "b"].map(Name::from);
        let kept = ab.filtered(|held| *held == name);
        assert!(kept.contains(&name) && !kept.contains(&other));
        assert_eq!(kept.fingerprint(), a.fingerprint());
    }

    #[test]
    fn equal_statements_have_equal_fingerprints() {
        let ab: KnownVersions = [("a", "1"), ("b", "2")].into_iter().collect();
        let ba: KnownVersions = [("b", "2"), ("a", "1")].into_iter().collect();
        let other: KnownVersions = [("b", "2"), ("a", &*Version(1).to_string())].into_iter().collect();
        assert_eq!(ab.fingerprint(), ba.fingerprint());
        assert_ne!(ab.fingerprint(), other.fingerprint());
        let twice: KnownVersions =
            [("b", &*Version(1).to_string()), ("a", "1"), ("b", "2")].into_iter().collect();
        assert_eq!((twice.len(), twice.fingerprint()), (2, ab.fingerprint()));
    }
}
