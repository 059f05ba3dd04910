//! The metadata of a node.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
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

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Metadata<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parse<T>(PhantomData<T>);
        impl<'de, T: FromStr<Err: fmt::Display>> Visitor<'de> for Parse<T> {
            type Value = Metadata<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number, a boolean, a list or a table")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Metadata<T>, E> {
                text.parse().map(Metadata::Text).map_err(E::custom)
            }

            fn visit_i64<E>(self, number: i64) -> Result<Metadata<T>, E> {
                Ok(Metadata::Number(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Metadata<T>, E> {
                Ok(Metadata::Number(number))
            }

            fn visit_bool<E>(self, bool: bool) -> Result<Metadata<T>, E> {
                Ok(Metadata::Bool(bool))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Metadata<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Metadata::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Metadata<T>, A::Error> {
                let mut table = BTreeMap::new();
                while let Some((key, item)) = items.next_entry()? {
                    table.insert(key, item);
                }
                Ok(Metadata::Table(table))
            }
        }
        deserializer.deserialize_any(Parse(PhantomData))
    }
}
