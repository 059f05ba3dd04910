//! By which fields of their nodes, and by which values of headers, two parameter sets differ.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::{Value, json};
use weir_admin::Upstream;
use weir_types::NODE_KEY;

use crate::operate::admin::Admin;

/// Adds to each variant that is for another node, as `differs`, in which forwarded fields that one differs from the node of
/// the client.
pub(super) fn compare(admin: &Admin, document: &mut Value) -> Result<()> {
    let is_about_nodes = |mismatch: &Value| mismatch["given"].get(NODE_KEY).is_some_and(Value::is_string);
    let Some(mismatches) = document["mismatches"].as_array_mut() else { return Ok(()) };
    if !mismatches.iter().any(is_about_nodes) {
        return Ok(());
    }
    let nodes = nodes(admin)?;
    for mismatch in mismatches.iter_mut().filter(|mismatch| is_about_nodes(mismatch)) {
        let own = mismatch["given"][NODE_KEY].as_str().and_then(|digest| nodes.get(digest));
        let other = wanted(&mismatch["requirement"]).and_then(|digest| nodes.get(digest));
        if let (Some(own), Some(other)) = (own, other) {
            mismatch["differs"] = json!(differences(own, other));
        }
    }
    Ok(())
}

/// The digest of the node that a constraint asks for.
fn wanted(requirement: &Value) -> Option<&str> {
    let (_, from_key) = requirement.as_str()?.split_once(NODE_KEY)?;
    from_key.strip_prefix('=')?.split(|c: char| !c.is_ascii_hexdigit()).next()
}

/// What is forwarded now, by digest.
fn nodes(admin: &Admin) -> Result<BTreeMap<String, Value>> {
    let upstreams: Vec<Upstream> = admin.list("/upstreams", &[])?;
    let nodes = upstreams.into_iter().filter_map(|mut upstream| {
        let digest = upstream.parameters.as_mut()?.remove(NODE_KEY)?;
        Some((digest, forwarded(&upstream)))
    });
    Ok(nodes.collect())
}

/// What two sets may differ by.
fn forwarded(Upstream { forwarded, header_values, .. }: &Upstream) -> Value {
    json!({ "node": forwarded, "header_values": header_values })
}

/// The fields in which `own` and `other` differ, with both values.
fn differences(own: &Value, other: &Value) -> Vec<String> {
    let (mut fields, mut all) = (BTreeMap::new(), BTreeSet::new());
    for (place, forwarded) in [own, other].into_iter().enumerate() {
        flatten(String::new(), forwarded, &mut |field, value| {
            all.insert(field.clone());
            fields.insert((field, place), value);
        });
    }
    let value = |field: &String, place| {
        fields.get(&(field.clone(), place)).map_or_else(|| "nothing".to_owned(), ToString::to_string)
    };
    let pairs = all.iter().map(|field| (field, value(field, 0), value(field, 1)));
    let differing = pairs.filter(|(_, own, other)| own != other);
    differing.map(|(field, own, other)| format!("{field} is {own} here, and {other} there")).collect()
}

/// Gives each scalar and list in `value` to `field`, with its path.
fn flatten(path: String, value: &Value, field: &mut impl FnMut(String, Value)) {
    match value {
        Value::Object(table) => {
            let under = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            table.iter().for_each(|(key, value)| flatten(under(key), value, field));
        }
        other => field(path, other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use weir_admin::Node;

    use super::*;

    #[test]
    fn p19_the_fields_that_differ_are_named_with_their_values() {
        let set = |id: &str, metadata: Value, spiffe: &str| {
            let node = Node { id: id.to_owned(), metadata, ..Node::default() };
            json!({ "node": node, "header_values": { "identity.spiffe": spiffe } })
        };
        let own = set("a", json!({ "labels": { "app": "web", "tier": "edge" } }), "spiffe://td/a");
        let other = set("b", json!({ "labels": { "app": "web" }, "n": [1] }), "spiffe://td/b");
        assert_eq!(
            differences(&own, &other),
            [
                "header_values.identity.spiffe is \"spiffe://td/a\" here, and \"spiffe://td/b\" there",
                "node.id is \"a\" here, and \"b\" there",
                "node.metadata.labels.tier is \"edge\" here, and nothing there",
                "node.metadata.n is nothing here, and [1] there",
            ]
        );
        assert_eq!(differences(&own, &own), [""; 0]);
    }
}
