//! The `Node` that a client introduces itself with.

use bytes::Bytes;
use prost::Message as _;
use prost_types::value::Kind;
use prost_types::{Struct, Value};
use weir_wire::discovery::{Locality, Node};

/// A node under construction.
#[derive(Clone, Debug)]
pub struct NodeBuilder {
    node: Node,
    /// How many extension descriptors follow, which Weir's own `Node` does not even have a field for.
    extensions: usize,
}

/// A node with this id, in the cluster `test`.
pub fn node(id: &str) -> NodeBuilder {
    let node = Node { id: id.to_owned(), cluster: "test".to_owned(), ..Node::default() };
    NodeBuilder { node, extensions: 0 }
}

impl NodeBuilder {
    /// Puts the node into this cluster.
    #[must_use]
    pub fn cluster(mut self, cluster: &str) -> Self {
        self.node.cluster = cluster.to_owned();
        self
    }

    /// Adds a text to the metadata; dots in `path` lead into nested structs.
    #[must_use]
    pub fn metadata(mut self, path: &str, value: &str) -> Self {
        let mut fields = &mut self.node.metadata.get_or_insert_default().fields;
        let mut keys = path.split('.').peekable();
        while let Some(key) = keys.next() {
            if keys.peek().is_none() {
                fields.insert(key.to_owned(), Value { kind: Some(Kind::StringValue(value.to_owned())) });
                break;
            }
            let inner = fields.entry(key.to_owned()).or_default();
            if !matches!(inner.kind, Some(Kind::StructValue(_))) {
                inner.kind = Some(Kind::StructValue(Struct::default()));
            }
            let Some(Kind::StructValue(inner)) = &mut inner.kind else { unreachable!("just made") };
            fields = &mut inner.fields;
        }
        self
    }

    /// Puts the node there.
    #[must_use]
    pub fn locality(mut self, region: &str, zone: &str, sub_zone: &str) -> Self {
        let [region, zone, sub_zone] = [region, zone, sub_zone].map(str::to_owned);
        self.node.locality = Some(Locality { region, zone, sub_zone });
        self
    }

    /// States what program it is.
    #[must_use]
    pub fn user_agent(mut self, name: &str) -> Self {
        self.node.user_agent_name = name.to_owned();
        self
    }

    /// Announces a client feature.
    #[must_use]
    pub fn feature(mut self, feature: &str) -> Self {
        self.node.client_features.push(feature.to_owned());
        self
    }

    /// Makes it as large as a real Envoy's, about 61 kB, by the same means: 516 extension descriptors.
    #[must_use]
    pub fn as_large_as_envoy(mut self) -> Self {
        self.node.user_agent_name = "envoy".to_owned();
        self.extensions = 516;
        self
    }

    /// The encoded node.
    pub fn encode(&self) -> Bytes {
        let mut bytes = self.node.encode_to_vec();
        for i in 0..self.extensions {
            Extensions { extensions: vec![Extension::numbered(i)] }
                .encode(&mut bytes)
                .expect("a vector grows as needed");
        }
        bytes.into()
    }
}

/// The field of `envoy.config.core.v3.Node` that makes it large.
#[derive(Clone, PartialEq, prost::Message)]
struct Extensions {
    #[prost(message, repeated, tag = "9")]
    extensions: Vec<Extension>,
}

/// `envoy.config.core.v3.Extension`.
#[derive(Clone, PartialEq, prost::Message)]
struct Extension {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    category: String,
    #[prost(string, repeated, tag = "6")]
    type_urls: Vec<String>,
}

impl Extension {
    fn numbered(i: usize) -> Self {
        Self {
            name: format!("envoy.filters.network.extension_{i:04}"),
            category: "envoy.filters.network".to_owned(),
            type_urls: vec![format!("envoy.extensions.filters.network.x{i:04}.v3.Filter")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_node_is_as_large_as_observed() {
        let bytes = node("n").metadata("deploy.env", "prod").as_large_as_envoy().encode();
        assert!((58_000..66_000).contains(&bytes.len()), "{} bytes", bytes.len());
        let decoded = Node::decode(bytes).unwrap();
        assert_eq!(decoded.id, "n");
        let deploy = &decoded.metadata.unwrap().fields["deploy"];
        assert!(matches!(&deploy.kind, Some(Kind::StructValue(inner)) if inner.fields.contains_key("env")));
    }
}
