//! Rules by which clients get dynamic parameters: from their `Node`, and from the names in their certificates.

use std::sync::Arc;

use prost_types::Struct;
use prost_types::value::Kind;
use weir_config::NodeRule;
use weir_tls::Identity;
use weir_types::{DynamicParameters, IdentityField, NodeField};
use weir_wire::discovery::Node;

use crate::metadata;

/// What there is of `field`: several names may be in a certificate.
fn read(field: &NodeField, node: &Node, identity: Option<&Identity>) -> Vec<String> {
    match (field, identity) {
        (NodeField::Identity(_), None) => Vec::new(),
        (NodeField::Identity(IdentityField::Spiffe), Some(identity)) => {
            identity.spiffe().into_iter().map(str::to_owned).collect()
        }
        (NodeField::Identity(IdentityField::Uri), Some(identity)) => identity.uris().to_vec(),
        (NodeField::Identity(IdentityField::Dns), Some(identity)) => identity.dns().to_vec(),
        _ => read_node(field, node).into_iter().collect(),
    }
}

/// The text of `field`, unless that is of a certificate; none where it is empty.
pub(crate) fn read_node(field: &NodeField, node: &Node) -> Option<String> {
    let locality = || node.locality.as_ref();
    let text = match field {
        NodeField::Id => node.id.clone(),
        NodeField::Cluster => node.cluster.clone(),
        NodeField::Region => locality()?.region.clone(),
        NodeField::Zone => locality()?.zone.clone(),
        NodeField::SubZone => locality()?.sub_zone.clone(),
        NodeField::Metadata(path) => scalar(node.metadata.as_ref()?, path)?,
        NodeField::UserAgentName => node.user_agent_name.clone(),
        NodeField::Identity(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// The scalar at `path`, as text.
fn scalar(metadata: &Struct, path: &[String]) -> Option<String> {
    match metadata::at(metadata, path)?.kind.as_ref()? {
        Kind::StringValue(text) => Some(text.clone()),
        Kind::NumberValue(number) => Some(number.to_string()),
        Kind::BoolValue(truth) => Some(truth.to_string()),
        _ => None,
    }
}

fn derive(rule: &NodeRule, node: &Node, identity: Option<&Identity>) -> Derived {
    let fields = read(&rule.from, node, identity);
    let matched = fields.iter().find_map(|text| match &rule.pattern {
        None => Some(text.clone()),
        Some(pattern) => {
            let captures = pattern.captures(text)?;
            captures.get(1).or_else(|| captures.get(0)).map(|m| m.as_str().to_owned())
        }
    });
    let field = fields.into_iter().next();
    let defaulted = matched.is_none();
    let value = matched.or_else(|| rule.default.clone());
    Derived {
        key: rule.key.clone(),
        from: rule.from.clone(),
        field,
        value,
        defaulted,
        fills_locators: rule.fill_locators || rule.enforce,
    }
}

/// What a rule made of a node, to be explained to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The parameter's key.
    pub key: String,
    /// Where the rule looks.
    pub from: NodeField,
    /// The value in the node, if it has one.
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
pub struct NodeRules {
    rules: Arc<[NodeRule]>,
    /// The keys that no client can choose.
    pub(crate) enforced: Arc<[String]>,
}

impl NodeRules {
    /// These rules; where two have one key, the first that gives a value wins.
    pub fn new(rules: Vec<NodeRule>) -> Self {
        let enforced = rules.iter().filter(|rule| rule.enforce).map(|rule| rule.key.clone()).collect();
        Self { rules: rules.into(), enforced }
    }

    /// What each rule makes of `node` and of the names in the client's certificate, in order.
    pub fn explain(&self, node: &Node, identity: Option<&Identity>) -> Vec<Derived> {
        self.rules.iter().map(|rule| derive(rule, node, identity)).collect()
    }

    /// The parameters of a client that sends none.
    pub fn parameters(&self, node: &Node, identity: Option<&Identity>) -> DynamicParameters {
        self.derive(node, identity, |_| true)
    }

    pub(crate) fn derive(
        &self,
        node: &Node,
        identity: Option<&Identity>,
        which: impl Fn(&NodeRule) -> bool,
    ) -> DynamicParameters {
        let derived = self.rules.iter().filter(|rule| which(rule)).map(|rule| derive(rule, node, identity));
        // The last of equal keys stays, so the first rule has to come last.
        let mut pairs: Vec<_> = derived.filter_map(|derived| Some((derived.key, derived.value?))).collect();
        pairs.reverse();
        pairs.into_iter().collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use prost_types::Value;

    use super::*;

    pub(crate) fn node() -> Node {
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

    pub(crate) fn rule(key: &str, from: NodeField, pattern: Option<&str>, default: Option<&str>) -> NodeRule {
        NodeRule {
            key: key.into(),
            from,
            pattern: pattern.map(|pattern| pattern.parse().unwrap()),
            default: default.map(Into::into),
            fill_locators: false,
            enforce: false,
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
            assert_eq!(rules.parameters(&node(), None).get("k"), wanted, "{rules:?}");
        }
    }

    #[test]
    fn p13_the_first_rule_that_gives_a_value_wins() {
        let rules = NodeRules::new(vec![
            rule("env", NodeField::Zone, None, None),
            rule("env", NodeField::Cluster, None, None),
            rule("env", NodeField::Id, None, None),
        ]);
        assert_eq!(rules.parameters(&node(), None).get("env"), Some("web"));
        assert_eq!(rules.explain(&node(), None)[0].value, None);
    }

    #[test]
    fn p13_parameters_come_from_the_certificate() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let identity = Identity::new(names(&["spiffe://prod.example/ns/shop"]), names(&["a.test", "b.prod"]));
        for (field, pattern, wanted) in [
            (IdentityField::Spiffe, Some("^spiffe://([a-z]+)[.]example/"), Some("prod")),
            (IdentityField::Spiffe, None, Some("spiffe://prod.example/ns/shop")),
            (IdentityField::Uri, Some("/ns/([^/]+)$"), Some("shop")),
            (IdentityField::Dns, Some("[.](prod)$"), Some("prod")),
            (IdentityField::Dns, None, Some("a.test")),
            (IdentityField::Dns, Some("^x"), None),
        ] {
            let rules = NodeRules::new(vec![rule("k", NodeField::Identity(field), pattern, None)]);
            assert_eq!(rules.parameters(&node(), Some(&identity)).get("k"), wanted, "{field:?} {pattern:?}");
            assert_eq!(rules.parameters(&node(), None).get("k"), None);
        }
    }
}
