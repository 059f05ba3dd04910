//! Encoding a message so that equal messages are equal bytes: versions are hashes of content, and a map has no
//! order of its own.

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use prost_reflect::{DynamicMessage, FieldDescriptor, MapKey, ReflectMessage, Value};

use super::message_of;

/// The encoded message, fields by number and map entries by key, in nested Anys too.
pub(crate) fn encode(message: &DynamicMessage) -> Vec<u8> {
    if let Some(any) = encode_any(message) {
        return any;
    }
    let mut fields: Vec<_> = message.fields().collect();
    fields.sort_unstable_by_key(|(field, _)| field.number());
    let mut out = Vec::new();
    for (field, value) in fields {
        encode_field(message, &field, value, &mut out);
    }
    out
}

/// An Any of a known type holds an encoded message; its maps are in any order so far.
fn encode_any(message: &DynamicMessage) -> Option<Vec<u8>> {
    if message.descriptor().full_name() != "google.protobuf.Any" {
        return None;
    }
    let any: prost_types::Any = message.transcode_to().ok()?;
    let inner = DynamicMessage::decode(message_of(&any.type_url)?, &any.value[..]).ok()?;
    Some(prost_types::Any { type_url: any.type_url, value: encode(&inner) }.encode_to_vec())
}

fn encode_field(message: &DynamicMessage, field: &FieldDescriptor, value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Message(inner) => encode_bytes(field.number(), &encode(inner), out),
        Value::List(list) if list.iter().any(|item| item.as_message().is_some()) => {
            for inner in list.iter().filter_map(Value::as_message) {
                encode_bytes(field.number(), &encode(inner), out);
            }
        }
        Value::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in entries {
                encode_bytes(field.number(), &encode_entry(field, key, value), out);
            }
        }
        scalar => {
            let mut alone = DynamicMessage::new(message.descriptor());
            alone.set_field(field, scalar.clone());
            out.extend(alone.encode_to_vec());
        }
    }
}

fn encode_entry(field: &FieldDescriptor, key: &MapKey, value: &Value) -> Vec<u8> {
    let kind = field.kind();
    let Some(entry) = kind.as_message() else { return Vec::new() };
    let mut message = DynamicMessage::new(entry.clone());
    message.set_field(&entry.map_entry_key_field(), key.clone().into());
    message.set_field(&entry.map_entry_value_field(), value.clone());
    encode(&message)
}

fn encode_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
