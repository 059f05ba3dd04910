//! Limits of a client's node and of single requests.
//!
//! Owns the limits of single requests and the errors that a client is sent. What all requests of a stream ask
//! for together is counted elsewhere.

use std::fmt::Display;

use weir_types::NODE_KEY;
use weir_wire::discovery::ResourceLocator;
use weir_wire::scan::fields;

use crate::error::StreamError;

/// How many fields a request may have for each name that it may have: there are three lists of names, and a locator has
/// parameters.
const FIELDS_OF_A_NAME: usize = 8;
/// And how many besides.
const OTHER_FIELDS: usize = 1000;
/// The least average size of a JSON value in a node, in bytes. The nodes of Envoys average 20.
const BYTES_OF_A_VALUE: usize = 16;

/// The longest reason for a rejection that is kept, logged and sent, in bytes: Envoys have been seen to quote whole
/// resources.
const LONGEST_REASON: usize = 4096;

/// How much a client may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest name, in bytes; so long may be what else a client names.
    pub name_length: usize,
    /// The most names in one request.
    pub names: usize,
    /// The most names that a stream is subscribed to, over all types; each type counts as one at least.
    pub names_per_stream: usize,
    /// The most locators of one name that a stream is subscribed to.
    pub locators_per_name: usize,
    /// The most types that a stream is subscribed to.
    pub types_per_stream: u32,
    /// The largest request, in bytes.
    pub message: usize,
    /// The largest node, in bytes.
    pub node: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            name_length: 4096,
            names: 100_000,
            names_per_stream: 100_000,
            locators_per_name: 1000,
            types_per_stream: 100,
            message: 64 << 20,
            node: 1 << 20,
        }
    }
}

impl Limits {
    /// Checks how much memory a `message` would take that is not decoded yet: an empty name takes two bytes there, and
    /// twenty-four when it is. `locators` are the numbers of its fields that are locators.
    pub fn check_fields(names: usize, message: &[u8], locators: &[u32]) -> Result<(), StreamError> {
        let limit = most_fields(names);
        // No field has less than two bytes.
        if message.len() / 2 <= limit {
            return Ok(());
        }
        let mut count = 0;
        // What is malformed is the decoder's to refuse.
        for field in fields(message).map_while(Result::ok) {
            let within = match locators.contains(&field.number) {
                true => fields(field.bytes().unwrap_or_default()).count(),
                false => 0,
            };
            count += 1 + within;
            if count > limit {
                return Err(too_many(limit));
            }
        }
        Ok(())
    }

    /// The same of a request as JSON, in which the node is no field of its own.
    pub fn check_json(&self, text: &[u8]) -> Result<(), StreamError> {
        let limit = most_fields(self.names).saturating_add(self.node as usize / BYTES_OF_A_VALUE);
        // Each value but the first comes after one of these.
        let values = text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        if values > limit { Err(too_many(limit)) } else { Ok(()) }
    }

    /// Checks a node that is not decoded yet.
    pub fn check_node(&self, node: &[u8]) -> Result<(), StreamError> {
        let (length, limit) = (node.len(), self.node as usize);
        if length > limit {
            return Err(StreamError::invalid_argument(format!(
                "node has {length} bytes, over the limit of {limit} (limits.max_node_size)"
            )));
        }
        Ok(())
    }

    pub(crate) fn check_count(&self, field: &str, count: usize) -> Result<(), StreamError> {
        if count > self.names {
            let limit = self.names;
            return Err(StreamError::resource_exhausted(format!(
                "{count} names of {field} are over the limit of {limit} in one request (limits.max_names)"
            )));
        }
        Ok(())
    }

    /// Checks the length of `what` a client names.
    pub fn check_text(&self, what: &dyn Display, text: &str) -> Result<(), StreamError> {
        self.check_length(what, text.len(), text)
    }

    /// Checks the dynamic parameters of a locator, of which one key is reserved.
    pub(crate) fn check_parameters(&self, field: &str, locator: &ResourceLocator) -> Result<(), StreamError> {
        let length = locator.dynamic_parameters.iter().map(|(key, value)| key.len() + value.len()).sum();
        self.check_length(&format_args!("the dynamic parameters of a {field} name"), length, &locator.name)?;
        if locator.dynamic_parameters.contains_key(NODE_KEY) {
            return Err(StreamError::invalid_argument(format!(
                "the locator of {:?} has the dynamic parameter {NODE_KEY:?}, which is reserved: it stands for the node of a \
                 client",
                shortened(locator.name.clone())
            )));
        }
        Ok(())
    }

    /// Checks the length of `what`, which `text` identifies.
    fn check_length(&self, what: &dyn Display, length: usize, text: &str) -> Result<(), StreamError> {
        let limit = self.name_length;
        if length <= limit {
            return Ok(());
        }
        let begin: String = text.chars().take(40).collect();
        Err(StreamError::invalid_argument(format!(
            "{what} of {length} bytes is over the limit of {limit} (limits.max_name_length): {begin}…"
        )))
    }
}

/// As much of the reason for a rejection as goes any further.
pub(crate) fn shortened(mut reason: String) -> String {
    reason.truncate(reason.trim_end().len());
    if reason.len() > LONGEST_REASON {
        reason
            .truncate((0..=LONGEST_REASON).rev().find(|at| reason.is_char_boundary(*at)).unwrap_or_default());
        reason.push('…');
    }
    reason
}

fn most_fields(names: usize) -> usize {
    names.saturating_mul(FIELDS_OF_A_NAME).saturating_add(OTHER_FIELDS)
}

fn too_many(limit: usize) -> StreamError {
    StreamError::resource_exhausted(format!(
        "the request has more than {limit} fields, some for each name that there may be (limits.max_names)"
    ))
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use weir_types::Code;
    use weir_wire::discovery::DiscoveryRequest;

    use super::*;

    fn code(checked: Result<(), StreamError>) -> Code {
        checked.map_or_else(|error| error.code, |()| Code::OK)
    }

    #[test]
    fn e05_long_reasons_are_cut_between_characters() {
        let length = |reason: &str| shortened(reason.to_owned()).len();
        assert_eq!(shortened("short".to_owned()), "short");
        assert_eq!(shortened("a line, as Envoy writes it\n".to_owned()), "a line, as Envoy writes it");
        assert_eq!(length(&"ä".repeat(LONGEST_REASON)), LONGEST_REASON + "…".len());
        assert_eq!(length(&format!("x{}", "ä".repeat(LONGEST_REASON))), LONGEST_REASON - 1 + "…".len());
    }

    #[test]
    fn e05_what_would_take_much_more_memory_than_bytes_is_refused_before_it_is_decoded() {
        let names =
            |count| DiscoveryRequest { resource_names: vec![String::new(); count], ..Default::default() };
        let pairs = |count| {
            let pairs = (0..count).map(|i| (format!("{i:x}"), String::new()));
            let locator = ResourceLocator { name: "a".to_owned(), dynamic_parameters: pairs.collect() };
            DiscoveryRequest { resource_locators: vec![locator], ..Default::default() }
        };
        let named = DiscoveryRequest { resource_names: vec!["x".repeat(9000)], ..Default::default() };
        for (request, wanted) in [
            (names(1800), Code::OK),
            (names(1801), Code::RESOURCE_EXHAUSTED),
            (pairs(1798), Code::OK),
            (pairs(1799), Code::RESOURCE_EXHAUSTED),
            (named, Code::OK),
        ] {
            let bytes = request.encode_to_vec();
            assert_eq!(code(Limits::check_fields(100, &bytes, &[7])), wanted, "{} bytes", bytes.len());
        }
        assert_eq!(
            code(Limits::check_fields(100, &[0xff; 9000], &[7])),
            Code::OK,
            "the decoder reports what is wrong"
        );
        let limits = Limits { names: 100, node: 160, ..Limits::default() };
        for (count, wanted) in [(1810, Code::OK), (1811, Code::RESOURCE_EXHAUSTED)] {
            let text = format!("{{\"resource_names\":[{}0]}}", "0,".repeat(count - 2));
            assert_eq!(code(limits.check_json(text.as_bytes())), wanted);
        }
    }
}
