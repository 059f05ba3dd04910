//! Dynamic parameters and lists of names as bytes: each text after its length.

use std::sync::Arc;

use weir_types::DynamicParameters;

/// The texts, each after its length in four bytes.
pub(crate) fn encode<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in texts {
        // Names and values are limited to far less where they come in.
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// What [`encode`] was given; none for other bytes.
pub(crate) fn decode(mut bytes: &[u8]) -> Option<Vec<Arc<str>>> {
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (text, rest) = rest.split_at_checked(length)?;
        texts.push(std::str::from_utf8(text).ok()?.into());
        bytes = rest;
    }
    Some(texts)
}

pub(crate) fn encode_parameters(parameters: &DynamicParameters) -> Vec<u8> {
    encode(parameters.iter().flat_map(|(key, value)| [key, value]))
}

pub(crate) fn decode_parameters(bytes: &[u8]) -> Option<DynamicParameters> {
    let texts = decode(bytes)?;
    let (pairs, rest) = texts.as_chunks::<2>();
    let pairs = pairs.iter().map(|[key, value]| (Arc::clone(key), Arc::clone(value)));
    rest.is_empty().then(|| pairs.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parameters_come_back_as_they_were(pairs: Vec<(String, String)>) {
            let parameters: DynamicParameters = pairs.into_iter().collect();
            prop_assert_eq!(decode_parameters(&encode_parameters(&parameters)), Some(parameters));
        }

        #[test]
        fn other_bytes_are_no_parameters_and_no_panic(bytes: Vec<u8>) {
            if let Some(texts) = decode(&bytes) {
                prop_assert_eq!(encode(texts.iter().map(|text| &**text)), bytes);
            }
        }
    }

    #[test]
    fn an_odd_text_is_no_parameter() {
        assert_eq!(decode_parameters(&encode(["env"])), None);
        assert_eq!(decode_parameters(&[9, 0, 0, 0, b'x']), None);
    }
}
