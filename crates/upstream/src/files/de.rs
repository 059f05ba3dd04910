//! Reading values out of a [`Node`]: a serde deserializer whose errors state where they happened.

use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use weir_wire::json::suggestion;
use weir_wire::validate::Violation;

use super::node::{Key, Node, Value};

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Error {
    line: Option<u64>,
    /// From the inside out.
    path: Vec<String>,
    reason: String,
}

impl Error {
    /// A rule that the message in `node` breaks, at the line of the field. Without a node there are no lines.
    pub(super) fn violation(violation: Violation, node: Option<&Node>) -> Self {
        let line = node.map(|node| node.line_of(&violation.path));
        let Violation { mut path, reason } = violation;
        path.reverse();
        Self { line, path, reason }
    }

    /// Adds the line, unless the error has one from further inside. Zero is no line.
    #[must_use]
    pub(super) fn at(mut self, line: u64) -> Self {
        self.line = self.line.or((line > 0).then_some(line));
        self
    }

    /// States what it is in.
    #[must_use]
    pub(super) fn below(mut self, step: impl Into<String>) -> Self {
        self.path.push(step.into());
        self
    }

    /// Adds the name that was probably meant, if the reason is a misspelled name within a message of type `type_url`
    /// that `node` holds.
    #[must_use]
    pub(super) fn with_suggestion(self, node: &Node, type_url: &str) -> Self {
        let path: Vec<_> = self.path.iter().rev().map(String::as_str).collect();
        let (mut node, mut type_url, mut start) = (Some(node), type_url, 0);
        for (i, step) in path.iter().enumerate() {
            node = node.and_then(|node| node.child(step));
            // An Any is a message of its own.
            if let Some(url) = node.and_then(|node| node.get("@type")?.text()) {
                (type_url, start) = (url, i + 1);
            }
        }
        match suggestion(type_url, path[start..].iter().copied(), &self.reason) {
            Some(meant) => self.with_remedy(&format!("did you mean '{meant}'?")),
            None => self,
        }
    }

    /// Adds what to do about it, unless that is known.
    #[must_use]
    pub(super) fn with_remedy(mut self, remedy: &str) -> Self {
        if !self.reason.ends_with('?') {
            self.reason.push_str("; ");
            self.reason.push_str(remedy);
        }
        self
    }

    /// The line, if one is known.
    pub(super) fn line(&self) -> Option<u64> {
        self.line
    }
}

/// `endpoints[0].weight: not a number`
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.path.iter().rev().enumerate() {
            let dot = if i == 0 || step.starts_with('[') { "" } else { "." };
            write!(f, "{dot}{step}")?;
        }
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}", self.reason)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self { line: None, path: Vec::new(), reason: reason.to_string() }
    }
}

/// A deserializer for a node.
#[derive(Clone, Copy)]
pub(super) struct NodeDeserializer<'a> {
    node: &'a Node,
    /// Keys of the outermost mapping that somebody else reads.
    skip: &'static [&'static str],
}

impl<'a> NodeDeserializer<'a> {
    /// Reads all of `node`.
    pub(super) fn new(node: &'a Node) -> Self {
        Self { node, skip: &[] }
    }

    /// Reads the mapping `node` as if it did not have the keys `skip`.
    pub(super) fn without(node: &'a Node, skip: &'static [&'static str]) -> Self {
        Self { node, skip }
    }
}

impl<'de> de::Deserializer<'de> for NodeDeserializer<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let result = match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Signed(value) => visitor.visit_i64(*value),
            Value::Unsigned(value) => visitor.visit_u64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(value) => visitor.visit_borrowed_str(value),
            Value::List(list) => visitor.visit_seq(Items { rest: list, index: 0 }),
            Value::Map(map) => {
                let mut entries = Entries::new(map, self.skip);
                let result = visitor.visit_map(&mut entries);
                result.map_err(|error| entries.locate(error))
            }
        };
        result.map_err(|error| error.at(self.node.line))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Items<'a> {
    rest: &'a [Node],
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some((item, rest)) = self.rest.split_first() else { return Ok(None) };
        let index = self.index;
        (self.rest, self.index) = (rest, index + 1);
        let value = seed.deserialize(NodeDeserializer::new(item));
        value.map(Some).map_err(|error| error.below(format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The entries of a mapping, `@type` first: the reader of an Any then need not put the others aside, which
/// would lose their places.
struct Entries<'a> {
    rest: std::vec::IntoIter<&'a (Key, Node)>,
    current: Option<&'a (Key, Node)>,
}

impl<'a> Entries<'a> {
    fn new(map: &'a [(Key, Node)], skip: &[&str]) -> Self {
        let (types, others): (Vec<_>, Vec<_>) = map
            .iter()
            .filter(|(key, _)| !skip.contains(&key.text.as_str()))
            .partition(|(key, _)| key.text == "@type");
        let entries: Vec<_> = types.into_iter().chain(others).collect();
        Self { rest: entries.into_iter(), current: None }
    }

    /// An error without a place is about the key that was read last.
    fn locate(&self, error: Error) -> Error {
        match self.current {
            Some((key, _)) => error.at(key.line),
            None => error,
        }
    }
}

impl<'de> MapAccess<'de> for &mut Entries<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.current = self.rest.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(&key.text)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some((key, node)) = self.current else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(NodeDeserializer::new(node)).map_err(|error| error.below(key.text.as_str()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}
