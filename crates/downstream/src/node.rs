//! What is made of a client's `Node`: who it is, what it understands, and its dynamic parameters.
//!
//! Decoded from the first message of a stream only; of the 61 kB that Envoy sends, the list of extensions,
//! which makes most of it, is skipped.

use std::sync::Arc;

use prost::Message;
use weir_protocol::Dialect;
use weir_tls::Identity;
use weir_types::DynamicParameters;
use weir_wire::discovery::Node;

use crate::access::{AccessRules, Rights};
use crate::rules::NodeRules;

/// Clients that take resources of state-of-the-world responses wrapped state one of these.
const WRAPPING_FEATURES: [&str; 2] = ["xds.config.resource-in-sotw", "xds.config.supports-resource-in-sotw"];

/// Clients that count down times to live state this.
const TTL_FEATURE: &str = "xds.config.supports-resource-ttl";

/// What Weir keeps of a client.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// `node.id`
    pub id: String,
    /// `node.cluster`
    pub cluster: String,
    /// `node.user_agent_name`
    pub user_agent: String,
    /// What else of its node is shown to operators, encoded: clients that are alike share it.
    pub(crate) profile: Arc<[u8]>,
    /// The rules that its parameters were derived by, which may have changed since.
    pub rules: NodeRules,
    /// The parameters of its plain names.
    pub parameters: DynamicParameters,
    /// The parameters that its locators are given where they omit the key.
    pub locator_defaults: DynamicParameters,
    /// Whom its certificate names.
    pub identity: Option<Identity>,
    /// What it may have.
    pub rights: Rights,
    /// Whether it states that it takes wrapped resources in state-of-the-world responses.
    pub announces_wrapping: bool,
    /// Whether it states that it counts down times to live.
    pub announces_ttl: bool,
    /// Whether it reads what trace a response belongs to.
    pub takes_trace_context: bool,
}

impl Client {
    /// Whether it is a Weir itself. That takes responses of any size, and is better given whole ones: the first
    /// response to a wildcard means to it that there is no more, and it has clients that delete what is missing.
    pub(crate) fn is_weir(&self) -> bool {
        self.user_agent == "weir"
    }

    /// Whether it is an Envoy.
    pub(crate) fn is_envoy(&self) -> bool {
        self.user_agent == "envoy"
    }

    /// Whether it does no harm to send it errors by name. An Envoy skips the field, and in state of the world it
    /// takes what is missing in the response for missing.
    pub(crate) fn takes_errors(&self, dialect: Dialect) -> bool {
        !(self.is_envoy() && dialect == Dialect::Sotw)
    }

    /// Whether it is one of gRPC's own clients, which name themselves after their language.
    pub(crate) fn is_grpc(&self) -> bool {
        self.user_agent.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case("grpc"))
    }

    /// Its node, as far as it is kept: without what it is able to, and without its extensions.
    pub fn node(&self) -> Node {
        Node {
            id: self.id.clone(),
            cluster: self.cluster.clone(),
            user_agent_name: self.user_agent.clone(),
            // These bytes were made here.
            ..Node::decode(&*self.profile).unwrap_or_default()
        }
    }

    /// The client that a first message's node describes.
    ///
    /// # Errors
    /// When the node is not a `Node` message.
    pub fn new(node: Option<&[u8]>, rules: &NodeRules) -> Result<Self, prost::DecodeError> {
        Self::met(node, None, rules, &AccessRules::default())
    }

    /// As [`Self::new`], for a client whose certificate names somebody.
    ///
    /// # Errors
    /// When the node is not a `Node` message.
    pub fn met(
        node: Option<&[u8]>,
        identity: Option<&Identity>,
        rules: &NodeRules,
        access: &AccessRules,
    ) -> Result<Self, prost::DecodeError> {
        let node = Node::decode(node.unwrap_or_default())?;
        let enforced = rules.derive(&node, identity, |rule| rule.enforce);
        Ok(Self {
            rules: rules.clone(),
            parameters: rules.parameters(&node, identity),
            locator_defaults: rules.derive(&node, identity, |rule| rule.fill_locators || rule.enforce),
            identity: identity.cloned(),
            rights: access.rights(identity, &rules.enforced, enforced),
            announces_wrapping: node.client_features.iter().any(|f| WRAPPING_FEATURES.contains(&&**f)),
            takes_trace_context: node.client_features.iter().any(|f| f == weir_wire::trace::FEATURE),
            announces_ttl: node.client_features.iter().any(|f| f == TTL_FEATURE),
            profile: profile(&node),
            id: node.id,
            cluster: node.cluster,
            user_agent: node.user_agent_name,
        })
    }
}

/// What is kept of a node beside what [`Client`] has in fields of its own.
fn profile(node: &Node) -> Arc<[u8]> {
    let (locality, metadata) = (node.locality.clone(), node.metadata.clone());
    let user_agent_version = node.user_agent_version.clone();
    Node { locality, metadata, user_agent_version, ..Node::default() }.encode_to_vec().into()
}

#[cfg(test)]
mod tests {
    use weir_types::NodeField;

    use super::*;
    use crate::rules::NodeRule;
    use crate::rules::tests::{node, rule};

    #[test]
    fn p13_locators_are_filled_only_where_the_rule_says_so() {
        let filling = NodeRule { fill_locators: true, ..rule("a", NodeField::Cluster, None, None) };
        let rules = NodeRules::new(vec![filling, rule("b", NodeField::Cluster, None, None)]);
        let client = Client::new(Some(&node().encode_to_vec()), &rules).unwrap();
        assert_eq!(client.parameters.to_string(), "{a=web, b=web}");
        assert_eq!(client.locator_defaults.to_string(), "{a=web}");
    }

    #[test]
    fn d03_what_rules_and_operators_need_of_a_node_is_kept() {
        let features = vec!["xds.config.resource-in-sotw".to_owned()];
        let sent = Node { client_features: features, user_agent_version: "1.38.0".into(), ..node() };
        let client = Client::new(Some(&sent.encode_to_vec()), &NodeRules::default()).unwrap();
        assert!(client.announces_wrapping);
        assert_eq!(client.node(), Node { client_features: Vec::new(), ..sent });
    }

    #[test]
    fn d03_a_malformed_node_is_an_error() {
        assert!(Client::new(Some(&[0x0a, 0xff]), &NodeRules::default()).is_err());
        assert!(Client::new(None, &NodeRules::default()).is_ok());
    }
}
