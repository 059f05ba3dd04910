//! Showing an Any as JSON, whatever is in it.

use base64::prelude::{BASE64_STANDARD, Engine};
use prost::Message;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, ReflectMessage, Value as Field};
use serde_json::{Map, Value};

use super::message_of;

/// How deep messages and Anys are opened; what is below is shown as base64. Prost's own limit starts anew in
/// each Any.
const MAX_DEPTH: usize = 100;

/// The types whose JSON form is not an object of their fields, and so stands under `value` in an Any.
const WELL_KNOWN: [&str; 17] = [
    "Any",
    "BoolValue",
    "BytesValue",
    "DoubleValue",
    "Duration",
    "Empty",
    "FieldMask",
    "FloatValue",
    "Int32Value",
    "Int64Value",
    "ListValue",
    "StringValue",
    "Struct",
    "Timestamp",
    "UInt32Value",
    "UInt64Value",
    "Value",
];

/// The JSON form of an encoded Any, with the field names of the proto files. What cannot be read — a type that
/// is not known here, malformed bytes — is shown as `{"@type": …, "value": base64}`.
pub fn any_to_json(bytes: &[u8]) -> Value {
    match prost_types::Any::decode(bytes) {
        Ok(any) => render_any(&any, 0),
        Err(_) => opaque("", bytes),
    }
}

fn opaque(type_url: &str, bytes: &[u8]) -> Value {
    tagged(type_url, [("value".to_owned(), BASE64_STANDARD.encode(bytes).into())])
}

fn tagged(type_url: &str, fields: impl IntoIterator<Item = (String, Value)>) -> Value {
    let mut object = Map::from_iter([("@type".to_owned(), Value::from(type_url))]);
    object.extend(fields);
    Value::Object(object)
}

fn render_any(any: &prost_types::Any, depth: usize) -> Value {
    let type_url = &any.type_url;
    let inner = message_of(type_url).filter(|_| depth < MAX_DEPTH);
    let Some(Ok(message)) = inner.map(|inner| DynamicMessage::decode(inner, &any.value[..])) else {
        return opaque(type_url, &any.value);
    };
    match render(&message, depth + 1) {
        Value::Object(fields) if !is_well_known(&message) => tagged(type_url, fields),
        value => tagged(type_url, [("value".to_owned(), value)]),
    }
}

fn is_well_known(message: &DynamicMessage) -> bool {
    let descriptor = message.descriptor();
    descriptor.package_name() == "google.protobuf" && WELL_KNOWN.contains(&descriptor.name())
}

fn render(message: &DynamicMessage, depth: usize) -> Value {
    if message.descriptor().full_name() == "google.protobuf.Any" {
        return message.transcode_to().map_or(Value::Null, |any| render_any(&any, depth));
    }
    if is_well_known(message) {
        return serde_json::to_value(message).unwrap_or_default();
    }
    let fields =
        message.fields().map(|(field, value)| (field.name().to_owned(), render_field(&field, value, depth)));
    Value::Object(fields.collect())
}

fn render_field(field: &FieldDescriptor, value: &Field, depth: usize) -> Value {
    match value {
        Field::List(list) => list.iter().map(|item| render_value(&field.kind(), item, depth)).collect(),
        Field::Map(map) => {
            let entry = field.kind();
            let kind = entry.as_message().map_or(Kind::String, |entry| entry.map_entry_value_field().kind());
            let entries = map.iter().map(|(key, value)| (render_key(key), render_value(&kind, value, depth)));
            Value::Object(entries.collect())
        }
        value => render_value(&field.kind(), value, depth),
    }
}

fn render_key(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}

/// One value: 64-bit integers are strings and enums are names, as the proto3 JSON mapping has it.
fn render_value(kind: &Kind, value: &Field, depth: usize) -> Value {
    match value {
        Field::Bool(value) => (*value).into(),
        Field::I32(value) => (*value).into(),
        Field::U32(value) => (*value).into(),
        Field::I64(value) => value.to_string().into(),
        Field::U64(value) => value.to_string().into(),
        // By way of its shortest form: 0.1 stays 0.1.
        Field::F32(value) => render_float(value.to_string().parse().unwrap_or_default()),
        Field::F64(value) => render_float(*value),
        Field::String(value) => value.as_str().into(),
        Field::Bytes(value) => BASE64_STANDARD.encode(value).into(),
        Field::EnumNumber(number) => {
            let name = kind.as_enum().and_then(|kind| kind.get_value(*number));
            name.map_or_else(|| Value::from(*number), |value| value.name().into())
        }
        Field::Message(inner) => render(inner, depth),
        Field::List(_) | Field::Map(_) => Value::Null,
    }
}

/// A finite number, or the name of what is none.
fn render_float(value: f64) -> Value {
    match value {
        value if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        value => value.into(),
    }
}
