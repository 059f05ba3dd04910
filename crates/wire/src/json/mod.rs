//! The JSON form of Envoy's types: the proto3 JSON mapping for every `google.protobuf.Any` of a type that
//! Envoy's API knows.
//!
//! Owns the descriptors of those types. They are data, read on first use; no code is generated from them, and
//! what is passed through is never touched: this is only for configuration written by people, for showing it to
//! people, and for those who use REST-JSON.

pub(crate) mod canonical;
mod constraints;
pub mod discovery;
mod render;
mod suggest;

use std::sync::LazyLock;

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, ExtensionDescriptor, MessageDescriptor};
use serde::de::{DeserializeSeed, Deserializer, Error};

pub use constraints::{Malformed, constraints_from_json, constraints_to_json};
use render::message_to_json;
pub use render::{Unsayable, any_to_json, exact_any_to_json};
pub use suggest::suggestion;
pub(crate) use suggest::suggestion_for_text;

pub(crate) static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(descriptors()).unwrap_or_default());

/// The encoded descriptors of every type of Envoy's API.
pub fn descriptors() -> &'static [u8] {
    include_bytes!(concat!(env!("OUT_DIR"), "/envoy-types.bin"))
}

/// The message of a state-of-the-world response.
pub(crate) const DISCOVERY_RESPONSE: &str = "envoy.service.discovery.v3.DiscoveryResponse";

/// The message that a type URL stands for, if its type is known here.
pub(crate) fn message_of(type_url: &str) -> Option<MessageDescriptor> {
    POOL.get_message_by_name(type_url.rsplit('/').next()?)
}

/// An extension by its full name, if it is known here.
pub(crate) fn extension_of(full_name: &str) -> Option<ExtensionDescriptor> {
    POOL.get_extension_by_name(full_name)
}

/// Whether resources of this type have a JSON form.
pub fn is_known(type_url: &str) -> bool {
    message_of(type_url).is_some()
}

/// Reads a message from its JSON form: a seed, so that errors carry the place that the deserializer knows.
/// The encoding is the same on each reading: map entries are sorted.
#[derive(Clone, Copy, Debug)]
pub struct MessageSeed<'a> {
    full_name: &'a str,
}

impl MessageSeed<'_> {
    /// An object with `@type`: gives the encoded `google.protobuf.Any`.
    pub const ANY: MessageSeed<'static> = MessageSeed { full_name: "google.protobuf.Any" };

    /// A transport wrapper: gives the encoded `envoy.service.discovery.v3.Resource`.
    pub const RESOURCE: MessageSeed<'static> =
        MessageSeed { full_name: "envoy.service.discovery.v3.Resource" };

    /// Gives the encoded `envoy.service.discovery.v3.ResourceError`.
    pub(crate) const RESOURCE_ERROR: MessageSeed<'static> =
        MessageSeed { full_name: "envoy.service.discovery.v3.ResourceError" };

    /// Gives the encoded `envoy.service.discovery.v3.DynamicParameterConstraints`.
    pub const CONSTRAINTS: MessageSeed<'static> =
        MessageSeed { full_name: "envoy.service.discovery.v3.DynamicParameterConstraints" };
}

impl<'de> DeserializeSeed<'de> for MessageSeed<'_> {
    type Value = Bytes;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Bytes, D::Error> {
        let Some(descriptor) = POOL.get_message_by_name(self.full_name) else {
            return Err(Error::custom(format_args!("message '{}' not found", self.full_name)));
        };
        let message = DynamicMessage::deserialize(descriptor, deserializer)?;
        Ok(canonical::encode(&message).into())
    }
}

/// Reads the JSON form of an Any (an object with `@type`) and gives the encoded Any.
pub fn any_from<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    MessageSeed::ANY.deserialize(deserializer)
}

/// The encoded Any of a type that is not known here, from its value in base64: the form in which
/// [`any_to_json`] shows it.
///
/// # Errors
/// When it is not base64.
pub fn opaque_any(type_url: &str, base64: &str) -> Result<Bytes, base64::DecodeError> {
    let value = BASE64_STANDARD.decode(base64)?;
    Ok(prost_types::Any { type_url: type_url.to_owned(), value }.encode_to_vec().into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parse(json: &Value) -> Result<Bytes, serde_json::Error> {
        any_from(json)
    }

    fn cluster() -> Value {
        json!({
            "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            "name": "backend",
            "connect_timeout": "0.250s",
            "lb_policy": "LEAST_REQUEST",
            "per_connection_buffer_limit_bytes": 4096,
            "metadata": { "filter_metadata": { "a": { "x": 1.0, "y": [null, true] }, "b": { "z": "s" } } },
            "typed_extension_protocol_options": {
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                    "@type":
                        "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                    "explicit_http_config": { "http2_protocol_options": {} }
                },
            },
        })
    }

    #[test]
    fn f01_a_resource_goes_there_and_back() {
        let bytes = parse(&cluster()).unwrap();
        assert_eq!(any_to_json(&bytes), cluster());
    }

    #[test]
    fn f01_both_spellings_of_a_field_are_read() {
        let read = |field: &str| {
            let mut json = json!({ "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster" });
            json[field] = "1s".into();
            parse(&json).unwrap()
        };
        assert_eq!(read("connectTimeout"), read("connect_timeout"));
    }

    #[test]
    fn f01_what_does_not_belong_is_named() {
        for (json, wanted) in [
            (json!({ "name": "x" }), "expected '@type' field"),
            (json!({ "@type": "type.googleapis.com/acme.Widget" }), "message 'acme.Widget' not found"),
            (
                json!({ "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "lod": 1 }),
                "unrecognized field name 'lod'",
            ),
            (
                json!({ "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "lb_policy": "X" }),
                "unrecognized enum value 'X'",
            ),
        ] {
            assert_eq!(parse(&json).unwrap_err().to_string(), wanted);
        }
    }

    #[test]
    fn i07_the_encoding_does_not_depend_on_the_order_of_maps() {
        let metadata = |keys: &[&str]| {
            let fields = keys.iter().map(|key| (key.to_string(), json!({ "n": { "x": 1, "y": 2, "z": 3 } })));
            json!({
                "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
                "metadata": { "filter_metadata": serde_json::Map::from_iter(fields) },
                "typed_extension_protocol_options": {
                    "nested": {
                        "@type": "type.googleapis.com/envoy.config.core.v3.Metadata",
                        "filter_metadata": { "a": {}, "b": {}, "c": {}, "d": { "k": 1, "l": 2 } },
                    },
                },
            })
        };
        let first = parse(&metadata(&["a", "b", "c", "d", "e"])).unwrap();
        for _ in 0..20 {
            assert_eq!(parse(&metadata(&["e", "d", "c", "b", "a"])).unwrap(), first);
        }
    }

    #[test]
    fn d02_an_unknown_type_is_shown_as_base64() {
        let inner =
            prost_types::Any { type_url: "acme.example/acme.Widget".into(), value: b"\x00\xff".to_vec() };
        let shown = json!({ "@type": "acme.example/acme.Widget", "value": "AP8=" });
        assert_eq!(any_to_json(&inner.encode_to_vec()), shown);

        let outer = prost_types::Any {
            type_url: "type.googleapis.com/google.protobuf.Any".into(),
            value: inner.encode_to_vec(),
        };
        let nested = json!({ "@type": "type.googleapis.com/google.protobuf.Any", "value": shown });
        assert_eq!(any_to_json(&outer.encode_to_vec()), nested);
    }

    #[test]
    fn e05_malformed_bytes_and_endless_nesting_are_shown_too() {
        let broken = prost_types::Any {
            type_url: "type.googleapis.com/envoy.config.cluster.v3.Cluster".into(),
            value: b"\xff".to_vec(),
        };
        assert_eq!(any_to_json(&broken.encode_to_vec())["value"], "/w==");
        assert_eq!(any_to_json(b"\xff"), json!({ "@type": "", "value": "/w==" }));

        let mut bytes = Vec::new();
        for _ in 0..5_000 {
            let type_url = "type.googleapis.com/google.protobuf.Any".into();
            bytes = prost_types::Any { type_url, value: bytes }.encode_to_vec();
        }
        assert!(any_to_json(&bytes).is_object());
    }
}
