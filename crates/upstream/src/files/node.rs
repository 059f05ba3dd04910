//! A document as a tree in which every part knows its place, so that whatever turns out to be wrong with it
//! later can be pointed at.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{MessageFormatter, Spanned, UserMessageFormatter};

use super::de::Error;

/// How deep lists and mappings may nest: enough for constraints at their own limit, little enough for a
/// thread's stack.
const MAX_DEPTH: usize = 128;

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// Where it starts; the first line is 1.
    pub(super) line: u64,
    pub(super) value: Value,
}

/// What a part holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) line: u64,
    pub(super) text: String,
}

/// The syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Json,
    Yaml,
}

impl Node {
    /// The documents in `text`; empty ones are left out.
    pub(super) fn parse(text: &str, syntax: Syntax) -> Result<Vec<Self>, Error> {
        if syntax == Syntax::Json {
            // JSON is YAML too, and is read as such once it is known not to be YAML only.
            serde_json::from_str::<IgnoredAny>(text).map_err(json_error)?;
        }
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_depth: MAX_DEPTH,
                flow_nesting_limit: MAX_DEPTH,
                max_events: 100_000_000,
                max_nodes: 50_000_000,
                max_total_scalar_bytes: 1 << 30,
            },
            strict_booleans: true,
            with_snippet: false,
        };
        let documents = serde_saphyr::from_multiple_with_options::<Self>(text, options);
        documents.map_err(|error| yaml_error(&error))
    }

    /// The value of `key`, where this is a mapping that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|(found, _)| found.text == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The part that a step of a path leads to: a key of a mapping, or `[0]` for an item of a list.
    pub(super) fn child(&self, step: &str) -> Option<&Self> {
        match &self.value {
            Value::List(items) => {
                let index = step.strip_prefix('[')?.strip_suffix(']')?.parse::<usize>().ok()?;
                items.get(index)
            }
            _ => self.get(step),
        }
    }

    /// The line of the field at `path`, or of what is nearest to it on the way there.
    pub(super) fn line_of(&self, path: &[String]) -> u64 {
        let Some((step, rest)) = path.split_first() else { return self.line };
        let found = match &self.value {
            Value::Map(entries) => entries.iter().find(|(key, _)| is_field(&key.text, step)),
            _ => return self.child(step).map_or(self.line, |item| item.line_of(rest)),
        };
        match found {
            Some((key, _)) if rest.is_empty() => key.line,
            Some((_, node)) => node.line_of(rest),
            None => self.line,
        }
    }

    /// The text, where this is one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Whether `key` spells the field `name`, as it is or in lowerCamelCase.
fn is_field(key: &str, name: &str) -> bool {
    let letters = |text: &str| text.replace('_', "").to_lowercase();
    key == name || letters(key) == letters(name)
}

fn json_error(error: serde_json::Error) -> Error {
    let text = error.to_string();
    let reason = text.split_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    Error::custom(reason).at(error.line() as u64)
}

fn yaml_error(error: &serde_saphyr::Error) -> Error {
    let text = UserMessageFormatter.format_message(error.without_snippet()).into_owned();
    let line = error.location().map_or(0, |location| location.line());
    Error::custom(text).at(line)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { line: spanned.defined.line(), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<String>::deserialize(deserializer)?;
        Ok(Self { line: spanned.defined.line(), text: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Signed(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Value::Map(map))
    }
}
