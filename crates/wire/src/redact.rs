//! Resources without their secrets, for people: the fields that Envoy's API marks as sensitive
//! (`udpa.annotations.sensitive`) are rendered as `[redacted]`, wherever they are, also in an Any within an Any.
//!
//! What is of a type without a descriptor is left as it is, but for secrets, which are then left out whole.

use bytes::Bytes;
use prost::Message;
use prost_reflect::{DynamicMessage, ExtensionDescriptor, FieldDescriptor, ReflectMessage, Value};
use weir_types::{Kind, TypeUrl};

use crate::json::{extension_of, message_of};

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// The extension of field options that marks a field.
pub(crate) const SENSITIVE: &str = "udpa.annotations.sensitive";

/// How deep messages and Anys are opened; what is below is left out.
const MAX_DEPTH: usize = 100;

/// The encoded Any of a resource, without its secrets.
pub fn redacted(any: &[u8]) -> Bytes {
    let Ok(any) = prost_types::Any::decode(any) else { return Bytes::new() };
    Redactor { sensitive: extension_of(SENSITIVE) }.any(any, 0).encode_to_vec().into()
}

struct Redactor {
    /// None where it is not known what is sensitive, so that nothing can be shown.
    sensitive: Option<ExtensionDescriptor>,
}

impl Redactor {
    fn any(&self, any: prost_types::Any, depth: usize) -> prost_types::Any {
        let hidden = |any: prost_types::Any| prost_types::Any { value: Vec::new(), ..any };
        if depth >= MAX_DEPTH || self.sensitive.is_none() {
            return hidden(any);
        }
        let Some(descriptor) = message_of(&any.type_url) else {
            let is_secret = TypeUrl::new(any.type_url.as_str()).kind_of_message() == Kind::Secret;
            return if is_secret { hidden(any) } else { any };
        };
        let Ok(mut message) = DynamicMessage::decode(descriptor, &any.value[..]) else { return hidden(any) };
        self.message(&mut message, false, depth + 1);
        prost_types::Any { value: message.encode_to_vec(), ..any }
    }

    /// Takes the secrets out of a message, or everything if it is one.
    fn message(&self, message: &mut DynamicMessage, all: bool, depth: usize) {
        if depth >= MAX_DEPTH {
            message.clear();
            return;
        }
        if message.descriptor().full_name() == "google.protobuf.Any" {
            let inner = message.transcode_to::<prost_types::Any>().ok().filter(|_| !all);
            // What is transcoded is merged, so that what is no longer there would stay.
            message.clear();
            if let Some(redacted) = inner.map(|any| self.any(any, depth))
                && message.transcode_from(&redacted).is_err()
            {
                message.clear();
            }
            return;
        }
        for (field, value) in message.fields_mut() {
            let all = all || self.is_sensitive(&field);
            self.value(value, all, depth);
        }
    }

    fn value(&self, value: &mut Value, all: bool, depth: usize) {
        match value {
            Value::String(text) if all => *text = REDACTED.to_owned(),
            Value::Bytes(bytes) if all => *bytes = Bytes::from_static(REDACTED.as_bytes()),
            Value::Message(inner) => self.message(inner, all, depth + 1),
            Value::List(list) => list.iter_mut().for_each(|item| self.value(item, all, depth)),
            Value::Map(map) => map.values_mut().for_each(|item| self.value(item, all, depth)),
            _ => {}
        }
    }

    fn is_sensitive(&self, field: &FieldDescriptor) -> bool {
        let Some(sensitive) = &self.sensitive else { return true };
        field.options().get_extension(sensitive).as_bool() == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::{any_from, any_to_json};

    fn shown(json: &Value) -> Value {
        any_to_json(&redacted(&any_from(json).unwrap()))
    }

    const SECRET: &str = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

    #[test]
    fn secrets_are_shown_without_what_is_secret() {
        let secret = |key: &str| {
            json!({
                "@type": SECRET,
                "name": "server",
                "tls_certificate": {
                    "certificate_chain": { "inline_string": "public" },
                    "private_key": { "inline_string": key },
                },
            })
        };
        assert_eq!(shown(&secret("hush")), secret(REDACTED));
        let generic =
            json!({ "@type": SECRET, "generic_secret": { "secret": { "inline_bytes": "aHVzaA==" } } });
        let text = shown(&generic).to_string();
        assert!(!text.contains("aHVzaA"), "{text}");
    }

    #[test]
    fn keys_that_stand_in_other_resources_are_not_shown_either() {
        let cluster = |key: &str| {
            json!({
                "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
                "name": "backend",
                "connect_timeout": "0.250s",
                "transport_socket": {
                    "name": "tls",
                    "typed_config": {
                        "@type":
                            "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
                        "sni": "backend",
                        "common_tls_context": {
                            "tls_certificates": [{ "private_key": { "inline_string": key } }],
                        },
                    },
                },
            })
        };
        assert_eq!(shown(&cluster("hush")), cluster(REDACTED));
    }

    #[test]
    fn what_is_not_known_is_shown_unless_it_is_a_secret() {
        let any = |type_url: &str| prost_types::Any { type_url: type_url.to_owned(), value: b"x".to_vec() };
        let value =
            |any: &prost_types::Any| prost_types::Any::decode(redacted(&any.encode_to_vec())).unwrap().value;
        assert_eq!(value(&any("type.googleapis.com/acme.Widget")), b"x");
        assert_eq!(value(&any("type.googleapis.com/envoy.api.v2.auth.Secret")), b"");
        assert_eq!(value(&any(SECRET)), b"", "it is malformed");
        assert!(redacted(b"\xff").is_empty());
        let type_url = "type.googleapis.com/google.protobuf.Any";
        let outer = prost_types::Any { value: any(SECRET).encode_to_vec(), ..any(type_url) };
        assert_eq!(prost_types::Any::decode(&*value(&outer)).unwrap().value, b"", "also within another");
    }

    #[test]
    fn e05_endless_nesting_is_cut() {
        let mut bytes = Vec::new();
        for _ in 0..5_000 {
            let type_url = "type.googleapis.com/google.protobuf.Any".into();
            bytes = prost_types::Any { type_url, value: bytes }.encode_to_vec();
        }
        assert!(redacted(&bytes).len() < bytes.len());
    }
}
