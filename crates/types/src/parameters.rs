//! Dynamic parameters: what a client states about itself when it subscribes (xRFC TP2).

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, LazyLock};

use crate::client_node::{ClientNode, NODE_KEY};

static KEYED: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A set of key/value pairs, sorted by key. Cheap to clone, hash and compare.
#[derive(Clone)]
pub struct DynamicParameters(Arc<Inner>);

struct Inner {
    /// Keyed per process, so that a client cannot aim for collisions.
    hash: u64,
    pairs: Box<[(Arc<str>, Arc<str>)]>,
    /// What the value of [`NODE_KEY`] is the digest of, so that equal pairs have equal nodes.
    node: Option<ClientNode>,
}

impl DynamicParameters {
    /// The set without parameters.
    pub fn empty() -> Self {
        static EMPTY: LazyLock<DynamicParameters> =
            LazyLock::new(|| DynamicParameters::from_pairs(BTreeMap::new(), None));
        EMPTY.clone()
    }

    fn from_pairs(pairs: BTreeMap<Arc<str>, Arc<str>>, node: Option<&ClientNode>) -> Self {
        let node = node.filter(|node| pairs.get(NODE_KEY).is_some_and(|digest| **digest == *node.digest()));
        let (node, pairs): (_, Box<[_]>) = (node.cloned(), pairs.into_iter().collect());
        Self(Arc::new(Inner { hash: KEYED.hash_one(&pairs), pairs, node }))
    }

    /// These parameters, with the digest of `node` under [`NODE_KEY`].
    pub fn with_node(&self, node: &ClientNode) -> Self {
        let own = self.0.pairs.iter().cloned();
        let pairs = own.chain([(Arc::from(NODE_KEY), node.shared_digest())]).collect();
        Self::from_pairs(pairs, Some(node))
    }

    /// The part of the client's node that goes upstream.
    pub fn node(&self) -> Option<&ClientNode> {
        self.0.node.as_ref()
    }

    /// The value of `key`, if the client sent it.
    pub fn get(&self, key: &str) -> Option<&str> {
        let pairs = &self.0.pairs;
        pairs.binary_search_by(|(known, _)| (**known).cmp(key)).ok().map(|i| &*pairs[i].1)
    }

    /// The pairs, by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.pairs.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The pairs by themselves, for those who show or send them.
    pub fn to_pairs<T: FromIterator<(String, String)>>(&self) -> T {
        self.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// Whether there is no parameter.
    pub fn is_empty(&self) -> bool {
        self.0.pairs.is_empty()
    }

    /// These parameters, and those of `defaults` whose keys are missing here.
    pub fn with_defaults(&self, defaults: &Self) -> Self {
        if defaults.iter().all(|(key, _)| self.get(key).is_some()) {
            return self.clone();
        }
        let own = self.0.pairs.iter().cloned();
        let node = self.node().or(defaults.node());
        Self::from_pairs(defaults.0.pairs.iter().cloned().chain(own).collect(), node)
    }

    /// Only those parameters whose key is in `keys`.
    pub fn projected(&self, keys: &[Arc<str>]) -> Self {
        if self.0.pairs.iter().all(|(key, _)| keys.contains(key)) {
            return self.clone();
        }
        let pairs = self.0.pairs.iter().filter(|(key, _)| keys.contains(key)).cloned().collect();
        Self::from_pairs(pairs, self.node())
    }
}

impl<K: Into<Arc<str>>, V: Into<Arc<str>>> FromIterator<(K, V)> for DynamicParameters {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let pairs: BTreeMap<_, _> = pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        if pairs.is_empty() { Self::empty() } else { Self::from_pairs(pairs, None) }
    }
}

impl Default for DynamicParameters {
    fn default() -> Self {
        Self::empty()
    }
}

impl PartialEq for DynamicParameters {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.pairs == other.0.pairs)
    }
}

impl Eq for DynamicParameters {}

impl PartialOrd for DynamicParameters {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DynamicParameters {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.pairs.cmp(&other.0.pairs)
    }
}

impl Hash for DynamicParameters {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Debug for DynamicParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `{env=prod, version=v1}`, as the proposal writes it.
impl fmt::Display for DynamicParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, (key, value)) in self.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_arrival_does_not_matter() {
        let a: DynamicParameters = [("env", "prod"), ("app", "x")].into_iter().collect();
        let b: DynamicParameters = [("app", "x"), ("env", "prod")].into_iter().collect();
        assert_eq!(a, b);
        assert_eq!(KEYED.hash_one(&a), KEYED.hash_one(&b));
        assert_eq!(a.to_string(), "{app=x, env=prod}");
    }

    #[test]
    fn defaults_never_override() {
        let sent: DynamicParameters = [("env", "prod")].into_iter().collect();
        let defaults: DynamicParameters = [("env", "test"), ("zone", "a")].into_iter().collect();
        assert_eq!(sent.with_defaults(&defaults).to_string(), "{env=prod, zone=a}");
    }

    #[test]
    fn projection_keeps_the_named_keys() {
        let sent: DynamicParameters = [("env", "prod"), ("zone", "a")].into_iter().collect();
        assert_eq!(sent.projected(&["env".into(), "version".into()]).to_string(), "{env=prod}");
    }
}
