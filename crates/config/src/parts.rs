//! Reads a table whose keys belong to several structs, each by itself.
//!
//! Which of them a table has is decided by its keys. Serde's own ways for this (`flatten`, `untagged`, `tag`) lose the lines
//! of errors, and unknown keys.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::value::Error;
use serde::de::{Deserializer, Error as _, IgnoredAny, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::findings::Findings;
use crate::places::unknown_key;
use crate::sections::{Broken, Read, Sections};

/// The keys of one table that belong to no part yet.
pub(crate) struct Parts<'a, 'i> {
    sections: &'a mut Sections<'i>,
    /// Of the table.
    key: String,
    span: Range<usize>,
    table: DeTable<'i>,
    /// Keys of all parts that were asked for.
    known: Vec<&'static str>,
}

impl<'a, 'i> Parts<'a, 'i> {
    /// The parts of the table at `key`.
    pub(crate) fn of(sections: &'a mut Sections<'i>, key: &str, value: Spanned<DeValue<'i>>) -> Read<Self> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(table) => {
                Ok(Self { sections, key: key.to_owned(), span, table, known: Vec::new() })
            }
            other => {
                let value = Spanned::new(span, other);
                sections.read::<BTreeMap<String, IgnoredAny>>(value).and(Err(Broken))
            }
        }
    }

    /// Whether the table has `key`, and no part has been read that it belongs to.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Reads a part.
    pub(crate) fn read<T: Deserialize<'i>>(&mut self) -> Read<T> {
        let table = self.take::<T>();
        self.sections.read(Spanned::new(self.span.clone(), DeValue::Table(table)))
    }

    /// Reads a part if it applies; otherwise every key of it is reported.
    pub(crate) fn read_if<T: Deserialize<'i>>(&mut self, applies: bool, reason: &str) -> Read<Option<T>> {
        match applies {
            true => self.read().map(Some),
            false => {
                self.reject::<T>(reason);
                Ok(None)
            }
        }
    }

    /// Reports every key of a part that does not apply.
    pub(crate) fn reject<T: Deserialize<'i>>(&mut self, reason: &str) {
        let mut findings = self.findings();
        self.take::<T>().keys().for_each(|key| findings.add(key.get_ref(), reason));
        self.report(findings);
    }

    /// Leaves out a part.
    pub(crate) fn skip<T: Deserialize<'i>>(&mut self) {
        self.take::<T>();
    }

    /// Whether no key is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Findings about keys of the table.
    pub(crate) fn findings(&self) -> Findings {
        Findings::of_section(&self.key)
    }

    pub(crate) fn report(&mut self, findings: Findings) {
        self.sections.report(findings.into_vec());
    }

    /// Reports the keys that belong to no part.
    pub(crate) fn finish(mut self) {
        let mut findings = self.findings();
        for key in self.table.keys() {
            findings.add(key.get_ref(), unknown_key(key.get_ref(), &self.known));
        }
        self.report(findings);
    }

    fn take<T: Deserialize<'i>>(&mut self) -> DeTable<'i> {
        let fields = fields::<T>();
        self.known.extend(fields);
        fields.iter().filter_map(|field| self.table.remove_entry(*field)).collect()
    }
}

/// The names of the fields of a struct, as serde has them.
pub(crate) fn fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    // The deserializer has no value: it ends with an error once the names are known.
    _ = T::deserialize(Fields(&mut fields));
    fields
}

struct Fields<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(Error::custom("there is no value"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("only structs have fields"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
