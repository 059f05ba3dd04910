//! What is made of a client's `Node`: who it is, what it understands, and its dynamic parameters.
//!
//! Decoded from the first message of a stream only; of the 61 kB that Envoy sends, the list of extensions,
//! which makes most of it, is skipped.

use std::fmt;
use std::sync::Arc;

use prost::Message;
use prost_types::value::Kind;
use prost_types::{Struct, Value};
use regex::Regex;
use weir_types::DynamicParameters;
use weir_wire::discovery::Node;

/// Clients that take resources of state-of-the-world responses wrapped say one of these.
const WRAPPING_FEATURES: [&str; 2] = ["xds.config.resource-in-sotw", "xds.config.supports-resource-in-sotw"];

/// Clients that count down times to live say this.
const TTL_FEATURE: &str = "xds.config.supports-resource-ttl";

/// A field of the `Node` that a parameter is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeField {
    /// `node.id`
    Id,
    /// `node.cluster`
    Cluster,
    /// `node.locality.region`
    Region,
    /// `node.locality.zone`
    Zone,
    /// `node.locality.sub_zone`
    SubZone,
    /// `node.metadata.A.B`: the path below the metadata.
    Metadata(Vec<String>),
    /// `node.user_agent_name`
    UserAgentName,
}

impl NodeField {
    fn read(&self, node: &Node) -> Option<String> {
        let locality = || node.locality.as_ref();
        let text = match self {
            Self::Id => node.id.clone(),
            Self::Cluster => node.cluster.clone(),
            Self::Region => locality()?.region.clone(),
            Self::Zone => locality()?.zone.clone(),
            Self::SubZone => locality()?.sub_zone.clone(),
            Self::Metadata(path) => metadata(node.metadata.as_ref()?, path)?,
            Self::UserAgentName => node.user_agent_name.clone(),
        };
        (!text.is_empty()).then_some(text)
    }
}

/// As the configuration file calls it.
impl fmt::Display for NodeField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id => f.write_str("node.id"),
            Self::Cluster => f.write_str("node.cluster"),
            Self::Region => f.write_str("node.locality.region"),
            Self::Zone => f.write_str("node.locality.zone"),
            Self::SubZone => f.write_str("node.locality.sub_zone"),
            Self::UserAgentName => f.write_str("node.user_agent_name"),
            Self::Metadata(path) => write!(f, "node.metadata.{}", path.join(".")),
        }
    }
}

/// The scalar at `path`, as text.
fn metadata(metadata: &Struct, path: &[String]) -> Option<String> {
    let (last, parents) = path.split_last()?;
    let mut fields = &metadata.fields;
    for parent in parents {
        match &fields.get(parent)?.kind {
            Some(Kind::StructValue(inner)) => fields = &inner.fields,
            _ => return None,
        }
    }
    let Value { kind } = fields.get(last)?;
    match kind.as_ref()? {
        Kind::StringValue(text) => Some(text.clone()),
        Kind::NumberValue(number) => Some(number.to_string()),
        Kind::BoolValue(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// How one dynamic parameter is derived for clients that send none of their own.
#[derive(Clone, Debug)]
pub struct NodeRule {
    /// The parameter's key.
    pub key: String,
    /// Where it comes from.
    pub from: NodeField,
    /// What to take of it: the first capture group, or the whole match. All of it when there is no pattern.
    pub pattern: Option<Regex>,
    /// The value when the field is missing or empty, or does not match.
    pub default: Option<String>,
    /// Whether clients that send locators are given the parameter too, where they omit its key.
    pub fill_locators: bool,
}

impl NodeRule {
    fn derive(&self, node: &Node) -> Derived {
        let field = self.from.read(node);
        let matched = field.as_deref().and_then(|text| match &self.pattern {
            None => Some(text.to_owned()),
            Some(pattern) => {
                let captures = pattern.captures(text)?;
                captures.get(1).or_else(|| captures.get(0)).map(|m| m.as_str().to_owned())
            }
        });
        let defaulted = matched.is_none();
        let value = matched.or_else(|| self.default.clone());
        Derived {
            key: self.key.clone(),
            from: self.from.clone(),
            field,
            value,
            defaulted,
            fills_locators: self.fill_locators,
        }
    }
}

/// What a rule made of a node, to be explained to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The parameter's key.
    pub key: String,
    /// Where the rule looks.
    pub from: NodeField,
    /// What the node says, if it says it.
    pub field: Option<String>,
    /// The parameter's value; none if the client does not get the parameter.
    pub value: Option<String>,
    /// Whether the rule's default had to do.
    pub defaulted: bool,
    /// Whether locators that omit the key are given the parameter too.
    pub fills_locators: bool,
}

/// The configured rules.
#[derive(Clone, Debug, Default)]
pub struct NodeRules(Arc<[NodeRule]>);

impl NodeRules {
    /// These rules; where two have one key, the first that gives a value wins.
    pub fn new(rules: Vec<NodeRule>) -> Self {
        Self(rules.into())
    }

    /// What each rule makes of `node`, in order.
    pub fn explain(&self, node: &Node) -> Vec<Derived> {
        self.0.iter().map(|rule| rule.derive(node)).collect()
    }

    /// The parameters of a client that sends none.
    pub fn parameters(&self, node: &Node) -> DynamicParameters {
        self.derive(node, |_| true)
    }

    fn derive(&self, node: &Node, which: impl Fn(&NodeRule) -> bool) -> DynamicParameters {
        let derived = self.0.iter().filter(|rule| which(rule)).map(|rule| rule.derive(node));
        // The last of equal keys stays, so the first rule has to come last.
        let mut pairs: Vec<_> = derived.filter_map(|derived| Some((derived.key, derived.value?))).collect();
        pairs.reverse();
        pairs.into_iter().collect()
    }
}

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
    /// The parameters of its plain names.
    pub parameters: DynamicParameters,
    /// The parameters that its locators are given where they omit the key.
    pub locator_defaults: DynamicParameters,
    /// Whether it says that it takes wrapped resources in state-of-the-world responses.
    pub announces_wrapping: bool,
    /// Whether it says that it counts down times to live.
    pub announces_ttl: bool,
    /// Whether it reads what trace a response belongs to.
    pub takes_trace_context: bool,
}

impl Client {
    /// Whether it is a Weir itself. That takes responses of any size, and is better given whole ones: the first
    /// response to a wildcard says to it that there is no more, and it has clients that delete what is missing.
    pub(crate) fn is_weir(&self) -> bool {
        self.user_agent == "weir"
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
        let node = Node::decode(node.unwrap_or_default())?;
        Ok(Self {
            parameters: rules.parameters(&node),
            locator_defaults: rules.derive(&node, |rule| rule.fill_locators),
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
    use super::*;

    fn node() -> Node {
        let text = |text: &str| Value { kind: Some(Kind::StringValue(text.into())) };
        let labels = Struct { fields: [("tier".to_owned(), text("edge"))].into() };
        let fields = [
            ("env".to_owned(), text("prod-eu")),
            ("shard".to_owned(), Value { kind: Some(Kind::NumberValue(7.0)) }),
            ("labels".to_owned(), Value { kind: Some(Kind::StructValue(labels)) }),
        ];
        Node {
            id: "sidecar~10.0.0.1~web".into(),
            cluster: "web".into(),
            metadata: Some(Struct { fields: fields.into() }),
            user_agent_name: "envoy".into(),
            ..Node::default()
        }
    }

    fn rule(key: &str, from: NodeField, pattern: Option<&str>, default: Option<&str>) -> NodeRule {
        NodeRule {
            key: key.into(),
            from,
            pattern: pattern.map(|p| Regex::new(p).unwrap()),
            default: default.map(Into::into),
            fill_locators: false,
        }
    }

    #[test]
    fn p13_parameters_come_from_the_node_by_rules() {
        let metadata = |path: &str| NodeField::Metadata(path.split('.').map(Into::into).collect());
        for (rule, wanted) in [
            (rule("k", NodeField::Id, None, None), Some("sidecar~10.0.0.1~web")),
            (rule("k", NodeField::Id, Some("~([a-z]+)$"), None), Some("web")),
            (rule("k", NodeField::Cluster, Some("w."), None), Some("we")),
            (rule("k", NodeField::Zone, None, None), None),
            (rule("k", NodeField::Zone, None, Some("a")), Some("a")),
            (rule("k", metadata("env"), Some("^(prod|test)"), Some("dev")), Some("prod")),
            (rule("k", metadata("env"), Some("^test"), Some("dev")), Some("dev")),
            (rule("k", metadata("env"), Some("^test"), None), None),
            (rule("k", metadata("labels.tier"), None, None), Some("edge")),
            (rule("k", metadata("labels"), None, None), None),
            (rule("k", metadata("env.deeper"), None, None), None),
            (rule("k", metadata("shard"), None, None), Some("7")),
            (rule("k", NodeField::UserAgentName, None, None), Some("envoy")),
        ] {
            let rules = NodeRules::new(vec![rule]);
            assert_eq!(rules.parameters(&node()).get("k"), wanted, "{rules:?}");
        }
    }

    #[test]
    fn p13_the_first_rule_that_gives_a_value_wins() {
        let rules = NodeRules::new(vec![
            rule("env", NodeField::Zone, None, None),
            rule("env", NodeField::Cluster, None, None),
            rule("env", NodeField::Id, None, None),
        ]);
        assert_eq!(rules.parameters(&node()).get("env"), Some("web"));
        assert_eq!(rules.explain(&node())[0].value, None);
    }

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
