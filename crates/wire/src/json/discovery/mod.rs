//! Requests and responses of state of the world as JSON: the messages of REST-JSON.
//!
//! Of a request only what Weir goes by is read: of an Envoy's node, the 77 kB of extensions are skipped. Reflection
//! would read them too, by 17 times as many instructions; it accepts duplicate fields, and rejects unknown fields in
//! all of the message or nowhere.
//! Resources are rendered exactly or not at all.

mod request;
mod response;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

pub use request::{request_from_json, request_to_json};
pub use response::{JsonResponse, ResponseError, response_from_json, response_to_json};

/// Why a text is not the JSON form of a message, and where in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct JsonError {
    /// The place, as a JSON path: `$.node.id`.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl JsonError {
    fn new(path: &serde_path_to_error::Path, message: impl fmt::Display) -> Self {
        let path = path.to_string();
        // The key that is not there yet is a question mark.
        let path = match path.trim_end_matches('?').trim_end_matches('.') {
            "" => "$".to_owned(),
            path if path.starts_with('[') => format!("${path}"),
            path => format!("$.{path}"),
        };
        Self { path, message: message.to_string() }
    }
}

fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, JsonError> {
    if json.trim_ascii_start().starts_with(b"[") {
        // Serde would take a list for the fields in order.
        return Err(JsonError {
            path: "$".to_owned(),
            message: "expected an object, found a list".to_owned(),
        });
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| JsonError::new(error.path(), error.inner()))?;
    let end = deserializer.end();
    end.map_err(|error| JsonError { path: "$".to_owned(), message: error.to_string() })?;
    Ok(value)
}

/// The proto3 JSON mapping has `null` for a field that is not set.
fn nullable<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
