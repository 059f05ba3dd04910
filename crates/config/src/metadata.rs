//! The metadata of a node.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// A value in a node's metadata: a `google.protobuf.Value` as TOML can write it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Metadata<T = String> {
    /// A string.
    Text(T),
    /// A number.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// A list.
    List(Vec<Metadata<T>>),
    /// A table.
    Table(BTreeMap<String, Metadata<T>>),
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parse;
        impl<'de> Visitor<'de> for Parse {
            type Value = Metadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number, a boolean, a list or a table")
            }

            fn visit_str<E>(self, text: &str) -> Result<Metadata, E> {
                Ok(Metadata::Text(text.to_owned()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Metadata, E> {
                Ok(Metadata::Number(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Metadata, E> {
                Ok(Metadata::Number(number))
            }

            fn visit_bool<E>(self, bool: bool) -> Result<Metadata, E> {
                Ok(Metadata::Bool(bool))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Metadata, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Metadata::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Metadata, A::Error> {
                let mut table = BTreeMap::new();
                while let Some((key, item)) = items.next_entry()? {
                    table.insert(key, item);
                }
                Ok(Metadata::Table(table))
            }
        }
        deserializer.deserialize_any(Parse)
    }
}
