//! The part of a client's `Node` that goes upstream, with what headers are filled with, and the dynamic parameter that stands
//! for both.
//!
//! Owns the reserved key, and which parameters a client has for which names. Never reads a node: the part comes encoded,
//! with its digest.

use std::fmt;
use std::sync::Arc;

use crate::{DynamicParameters, authority};

/// The key of the dynamic parameter whose value is the digest of a [`ClientNode`]. Reserved: neither locators nor
/// rules may use it.
pub const NODE_KEY: &str = "weir.node";

/// The part of a client's `Node` that is forwarded to a control plane, and the values that headers are filled with beside it.
/// Cheap to clone.
#[derive(Clone)]
pub struct ClientNode {
    digest: Arc<str>,
    encoded: Arc<[u8]>,
    header_values: DynamicParameters,
}

impl ClientNode {
    /// The part with this encoding, and the digest of that.
    pub fn new(digest: impl Into<Arc<str>>, encoded: Arc<[u8]>) -> Self {
        Self { digest: digest.into(), encoded, header_values: DynamicParameters::empty() }
    }

    /// As this, with values for headers, of which the digest is, too.
    pub fn with_header_values(self, header_values: DynamicParameters) -> Self {
        Self { header_values, ..self }
    }

    /// The digest. It is equal in every process, and no client can aim for that of another.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    pub(crate) fn shared_digest(&self) -> Arc<str> {
        Arc::clone(&self.digest)
    }

    /// The part, as an encoded `Node`.
    pub fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// The values that headers are filled with, by placeholder.
    pub fn header_values(&self) -> &DynamicParameters {
        &self.header_values
    }
}

impl fmt::Debug for ClientNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientNode({}, {} bytes)", self.digest, self.encoded.len())
    }
}

/// The dynamic parameters that were derived for a client. Cheap to clone.
///
/// Names of an authority whose control plane is sent a part of the client's node have [`NODE_KEY`] beside the others, so
/// that the node makes no difference to other control planes.
#[derive(Clone, Debug, Default)]
pub struct ClientParameters {
    common: DynamicParameters,
    /// None where no node is forwarded.
    with_nodes: Option<Arc<[OfAuthority]>>,
}

/// The parameters for names of an authority.
type OfAuthority = (Box<str>, DynamicParameters);

impl ClientParameters {
    /// The parameters `common`, and the nodes that are forwarded by authority.
    pub fn new(common: DynamicParameters, nodes: impl IntoIterator<Item = (Box<str>, ClientNode)>) -> Self {
        let with_nodes: Vec<_> =
            nodes.into_iter().map(|(authority, node)| (authority, common.with_node(&node))).collect();
        Self { common, with_nodes: (!with_nodes.is_empty()).then(|| with_nodes.into()) }
    }

    /// The parameters without a node.
    pub fn common(&self) -> &DynamicParameters {
        &self.common
    }

    /// The parameters for `name`.
    pub fn of(&self, name: &str) -> &DynamicParameters {
        self.with_node_of(name).unwrap_or(&self.common)
    }

    /// The node that is forwarded for `name`.
    pub fn node_of(&self, name: &str) -> Option<&ClientNode> {
        self.with_node_of(name).and_then(DynamicParameters::node)
    }

    /// The parameters for names of `authority`.
    pub fn for_authority(&self, authority: &str) -> &DynamicParameters {
        self.with_node_for(authority).unwrap_or(&self.common)
    }

    fn with_node_of(&self, name: &str) -> Option<&DynamicParameters> {
        self.with_node_for(authority(name))
    }

    fn with_node_for(&self, authority: &str) -> Option<&DynamicParameters> {
        let with_nodes = self.with_nodes.as_ref()?;
        with_nodes.iter().find(|(of, _)| **of == *authority).map(|(_, parameters)| parameters)
    }

    /// Each authority whose control plane is sent a part of the client's node, with that part.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &ClientNode)> {
        let with_nodes = self.with_nodes.iter().flat_map(|with_nodes| with_nodes.iter());
        with_nodes.filter_map(|(authority, parameters)| Some((&**authority, parameters.node()?)))
    }
}

impl From<DynamicParameters> for ClientParameters {
    fn from(common: DynamicParameters) -> Self {
        Self { common, with_nodes: None }
    }
}

/// The parameters without a node.
impl fmt::Display for ClientParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.common.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(digest: &str) -> ClientNode {
        ClientNode::new(digest, Arc::from(*b"encoded"))
    }

    #[test]
    fn p19_only_names_of_an_authority_that_forwards_have_the_node() {
        let common: DynamicParameters = [("env", "prod")].into_iter().collect();
        let of_shop = [("shop.example".into(), node("d"))];
        let parameters = ClientParameters::new(common.clone(), of_shop);
        let name = "xdstp://shop.example/envoy.config.cluster.v3.Cluster/a";
        assert_eq!(parameters.of(name).to_string(), "{env=prod, weir.node=d}");
        assert_eq!(parameters.node_of(name).map(ClientNode::encoded), Some(&b"encoded"[..]));
        assert_eq!((parameters.of("a"), parameters.node_of("a").is_none()), (&common, true));
        assert!(ClientParameters::from(common.clone()).of(name) == &common);
    }

    #[test]
    fn p19_a_node_stays_with_its_digest() {
        let key: &[Arc<str>] = &[NODE_KEY.into()];
        let set = DynamicParameters::empty().with_node(&node("d"));
        assert!(set.projected(key).node().is_some() && set.projected(&[]).node().is_none());
        let filled = set.with_defaults(&[("a", "b")].into_iter().collect());
        assert_eq!((filled.to_string().as_str(), filled.node().is_some()), ("{a=b, weir.node=d}", true));
        let claimed: DynamicParameters = [(NODE_KEY, "e")].into_iter().collect();
        assert!(claimed.with_defaults(&set).node().is_none(), "another digest has no node");
    }
}
