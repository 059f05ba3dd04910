//! The node that is sent upstream.

use std::collections::BTreeMap;

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use weir_config::{Metadata, Template};
use weir_wire::discovery::{Locality, Node};

/// This instance.
pub(super) fn own(node: &weir_config::Node) -> Node {
    let weir_config::Locality { region, zone, sub_zone } = &node.locality;
    Node {
        id: node.id.clone(),
        cluster: node.cluster.clone(),
        locality: locality(region, zone, sub_zone),
        metadata: metadata(&node.metadata),
        ..Node::default()
    }
}

/// A node whose texts are templates, as they are written.
pub(super) fn template(node: &weir_config::NodeTemplate) -> Node {
    let weir_config::NodeTemplate { id, cluster, locality, metadata, .. } = node;
    let text = |template: &Option<Template>| template.as_ref().map(ToString::to_string).unwrap_or_default();
    let locality = locality
        .as_ref()
        .and_then(|weir_config::Locality { region, zone, sub_zone }| self::locality(region, zone, sub_zone));
    Node {
        id: text(id),
        cluster: text(cluster),
        locality,
        metadata: metadata.as_ref().and_then(self::metadata),
        ..Node::default()
    }
}

fn locality<T: ToString>(region: &T, zone: &T, sub_zone: &T) -> Option<Locality> {
    let [region, zone, sub_zone] = [region, zone, sub_zone].map(ToString::to_string);
    let locality = Locality { region, zone, sub_zone };
    (locality != Locality::default()).then_some(locality)
}

fn metadata<T: ToString>(table: &BTreeMap<String, Metadata<T>>) -> Option<Struct> {
    (!table.is_empty()).then(|| fields(table))
}

fn fields<T: ToString>(table: &BTreeMap<String, Metadata<T>>) -> Struct {
    Struct { fields: table.iter().map(|(key, item)| (key.clone(), value(item))).collect() }
}

fn value<T: ToString>(metadata: &Metadata<T>) -> Value {
    let kind = match metadata {
        Metadata::Text(text) => Kind::StringValue(text.to_string()),
        Metadata::Number(number) => Kind::NumberValue(*number),
        Metadata::Bool(bool) => Kind::BoolValue(*bool),
        Metadata::List(list) => Kind::ListValue(ListValue { values: list.iter().map(value).collect() }),
        Metadata::Table(table) => Kind::StructValue(fields(table)),
    };
    Value { kind: Some(kind) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weir_config::Source;

    use super::*;

    const CONFIG: &str = "
        downstream.listen = ['127.0.0.1:1']
        [node]
        id = 'w-{1}'
        locality.zone = 'z'
        metadata = { a = { list = [1, true, 'x'] } }
        [[upstream]]
        endpoints = ['http://a:1']
        parameter_keys = ['env']
    ";

    #[test]
    fn p15_the_template_is_the_node_with_the_values() {
        let config = weir_config::parse(CONFIG, Path::new("x")).unwrap();
        let own = own(&config.node);
        assert_eq!((own.id.as_str(), own.locality.as_ref().unwrap().zone.as_str()), ("w-{1}", "z"));

        let Source::ControlPlane(control_plane) = &config.upstreams[0].source else { panic!() };
        let parameters = control_plane.parameters.as_ref().unwrap();
        let filled = weir_upstream::NodeTemplate::new(template(&parameters.node));
        let filled = filled.fill(&[("env", "prod")].into_iter().collect());
        assert_eq!((filled.id.as_str(), &filled.locality), ("w-{1}-prod", &own.locality));
        let (mut metadata, own) = (filled.metadata.unwrap().fields, own.metadata.unwrap().fields);
        assert_eq!(metadata.remove("env").unwrap().kind, Some(Kind::StringValue("prod".into())));
        assert_eq!(metadata, own);
    }
}
