//! Names of resources.

use std::borrow::Cow;

use serde::Deserializer;
use weir_types::xdstp::canonical;

use super::text::{self, Form};

/// The name of a resource in canonical spelling.
pub(crate) struct ResourceName(String);

impl Form for ResourceName {
    fn parse(text: &str) -> Result<Self, String> {
        canonical(text).map(Cow::into_owned).map(Self).map_err(|error| error.to_string())
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}

/// For `deserialize_with`: names of resources.
pub(crate) fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names: Vec<ResourceName> = text::deserialize(deserializer)?;
    Ok(names.into_iter().map(|ResourceName(name)| name).collect())
}
