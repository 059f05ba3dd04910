//! What is made of a client's `Node`: who it is, what it understands, and its dynamic parameters.
//!
//! Decoded from the first message of a stream only; of the 61 kB that Envoy sends, the list of extensions,
//! which makes most of it, is skipped.

use std::sync::Arc;

use prost::Message;
use weir_tls::Identity;
use weir_types::ClientParameters;
use weir_wire::discovery::Node;

use crate::access::{self, AccessRules};
use crate::forwarding::{ForwardError, Forwarding};
use crate::rules::NodeRules;
use weir_session::{ClientKind, ClientProfile};

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
    pub(crate) node: Arc<[u8]>,
    /// The rules that its parameters were derived by, which may have changed since.
    pub rules: NodeRules,
    /// Whom its certificate names.
    pub identity: Option<Identity>,
    /// What its streams have to know of it.
    pub profile: Arc<ClientProfile>,
}

/// What rules make of a client's node.
#[derive(Clone, Copy, Debug)]
pub struct Derivation<'a> {
    /// The rules for its dynamic parameters.
    pub rules: &'a NodeRules,
    /// The rules for what it may have.
    pub access: &'a AccessRules,
    /// What of its node is forwarded.
    pub forwarding: &'a Forwarding,
}

/// Why a client is not identified by its node.
#[derive(Debug, thiserror::Error)]
pub enum IdentifyError {
    /// The node is not a `Node` message.
    #[error("node is malformed: {0}")]
    Malformed(#[from] prost::DecodeError),
    /// It cannot be forwarded.
    #[error(transparent)]
    Forward(#[from] ForwardError),
}

impl Client {
    /// Its node, as far as it is kept: without what it is able to, and without its extensions.
    pub fn node(&self) -> Node {
        Node {
            id: self.id.clone(),
            cluster: self.cluster.clone(),
            user_agent_name: self.user_agent.clone(),
            // These bytes were made here.
            ..Node::decode(&*self.node).unwrap_or_default()
        }
    }

    /// The client that a first message's node describes.
    ///
    /// # Errors
    /// When the node is not a `Node` message.
    pub fn new(node: Option<&[u8]>, rules: &NodeRules) -> Result<Self, IdentifyError> {
        let (access, forwarding) = Default::default();
        Self::identify(node, None, Derivation { rules, access: &access, forwarding: &forwarding })
    }

    /// As [`Self::new`], for a client whose certificate names somebody.
    ///
    /// # Errors
    /// When the node is not a `Node` message, or cannot be forwarded.
    pub fn identify(
        node: Option<&[u8]>,
        identity: Option<&Identity>,
        Derivation { rules, access, forwarding }: Derivation<'_>,
    ) -> Result<Self, IdentifyError> {
        let node = Node::decode(node.unwrap_or_default())?;
        let enforced = rules.derive(&node, identity, |rule| rule.enforce);
        let nodes = forwarding.nodes(&node, identity, &enforced)?;
        let rights = access.rights(identity, &rules.enforced, enforced);
        let announces = |feature: &str| node.client_features.iter().any(|announced| announced == feature);
        let kind = ClientKind::of(&node.user_agent_name);
        let profile = ClientProfile {
            kind,
            parameters: ClientParameters::new(rules.parameters(&node, identity), nodes),
            locator_defaults: rules.derive(&node, identity, |rule| rule.fill_locators || rule.enforce),
            rights: rights.without_secrets(forwarding.unverified(), || access::holder(identity)),
            announces_wrapping: WRAPPING_FEATURES.into_iter().any(announces),
            announces_ttl: announces(TTL_FEATURE),
            takes_trace_context: announces(weir_wire::trace::FEATURE),
            takes_any_size: kind == ClientKind::Weir,
        };
        Ok(Self {
            rules: rules.clone(),
            identity: identity.cloned(),
            profile: Arc::new(profile),
            node: kept(&node),
            id: node.id,
            cluster: node.cluster,
            user_agent: node.user_agent_name,
        })
    }
}

/// What is kept of a node beside what [`Client`] has in fields of its own.
fn kept(node: &Node) -> Arc<[u8]> {
    let (locality, metadata) = (node.locality.clone(), node.metadata.clone());
    let user_agent_version = node.user_agent_version.clone();
    Node { locality, metadata, user_agent_version, ..Node::default() }.encode_to_vec().into()
}

#[cfg(test)]
mod tests {
    use weir_config::NodeRule;
    use weir_types::NodeField;

    use super::*;
    use crate::rules::tests::{node, rule};
    use weir_session::Wrapping;

    #[test]
    fn p13_locators_are_filled_only_where_the_rule_says_so() {
        let filling = NodeRule { fill_locators: true, ..rule("a", NodeField::Cluster, None, None) };
        let rules = NodeRules::new(vec![filling, rule("b", NodeField::Cluster, None, None)]);
        let client = Client::new(Some(&node().encode_to_vec()), &rules).unwrap();
        assert_eq!(client.profile.parameters.to_string(), "{a=web, b=web}");
        assert_eq!(client.profile.locator_defaults.to_string(), "{a=web}");
    }

    #[test]
    fn d03_what_rules_and_operators_need_of_a_node_is_kept() {
        let features = vec!["xds.config.resource-in-sotw".to_owned()];
        let sent = Node { client_features: features, user_agent_version: "1.38.0".into(), ..node() };
        let client = Client::new(Some(&sent.encode_to_vec()), &NodeRules::default()).unwrap();
        assert!(client.profile.announces_wrapping);
        assert_eq!(client.node(), Node { client_features: Vec::new(), ..sent });
    }

    #[test]
    fn d03_a_malformed_node_is_an_error() {
        assert!(Client::new(Some(&[0x0a, 0xff]), &NodeRules::default()).is_err());
        assert!(Client::new(None, &NodeRules::default()).is_ok());
    }

    #[test]
    fn s09_a_ttl_is_for_envoys_and_for_whom_says_so() {
        let (wrap, ttl) = ("xds.config.resource-in-sotw", "xds.config.supports-resource-ttl");
        for (user_agent, features, configured, always, for_ttl) in [
            ("envoy", &[][..], None, false, true),
            ("envoy", &[], Some(false), false, false),
            ("other", &[], None, false, false),
            ("other", &[], Some(true), true, true),
            ("grpc", &[wrap], None, true, false),
            ("weir", &[wrap, ttl], None, true, true),
        ] {
            let features: Vec<String> = features.iter().map(|feature: &&str| (*feature).to_owned()).collect();
            let node =
                Node { user_agent_name: user_agent.into(), client_features: features, ..Node::default() };
            let client = Client::new(Some(&node.encode_to_vec()), &NodeRules::default()).unwrap();
            assert_eq!(
                Wrapping::of(&client.profile, configured),
                Wrapping { always, for_ttl },
                "{user_agent}"
            );
        }
    }
}
