//! The parts of a client's `Node` that are forwarded.

use prost_types::value::Kind;
use prost_types::{Struct, Value};
use weir_types::NodePart;
use weir_wire::discovery::Node;

use crate::metadata;

/// Client features with this prefix are about the transport, so Weir announces its own.
const TRANSPORT_FEATURES: &str = "xds.config.";

/// `parts` of `node`. Equal parts make equal nodes, whatever their order in the message; extensions are no part.
pub(super) fn parts_of(node: &Node, parts: &[NodePart]) -> Node {
    let mut forwarded = Node::default();
    for part in parts {
        match part {
            NodePart::Id => forwarded.id.clone_from(&node.id),
            NodePart::Cluster => forwarded.cluster.clone_from(&node.cluster),
            NodePart::Locality => forwarded.locality.clone_from(&node.locality),
            NodePart::UserAgent => {
                forwarded.user_agent_name.clone_from(&node.user_agent_name);
                forwarded.user_agent_version.clone_from(&node.user_agent_version);
                forwarded.client_features = features(&node.client_features);
            }
            NodePart::Metadata(path) => {
                let Some(metadata) = &node.metadata else { continue };
                match path.is_empty() {
                    true => forwarded.metadata = Some(metadata.clone()),
                    false => copy_entry(metadata, path, forwarded.metadata.get_or_insert_default()),
                }
            }
        }
    }
    forwarded.metadata = forwarded.metadata.filter(|metadata| !metadata.fields.is_empty());
    forwarded.locality = forwarded.locality.filter(|locality| *locality != Default::default());
    forwarded
}

/// Those of a client's features that are not about the transport, sorted.
fn features(announced: &[String]) -> Vec<String> {
    let is_own =
        |feature: &&String| !feature.starts_with(TRANSPORT_FEATURES) && *feature != weir_wire::trace::FEATURE;
    let mut features: Vec<_> = announced.iter().filter(is_own).cloned().collect();
    features.sort_unstable();
    features.dedup();
    features
}

/// Copies the entry at `path`, if there is one, with the tables that lead to it.
fn copy_entry(from: &Struct, path: &[String], to: &mut Struct) {
    let (Some(value), Some((last, parents))) = (metadata::at(from, path), path.split_last()) else { return };
    let mut fields = &mut to.fields;
    for parent in parents {
        let table = Kind::StructValue(Struct::default());
        let entry = fields.entry(parent.clone()).or_insert(Value { kind: Some(table) });
        let Some(Kind::StructValue(inner)) = &mut entry.kind else { return };
        fields = &mut inner.fields;
    }
    fields.insert(last.clone(), value.clone());
}
