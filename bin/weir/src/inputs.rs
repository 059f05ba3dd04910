//! Arguments that several subcommands take.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use prost::Message;
use prost_types::value::Kind;
use prost_types::{Any, Struct, Value};
use weir_types::xdstp::{MalformedName, canonical};
use weir_types::{DynamicParameters, Name};
use weir_wire::discovery::Node;
use weir_wire::json;

/// How a node is written as an Any.
const NODE_TYPE_URL: &str = "type.googleapis.com/envoy.config.core.v3.Node";

/// `KEY=VALUE`.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                Ok(Self { key: key.to_owned(), value: value.to_owned() })
            }
            _ => Err("write it like key=value".to_owned()),
        }
    }
}

/// The dynamic parameters that are given as pairs.
pub(crate) fn parameters(pairs: &[Pair]) -> DynamicParameters {
    pairs.iter().map(|pair| (pair.key.as_str(), pair.value.as_str())).collect()
}

/// The name of a resource or a collection, in its canonical spelling.
pub(crate) fn resource_name(text: &str) -> Result<Name, MalformedName> {
    canonical(text).map(Name::from)
}

/// Who the client is.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NodeArgs {
    /// The node's id
    #[arg(long, value_name = "ID", help_heading = "Node")]
    pub(crate) node_id: Option<String>,
    /// The node's cluster
    #[arg(long, value_name = "CLUSTER", help_heading = "Node")]
    pub(crate) node_cluster: Option<String>,
    /// An entry of the node's metadata; may be repeated
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Node")]
    pub(crate) node_metadata: Vec<Pair>,
    /// The whole node as JSON, from a file or from standard input (-)
    #[arg(long, value_name = "FILE", help_heading = "Node")]
    pub(crate) node_json: Option<PathBuf>,
}

impl NodeArgs {
    /// Whether any argument describes the node.
    pub(crate) fn is_given(&self) -> bool {
        let Self { node_id, node_cluster, node_metadata, node_json } = self;
        node_id.is_some() || node_cluster.is_some() || !node_metadata.is_empty() || node_json.is_some()
    }

    /// The node: the JSON, overridden by the other arguments.
    pub(crate) fn node(&self) -> Result<Node> {
        let mut node = match &self.node_json {
            Some(path) => read_node(path)?,
            None => Node::default(),
        };
        if let Some(id) = &self.node_id {
            node.id.clone_from(id);
        }
        if let Some(cluster) = &self.node_cluster {
            node.cluster.clone_from(cluster);
        }
        if !self.node_metadata.is_empty() {
            let fields = &mut node.metadata.get_or_insert_with(Struct::default).fields;
            fields.extend(self.node_metadata.iter().map(|Pair { key, value }| {
                (key.clone(), Value { kind: Some(Kind::StringValue(value.clone())) })
            }));
        }
        Ok(node)
    }
}

fn read_node(path: &Path) -> Result<Node> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text).context("read a node from standard input")
    } else {
        fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
    };
    parse_node(&text?).with_context(|| format!("{}: not a node", path.display()))
}

/// A node in its JSON form.
pub(crate) fn parse_node(text: &str) -> Result<Node> {
    let mut json: serde_json::Value = serde_json::from_str(text)?;
    let object = json.as_object_mut().ok_or_else(|| anyhow!("expected a JSON object"))?;
    object.insert("@type".to_owned(), NODE_TYPE_URL.into());
    let any = Any::decode(json::any_from(json)?)?;
    Ok(Node::decode(&any.value[..])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_read_from_json_and_overridden_by_arguments() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node.json");
        fs::write(
            &path,
            r#"{ "id": "a", "metadata": { "env": "prod", "n": 1 }, "locality": { "zone": "z" } }"#,
        )
        .unwrap();
        let args = NodeArgs {
            node_id: Some("b".into()),
            node_metadata: vec!["env=test".parse().unwrap()],
            node_json: Some(path),
            ..NodeArgs::default()
        };
        let node = args.node().unwrap();
        assert_eq!((node.id.as_str(), node.locality.unwrap().zone.as_str()), ("b", "z"));
        let fields = node.metadata.unwrap().fields;
        assert_eq!(fields["env"].kind, Some(Kind::StringValue("test".into())));
        assert_eq!(fields["n"].kind, Some(Kind::NumberValue(1.0)));
    }

    #[test]
    fn what_is_no_node_is_stated() {
        for (text, wanted) in [
            ("[]", "expected a JSON object"),
            (r#"{ "name": "x" }"#, "unrecognized field name 'name'"),
            ("{", "EOF while parsing an object at line 1 column 1"),
        ] {
            assert_eq!(parse_node(text).unwrap_err().to_string(), wanted);
        }
    }
}
