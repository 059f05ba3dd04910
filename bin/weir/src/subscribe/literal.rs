//! A node as a template that fills to just that node, whatever braces are in it.

use prost_types::value::Kind;
use prost_types::{Struct, Value};
use weir_upstream::{NodeTemplate, escape};
use weir_wire::discovery::Node;

/// The template without placeholders.
pub(crate) fn template(mut node: Node) -> NodeTemplate {
    let literal = |text: &mut String| *text = escape(text);
    literal(&mut node.id);
    literal(&mut node.cluster);
    if let Some(locality) = &mut node.locality {
        [&mut locality.region, &mut locality.zone, &mut locality.sub_zone].into_iter().for_each(literal);
    }
    node.metadata.iter_mut().for_each(literal_struct);
    NodeTemplate::new(node)
}

fn literal_struct(metadata: &mut Struct) {
    metadata.fields.values_mut().for_each(literal_value);
}

fn literal_value(value: &mut Value) {
    match &mut value.kind {
        Some(Kind::StringValue(text)) => *text = escape(text),
        Some(Kind::StructValue(inner)) => literal_struct(inner),
        Some(Kind::ListValue(list)) => list.values.iter_mut().for_each(literal_value),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use weir_types::DynamicParameters;
    use weir_wire::discovery::Locality;

    use super::*;

    #[test]
    fn braces_are_only_braces() {
        let text = || Value { kind: Some(Kind::StringValue("{a}".into())) };
        let list = Value { kind: Some(Kind::ListValue(prost_types::ListValue { values: vec![text()] })) };
        let inner = Struct { fields: [("t".to_owned(), text()), ("l".to_owned(), list)].into() };
        let outer = Value { kind: Some(Kind::StructValue(inner)) };
        let node = Node {
            id: "{id}".into(),
            locality: Some(Locality { zone: "}".into(), ..Locality::default() }),
            metadata: Some(Struct { fields: [("s".to_owned(), outer)].into() }),
            ..Node::default()
        };
        assert_eq!(template(node.clone()).fill(&DynamicParameters::empty()), node);
    }
}
