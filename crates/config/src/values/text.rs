//! Values that a file has as strings with a form of their own.
//!
//! A field of such a type has `serde(with = "text")`, and so has a field with a list of them, or with one that may be left
//! out.

use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::time::Duration;

use http::Uri;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use weir_types::{NoSuchType, NodeField, NodePart, Pattern, TypeUrl};

use super::names::ResourceName;
use super::{Bytes, CollectorEndpoint, Regex};
use crate::template::Template;

/// A value with a form of its own.
pub(crate) trait Form: Sized {
    /// The form, for errors.
    const FORM: &str = "a string";

    fn parse(text: &str) -> Result<Self, String>;

    fn write(&self) -> String;
}

/// What is read from texts and written as texts: values with a form, lists of them, and none.
pub(crate) trait Texts: Sized {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

/// For `serde(with)`.
pub(crate) fn deserialize<'de, T: Texts, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::read(deserializer)
}

/// For `serde(with)`.
pub(crate) fn serialize<T: Texts, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.write(serializer)
}

/// A value as serde takes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<T>(pub(crate) T);

impl<'de, T: Texts> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Self)
    }
}

impl<T: Texts> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

impl<T: Texts> Texts for Option<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<Text<T>>::deserialize(deserializer)?;
        Ok(text.map(|Text(value)| value))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => serializer.serialize_some(&Written(value)),
            None => serializer.serialize_none(),
        }
    }
}

impl<T: Texts> Texts for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<Text<T>>::deserialize(deserializer)?;
        Ok(texts.into_iter().map(|Text(value)| value).collect())
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Written))
    }
}

struct Written<'a, T>(&'a T);

impl<T: Texts> Serialize for Written<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

/// Reads one value with a form.
struct Parse<T>(PhantomData<T>);

impl<T: Form> Visitor<'_> for Parse<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::FORM)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(E::custom)
    }
}

macro_rules! texts {
    ($($form:ty),*) => {
        $(impl Texts for $form {
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Parse(PhantomData))
            }

            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&Form::write(self))
            }
        })*
    };
}

texts!(
    SocketAddr,
    Uri,
    CollectorEndpoint,
    Duration,
    Bytes,
    NodeField,
    NodePart,
    Pattern,
    Regex,
    ResourceName,
    Template,
    TypeUrl
);

/// Types that know their form themselves.
macro_rules! as_displayed {
    ($($form:ty),*) => {
        $(impl Form for $form {
            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|error| format!("{error}"))
            }

            fn write(&self) -> String {
                self.to_string()
            }
        })*
    };
}

as_displayed!(CollectorEndpoint, NodeField, NodePart, Pattern, Regex, Template);

impl Form for TypeUrl {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: NoSuchType| format!("{text:?} is no resource type; {error}"))
    }

    fn write(&self) -> String {
        self.to_string()
    }
}
