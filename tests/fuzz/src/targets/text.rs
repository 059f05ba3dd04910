//! A response in the text format: what can be read can be written, and reads as the same.

use weir_wire::text::{decode_response, encode_response};

pub(crate) fn run(data: &[u8]) {
    // What was received may have to be written as text.
    _ = encode_response(data);
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(response) = decode_response(text) else { return };
    let written = encode_response(&response).expect("what was read is a response");
    assert_eq!(decode_response(&written).as_ref(), Ok(&response), "{written}");
}
