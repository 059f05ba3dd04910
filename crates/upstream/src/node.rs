//! Who Weir states that it is: the `Node` of a stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use weir_types::{ClientNode, DynamicParameters};
use weir_wire::discovery::{Locality, Node};

/// What Weir truly supports of what clients can announce.
const CLIENT_FEATURES: [&str; 3] =
    ["xds.config.resource-in-sotw", "xds.config.supports-resource-ttl", weir_wire::trace::FEATURE];

/// A `Node` whose texts may have `{key}` placeholders for dynamic parameters; `{{` and `}}` are braces.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTemplate(Node);

// === impl NodeTemplate ===

impl NodeTemplate {
    /// The template `node`: placeholders may be in its id, cluster, locality and in texts of its metadata.
    pub fn new(node: Node) -> Self {
        Self(node)
    }

    /// The usual template: the values of all keys in the id of `node`, and in its metadata.
    pub fn usual(node: &Node, keys: &[Arc<str>]) -> Self {
        let mut template = node.clone();
        template.id = keys.iter().fold(escape(&node.id), |id, key| format!("{id}-{{{key}}}"));
        template.cluster = escape(&node.cluster);
        let fields = &mut template.metadata.get_or_insert_default().fields;
        for key in keys {
            let value = Value { kind: Some(Kind::StringValue(format!("{{{key}}}"))) };
            fields.insert(key.to_string(), value);
        }
        Self(template)
    }

    /// The `Node` for clients with `parameters`. A key that is absent makes an empty text, and takes a text of
    /// the metadata away altogether.
    pub fn fill(&self, parameters: &DynamicParameters) -> Node {
        let mut node = self.0.clone();
        let fill = |text: &mut String| *text = fill_text(text, parameters).text;
        fill(&mut node.id);
        fill(&mut node.cluster);
        if let Some(Locality { region, zone, sub_zone }) = &mut node.locality {
            [region, zone, sub_zone].into_iter().for_each(fill);
        }
        node.metadata = node.metadata.map(|metadata| fill_struct(metadata, parameters));
        if let Some(forwarded) = parameters.node() {
            forward(forwarded, &mut node);
        }
        node
    }
}

impl NodeTemplate {
    /// The node id for clients with `parameters`.
    pub fn id_of(&self, parameters: &DynamicParameters) -> String {
        self.fill(parameters).id
    }
}

/// Puts what is forwarded of a client's node into `node`, which has nothing of its own there.
fn forward(forwarded: &ClientNode, node: &mut Node) {
    // These bytes were made from a `Node`. What is not in them stays; of two entries of the metadata, theirs counts.
    if let Err(error) = node.merge(forwarded.encoded()) {
        tracing::error!(%error, "forwarded node cannot be read");
    }
}

fn fill_struct(Struct { fields }: Struct, parameters: &DynamicParameters) -> Struct {
    let fields = fields.into_iter().filter_map(|(key, value)| Some((key, fill_value(value, parameters)?)));
    Struct { fields: fields.collect::<BTreeMap<_, _>>() }
}

fn fill_value(value: Value, parameters: &DynamicParameters) -> Option<Value> {
    let kind = match value.kind? {
        Kind::StringValue(text) => {
            let filled = fill_text(&text, parameters);
            filled.complete.then_some(Kind::StringValue(filled.text))?
        }
        Kind::StructValue(inner) => Kind::StructValue(fill_struct(inner, parameters)),
        Kind::ListValue(ListValue { values }) => {
            let values = values.into_iter().filter_map(|value| fill_value(value, parameters)).collect();
            Kind::ListValue(ListValue { values })
        }
        other => other,
    };
    Some(Value { kind: Some(kind) })
}

struct Filled {
    text: String,
    /// Every key was there.
    complete: bool,
}

fn fill_text(template: &str, parameters: &DynamicParameters) -> Filled {
    let mut filled = Filled { text: String::with_capacity(template.len()), complete: true };
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        filled.text.push_str(&rest[..at]);
        let (brace, after) = rest[at..].split_at(1);
        match after.strip_prefix(brace) {
            Some(after) => {
                filled.text.push_str(brace);
                rest = after;
            }
            None => match after.split_once('}').filter(|_| brace == "{") {
                Some((key, after)) => {
                    filled.complete &= parameters.get(key).is_some();
                    filled.text.push_str(parameters.get(key).unwrap_or_default());
                    rest = after;
                }
                None => {
                    filled.text.push_str(brace);
                    rest = after;
                }
            },
        }
    }
    filled.text.push_str(rest);
    filled
}

/// `text` as a template that fills to `text`.
pub fn escape(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// The `Node` as it is sent: with what Weir is, where `node` has no value, and with what Weir supports.
pub(crate) fn introduce(mut node: Node) -> Bytes {
    if node.user_agent_name.is_empty() {
        "weir".clone_into(&mut node.user_agent_name);
        env!("CARGO_PKG_VERSION").clone_into(&mut node.user_agent_version);
    }
    node.client_features.extend(CLIENT_FEATURES.map(str::to_owned));
    node.encode_to_vec().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> DynamicParameters {
        pairs.iter().copied().collect()
    }

    fn text(node: &Node, key: &str) -> Option<String> {
        match node.metadata.as_ref()?.fields.get(key)?.kind.clone()? {
            Kind::StringValue(text) => Some(text),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn p15_the_node_is_made_from_the_parameters() {
        let base = Node { id: "weir-1".into(), cluster: "{edge}".into(), ..Node::default() };
        let template = NodeTemplate::usual(&base, &["env".into(), "zone".into()]);
        let node = template.fill(&params(&[("env", "prod"), ("zone", "a")]));
        assert_eq!((&*node.id, &*node.cluster), ("weir-1-prod-a", "{edge}"));
        assert_eq!((text(&node, "env"), text(&node, "zone")), (Some("prod".into()), Some("a".into())));
        let node = template.fill(&params(&[("env", "prod")]));
        assert_eq!((&*node.id, text(&node, "zone")), ("weir-1-prod-", None), "an absent key has no entry");
    }

    #[test]
    fn placeholders_are_filled_anywhere() {
        let prod = params(&[("env", "prod")]);
        for (template, wanted) in [
            ("{env}", "prod"),
            ("a-{env}-{env}b", "a-prod-prodb"),
            ("{{env}}", "{env}"),
            ("{other}", ""),
            ("{env", "{env"),
            ("env}", "env}"),
            ("", ""),
        ] {
            assert_eq!(fill_text(template, &prod).text, wanted, "{template}");
        }
        assert_eq!(fill_text(&escape("{a}}"), &prod).text, "{a}}");
    }

    #[test]
    fn p19_what_is_forwarded_takes_the_place_of_what_is_missing() {
        let value = |text: &str| Value { kind: Some(Kind::StringValue(text.into())) };
        let metadata = |key: &str| Struct { fields: [(key.to_owned(), value(key))].into() };
        let template = Node {
            id: "weir-{env}".into(),
            metadata: Some(metadata("own")),
            locality: Some(Locality { zone: "own".into(), ..Locality::default() }),
            ..Node::default()
        };
        let sent = Node {
            cluster: "web".into(),
            metadata: Some(metadata("theirs")),
            user_agent_name: "envoy".into(),
            client_features: vec!["envoy.x".into()],
            ..Node::default()
        };
        let set = params(&[("env", "prod")]).with_node(&ClientNode::new("d", sent.encode_to_vec().into()));
        let node = Node::decode(introduce(NodeTemplate::new(template).fill(&set))).unwrap();
        assert_eq!((&*node.id, &*node.cluster, &*node.user_agent_name), ("weir-prod", "web", "envoy"));
        assert_eq!(node.locality.as_ref().map(|locality| &*locality.zone), Some("own"));
        assert_eq!((text(&node, "own"), text(&node, "theirs")), (Some("own".into()), Some("theirs".into())));
        assert_eq!(
            (&*node.client_features[0], &node.client_features[1..]),
            ("envoy.x", &CLIENT_FEATURES.map(String::from)[..])
        );
    }

    #[test]
    fn u08_only_what_is_supported_is_announced() {
        let node = Node::decode(introduce(Node { id: "a".into(), ..Node::default() })).unwrap();
        assert_eq!((&*node.user_agent_name, &*node.user_agent_version), ("weir", env!("CARGO_PKG_VERSION")));
        assert_eq!(node.client_features, CLIENT_FEATURES);
    }
}
