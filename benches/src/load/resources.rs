//! The resources of a run: valid messages of Envoy's types, of the size that is asked for.

use std::time::{Duration, Instant};

use bytes::Bytes;
use prost::Message;
use weir_types::TypeUrl;
use weir_wire::discovery::dynamic_parameter_constraints::single_constraint::ConstraintType;
use weir_wire::discovery::dynamic_parameter_constraints::{SingleConstraint, Type};
use weir_wire::discovery::{DynamicParameterConstraints, Resource, ResourceName};

/// The dynamic parameter that distinguishes variants.
pub(crate) const KEY: &str = "env";
/// What stands before the time at which a resource was published.
const MARK: &[u8; 8] = b"\x01w@e%i~r";
/// A field that Envoy's types do not have, so that it passes and has no effect.
const PADDING: u32 = 1000;

/// A resource to be published.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) name: String,
    /// Its value of [`KEY`]; none if it is for everyone.
    pub(crate) variant: Option<String>,
}

/// The type URL of a short name.
pub(crate) fn type_url(short: &str) -> String {
    TypeUrl::from_short_name(short).map_or_else(|| short.to_owned(), |known| known.as_str().to_owned())
}

/// The value of [`KEY`] that is the `n`th.
pub(crate) fn variant(n: usize) -> String {
    format!("e{n}")
}

/// The name of the `n`th resource of a type.
pub(crate) fn name(short: &str, n: usize) -> String {
    format!("{short}-{n:05}")
}

/// An encoded `Resource` whose body has about `size` bytes, and the time `now` since the run began in it.
pub(crate) fn resource(type_url: &str, key: &Key, size: usize, now: Duration, version: u64) -> Bytes {
    let mut padding = vec![0x2a; size.saturating_sub(key.name.len() + MARK.len() + 16)];
    padding.extend_from_slice(MARK);
    padding.extend_from_slice(&(now.as_micros() as u64).to_le_bytes());
    let mut body = Vec::with_capacity(size);
    prost::encoding::string::encode(1, &key.name, &mut body);
    prost::encoding::bytes::encode(PADDING, &padding, &mut body);
    let body = prost_types::Any { type_url: type_url.to_owned(), value: body };
    let mut resource = Resource {
        version: version.to_string(),
        resource: Some(body.encode_to_vec().into()),
        ..Resource::default()
    };
    match &key.variant {
        None => resource.name = key.name.clone(),
        Some(value) => {
            resource.resource_name =
                Some(ResourceName { name: key.name.clone(), dynamic_parameter_constraints: Some(is(value)) });
        }
    }
    resource.encode_to_vec().into()
}

fn is(value: &str) -> DynamicParameterConstraints {
    let constraint_type = Some(ConstraintType::Value(value.to_owned()));
    let single = SingleConstraint { key: KEY.to_owned(), constraint_type };
    DynamicParameterConstraints { r#type: Some(Type::Constraint(single)) }
}

/// How old each resource in these bytes is.
pub(crate) fn ages(bytes: &[u8], start: Instant) -> impl Iterator<Item = Duration> {
    let now = start.elapsed();
    let marks = bytes.windows(MARK.len() + 8).filter(|window| window.starts_with(MARK));
    marks.filter_map(move |window| {
        let published = window.last_chunk().map(|bytes| u64::from_le_bytes(*bytes))?;
        Some(now.saturating_sub(Duration::from_micros(published)))
    })
}

/// A `Node` as large as an Envoy's: `size` bytes, most of them descriptors of extensions. The id comes
/// separately, since each client has its own.
pub(crate) fn node(size: usize) -> Vec<u8> {
    let mut node = Vec::with_capacity(size);
    prost::encoding::string::encode(2, &"edge".to_owned(), &mut node);
    prost::encoding::string::encode(6, &"envoy".to_owned(), &mut node);
    for n in 0.. {
        let mut extension = Vec::new();
        prost::encoding::string::encode(1, &format!("envoy.filters.http.extension_{n:04}"), &mut extension);
        prost::encoding::string::encode(2, &"envoy.filters.http".to_owned(), &mut extension);
        let config = "envoy.extensions.filters.http.something.v3.Something".to_owned();
        prost::encoding::string::encode(5, &config, &mut extension);
        if node.len() + extension.len() + 2 > size {
            break;
        }
        // `Node.extensions`.
        prost::encoding::bytes::encode(9, &extension, &mut node);
    }
    node
}

#[cfg(test)]
mod tests {
    use weir_wire::discovery::Node;

    use super::*;

    fn key(variant: Option<&str>) -> Key {
        Key { name: "cds-1".into(), variant: variant.map(Into::into) }
    }

    #[test]
    fn a_resource_has_the_size_that_was_asked_for() {
        for size in [300, 1024, 65_536] {
            let resource = resource("t", &key(None), size, Duration::ZERO, 1);
            let body = Resource::decode(resource).unwrap().resource.unwrap();
            let body = prost_types::Any::decode(body).unwrap().value;
            assert!(body.len().abs_diff(size) < 16, "{} is about {size}", body.len());
        }
    }

    #[test]
    fn ages_are_found_in_whatever_is_around_them() {
        let start = Instant::now();
        let now = start.elapsed();
        let mut bytes = resource("t", &key(None), 300, now, 1).to_vec();
        bytes.extend(resource("t", &key(Some("e1")), 300, now, 1));
        let ages: Vec<_> = ages(&bytes, start).collect();
        assert_eq!(ages.len(), 2);
        assert!(ages.iter().all(|age| *age < Duration::from_secs(60)));
    }

    #[test]
    fn a_node_is_as_large_as_an_envoys() {
        let bytes = node(61_000);
        assert!((60_800..=61_000).contains(&bytes.len()), "{}", bytes.len());
        assert_eq!(Node::decode(&*bytes).unwrap().user_agent_name, "envoy");
    }
}
