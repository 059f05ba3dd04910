//! Responses in the text format of protobuf, as Envoy's `.pb_text` files have it.

use miette::Diagnostic;
use prost_reflect::DynamicMessage;
use prost_reflect::text_format::FormatOptions;

use crate::json::{DISCOVERY_RESPONSE, canonical, message_of, suggestion_for_text};

/// Text that is no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct TextError {
    /// Where, from 1; none where that is not known.
    pub line: Option<u64>,
    /// What is wrong.
    pub reason: String,
}

impl TextError {
    fn new(reason: impl ToString) -> Self {
        Self { line: None, reason: reason.to_string() }
    }
}

/// The encoded `DiscoveryResponse` that `text` is.
///
/// # Errors
/// When it is not one, or holds types that are not known here.
pub fn decode_response(text: &str) -> Result<Vec<u8>, TextError> {
    let descriptor = message_of(DISCOVERY_RESPONSE).ok_or_else(|| TextError::new("unknown message"))?;
    let message = DynamicMessage::parse_text_format(descriptor, text).map_err(|error| {
        let place = error.labels().and_then(|mut labels| labels.next());
        let line = |offset: usize| 1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count() as u64;
        let mut reason = error.to_string();
        if let Some(meant) = suggestion_for_text(&reason) {
            reason.push_str(&format!("; did you mean '{meant}'?"));
        }
        TextError { line: place.map(|place| line(place.offset())), reason }
    })?;
    Ok(canonical::encode(&message))
}

/// An encoded `DiscoveryResponse` as text. Resources of types that are not known here are escaped bytes.
///
/// # Errors
/// When it is malformed.
pub fn encode_response(response: &[u8]) -> Result<String, TextError> {
    let descriptor = message_of(DISCOVERY_RESPONSE).ok_or_else(|| TextError::new("unknown message"))?;
    let message = DynamicMessage::decode(descriptor, response).map_err(TextError::new)?;
    let options = FormatOptions::new().pretty(true).expand_any(true);
    Ok(message.to_text_format_with_options(&options))
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::discovery::DiscoveryResponse;

    const TEXT: &str = r#"
version_info: "7"
resources {
  [type.googleapis.com/envoy.config.cluster.v3.Cluster] {
    name: "backend"
    connect_timeout { seconds: 1 }
  }
}
type_url: "type.googleapis.com/envoy.config.cluster.v3.Cluster"
"#;

    #[test]
    fn f01_text_goes_there_and_back() {
        let bytes = decode_response(TEXT).unwrap();
        let response = DiscoveryResponse::decode(&bytes[..]).unwrap();
        assert_eq!((&*response.version_info, response.resources.len()), ("7", 1));
        let json = crate::json::any_to_json(&response.resources[0]);
        assert_eq!((&json["name"], &json["connect_timeout"]), (&"backend".into(), &"1s".into()));
        assert_eq!(decode_response(&encode_response(&bytes).unwrap()), Ok(bytes));
    }

    #[test]
    fn f01_text_errors_have_a_line() {
        let wrong = TEXT.replace("connect_timeout", "connect_timeoutt");
        let error = decode_response(&wrong).unwrap_err();
        assert_eq!(error.line, Some(6));
        assert!(error.reason.contains("connect_timeoutt"), "{error}");
        assert!(error.reason.ends_with("; did you mean 'connect_timeout'?"), "{error}");
        assert!(decode_response("{").is_err());
        assert!(encode_response(b"\xff").is_err());
    }
}
