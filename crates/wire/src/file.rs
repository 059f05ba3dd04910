//! Files of resources: the response that such a file is, written in each format.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use weir_types::{FileFormat, Form, Kind, TypeUrl, Variant, Version};

use crate::frame::{HEADER, Response};
use crate::json::discovery::{ResponseError, response_to_json};
use crate::text::{TextError, encode_response};

/// The version of `resources` together, and the `DiscoveryResponse` that a file with just them is. Bare resources
/// are not wrapped, but for those that do not carry their name.
pub fn response(type_url: &TypeUrl, resources: &[(Arc<Variant>, Form)]) -> (Version, Bytes) {
    let version = Version::of_all(resources.iter().map(|(variant, form)| (&**variant, *form)));
    let response = Response {
        type_url,
        nonce: "",
        version,
        control_plane: "",
        resources,
        heartbeats: &[],
        removed: &[],
        removed_variants: &[],
        errors: &[],
        wrapped: matches!(type_url.kind(), Kind::VirtualHost | Kind::LbEndpoint),
        // A file does not count down; what has expired is written no more.
        at: None,
    };
    let mut frame = response.sotw();
    frame.advance(HEADER);
    (version, frame)
}

/// Why a response cannot be written in a format.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// It has no JSON form.
    #[error(transparent)]
    Json(#[from] ResponseError),
    /// It cannot be written as text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// It cannot be written as YAML.
    #[error("cannot be written as YAML: {0}")]
    Yaml(String),
}

/// An encoded `DiscoveryResponse` of `version` in `format`.
///
/// # Errors
/// When it has no exact form there, as of a type that is not known here.
pub fn write_as(format: FileFormat, response: Bytes, version: Version) -> Result<Bytes, FormatError> {
    match format {
        FileFormat::Binary => Ok(response),
        FileFormat::Text => Ok(encode_response(&response)?.into()),
        FileFormat::Json => Ok(response_to_json(&response, &version.to_string())?),
        FileFormat::Yaml => {
            let yaml = |error: &dyn std::fmt::Display| FormatError::Yaml(error.to_string());
            let json = response_to_json(&response, &version.to_string())?;
            let value: serde_json::Value = serde_json::from_slice(&json).map_err(|error| yaml(&error))?;
            Ok(serde_saphyr::to_string(&value).map_err(|error| yaml(&error))?.into())
        }
    }
}
