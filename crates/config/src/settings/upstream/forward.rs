//! `[upstream.node]`: what of it comes from the client.

use weir_types::{NODE_KEY, NodeField, NodePart};

use super::NodeTemplate;
use crate::findings::Findings;
use crate::settings::downstream_tls::NO_IDENTITIES;
use crate::settings::{Locality, Node, Prefetch};
use crate::template::Template;

/// What a reserved key is reserved for.
pub(crate) const RESERVED: &str = "stands for the forwarded part of a client's node; choose another key";

impl NodeTemplate {
    /// Whether sets differ by client: parts of its node are forwarded, or headers are filled with its values.
    pub fn forwards(&self) -> bool {
        !self.forward.is_empty() || !self.header_values.is_empty()
    }

    /// Whether the metadata under `key`, or a part of it, is forwarded.
    pub(super) fn forwards_metadata(&self, key: &str) -> bool {
        let concerns = |part: &NodePart| matches!(part, NodePart::Metadata(path) if path.first().is_none_or(|first| first == key));
        self.forward.iter().any(concerns)
    }

    /// `node` without what comes from the client.
    pub(super) fn without_forwarded(&self, node: &Node) -> Node {
        let mut node = node.clone();
        for part in &self.forward {
            match part {
                NodePart::Id => node.id.clear(),
                NodePart::Cluster => node.cluster.clear(),
                NodePart::Locality => node.locality = Locality::default(),
                NodePart::UserAgent | NodePart::Metadata(_) => {}
            }
        }
        node.metadata.retain(|key, _| !self.forwards_metadata(key));
        node
    }

    /// Reports parts that are there twice, or have a value of this configuration, too.
    pub(super) fn check_forward(&self, prefetch: &[Prefetch], findings: &mut Findings) {
        for (i, part) in self.forward.iter().enumerate() {
            let key = format!("node.forward[{i}]");
            let other = self
                .forward
                .iter()
                .enumerate()
                .find(|(j, other)| *j != i && other.contains(part) && (*j < i || !part.contains(other)));
            if let Some((_, other)) = other {
                findings.add(&key, format!("\"{part}\" is forwarded already, by \"{other}\""));
            }
            let configured = match part {
                NodePart::Id => self.id.is_some(),
                NodePart::Cluster => self.cluster.is_some(),
                NodePart::Locality => self.locality.is_some(),
                NodePart::UserAgent => false,
                NodePart::Metadata(path) => {
                    self.metadata.as_ref().is_some_and(|metadata| match path.first() {
                        Some(key) => metadata.contains_key(key),
                        None => !metadata.is_empty(),
                    })
                }
            };
            if configured {
                let message = format!("\"{part}\" has a value in upstream.node; leave out one of them");
                findings.add(&key, message);
            }
        }
        if !self.forward.is_empty() && !prefetch.is_empty() {
            findings.add("prefetch", "does not go with node.forward: only a client has a node to forward");
        }
    }

    /// Reports an id that all clients would share.
    pub(super) fn check_unique_id(&self, keys: &[String], findings: &mut Findings) {
        if !self.unique_id && !self.forwards() {
            findings.add("node.unique_id", "applies only with node.forward, or placeholders in headers");
        }
        if !self.unique_id || !self.forwards() || self.forward.contains(&NodePart::Id) {
            return;
        }
        let keys = self.placeholders(keys);
        let in_id =
            |key: &&String| self.id.iter().flat_map(Template::keys).any(|other| other == key.as_str());
        if let Some(missing) = keys.iter().find(|key| !in_id(key)) {
            let id = self.id.as_ref().map(ToString::to_string).unwrap_or_default();
            let message = format!(
                "must have {{{missing}}}, or sets that differ in it have one id; or forward \"id\", or allow it by \
                 unique_id = false (got {id:?})"
            );
            findings.add("node.id", message);
        }
    }

    /// Reports names that cannot be verified. Load reports that are `relayed` have the node of a client, too.
    pub(super) fn check_verify(&self, has_identities: bool, relayed: bool, findings: &mut Findings) {
        if self.verify.is_empty() {
            return;
        }
        if self.forward.is_empty() && !relayed {
            findings.add("node.verify", "applies only with node.forward or load_reports = \"relay\"");
        }
        if !has_identities {
            findings.add("node.verify", NO_IDENTITIES);
        }
        for (i, template) in self.verify.iter().enumerate() {
            for key in template.keys() {
                let problem = match key.parse::<NodeField>() {
                    Ok(NodeField::Identity(_)) => {
                        format!("{{{key}}} is in the certificate; write a part of the node")
                    }
                    Ok(_) => continue,
                    Err(error) => error.to_string(),
                };
                findings.add(format!("node.verify[{i}]"), problem);
            }
        }
    }

    /// The keys that its texts may have placeholders for, and that its default id has.
    pub(super) fn placeholders(&self, keys: &[String]) -> Vec<String> {
        let node = self.forwards().then(|| NODE_KEY.to_owned());
        keys.iter().cloned().chain(node).collect()
    }
}
