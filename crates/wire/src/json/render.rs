//! Messages as JSON: for people, whatever is in them, and for clients, if all of it has a JSON form.

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
    Renderer::default().encoded_any(bytes)
}

/// As [`any_to_json`], for someone who takes it for the whole truth.
///
/// # Errors
/// When there is something in it that has no JSON form.
pub fn exact_any_to_json(bytes: &[u8]) -> Result<Value, Unsayable> {
    let mut renderer = Renderer::default();
    let value = renderer.encoded_any(bytes);
    renderer.unsayable.map_or(Ok(value), Err)
}

/// The JSON form of an encoded message of a type that is known here; null if it is not.
pub(super) fn message_to_json(full_name: &str, bytes: &[u8]) -> Value {
    let message = message_of(full_name).and_then(|descriptor| DynamicMessage::decode(descriptor, bytes).ok());
    message.map_or(Value::Null, |message| Renderer::default().message(&message, 0))
}

/// Why a message has no JSON form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsayable {
    /// An Any of a type without a descriptor.
    #[error("its JSON form needs the descriptor of {0:?}, which is not known")]
    Type(String),
    /// A field that the type did not have when the descriptors were made.
    #[error("field {number} of {message} is not known, and has no JSON form")]
    Field {
        /// The full name of the message.
        message: String,
        /// The number of the field.
        number: u32,
    },
    /// Bytes that are not what they are declared as.
    #[error("it is not a well-formed {0}")]
    Malformed(String),
    /// Messages in messages, over the limit.
    #[error("it nests messages deeper than {MAX_DEPTH} levels")]
    Depth,
}

/// Renders messages, and remembers the first thing that it could not render.
#[derive(Default)]
struct Renderer {
    unsayable: Option<Unsayable>,
}

impl Renderer {
    fn encoded_any(&mut self, bytes: &[u8]) -> Value {
        match prost_types::Any::decode(bytes) {
            Ok(any) => self.any(&any, 0),
            Err(_) => self.opaque("", bytes, Unsayable::Malformed("google.protobuf.Any".to_owned())),
        }
    }

    fn opaque(&mut self, type_url: &str, bytes: &[u8], why: Unsayable) -> Value {
        self.unsayable.get_or_insert(why);
        tagged(type_url, [("value".to_owned(), BASE64_STANDARD.encode(bytes).into())])
    }

    fn any(&mut self, any: &prost_types::Any, depth: usize) -> Value {
        let (type_url, value) = (&any.type_url, &any.value);
        if depth >= MAX_DEPTH {
            return self.opaque(type_url, value, Unsayable::Depth);
        }
        let Some(descriptor) = message_of(type_url) else {
            return self.opaque(type_url, value, Unsayable::Type(type_url.clone()));
        };
        let malformed = || Unsayable::Malformed(descriptor.full_name().to_owned());
        let Ok(message) = DynamicMessage::decode(descriptor.clone(), &value[..]) else {
            return self.opaque(type_url, value, malformed());
        };
        match self.message(&message, depth + 1) {
            Value::Object(fields) if !is_well_known(&message) => tagged(type_url, fields),
            value => tagged(type_url, [("value".to_owned(), value)]),
        }
    }

    fn message(&mut self, message: &DynamicMessage, depth: usize) -> Value {
        if message.descriptor().full_name() == "google.protobuf.Any" {
            return message.transcode_to().map_or(Value::Null, |any| self.any(&any, depth));
        }
        if let Some(field) = message.unknown_fields().next() {
            let (message, number) = (message.descriptor().full_name().to_owned(), field.number());
            self.unsayable.get_or_insert(Unsayable::Field { message, number });
        }
        if is_well_known(message) {
            return serde_json::to_value(message).unwrap_or_default();
        }
        let fields = message.fields();
        let fields = fields.map(|(field, value)| (field.name().to_owned(), self.field(&field, value, depth)));
        Value::Object(fields.collect())
    }

    fn field(&mut self, field: &FieldDescriptor, value: &Field, depth: usize) -> Value {
        match value {
            Field::List(list) => list.iter().map(|item| self.value(&field.kind(), item, depth)).collect(),
            Field::Map(map) => {
                let entry = field.kind();
                let kind =
                    entry.as_message().map_or(Kind::String, |entry| entry.map_entry_value_field().kind());
                let entries =
                    map.iter().map(|(key, value)| (render_key(key), self.value(&kind, value, depth)));
                Value::Object(entries.collect())
            }
            value => self.value(&field.kind(), value, depth),
        }
    }

    /// One value: 64-bit integers are strings and enums are names, as the proto3 JSON mapping has it.
    fn value(&mut self, kind: &Kind, value: &Field, depth: usize) -> Value {
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
            Field::Message(inner) => self.message(inner, depth),
            Field::List(_) | Field::Map(_) => Value::Null,
        }
    }
}

fn tagged(type_url: &str, fields: impl IntoIterator<Item = (String, Value)>) -> Value {
    let mut object = Map::from_iter([("@type".to_owned(), Value::from(type_url))]);
    object.extend(fields);
    Value::Object(object)
}

fn is_well_known(message: &DynamicMessage) -> bool {
    let descriptor = message.descriptor();
    descriptor.package_name() == "google.protobuf" && WELL_KNOWN.contains(&descriptor.name())
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

/// A finite number, or the name of what is none.
fn render_float(value: f64) -> Value {
    match value {
        value if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        value => value.into(),
    }
}
