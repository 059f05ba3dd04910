//! What a response belongs to: W3C Trace Context within the messages of a long-lived stream.
//!
//! Metadata of gRPC goes once, with the head of a stream, and does not describe the single responses that follow for
//! days. So the context travels in the response, in a field that is no part of the public protocol, and only to those
//! who announce that they know it. To all others the bytes are what they would be without.

use bytes::{BufMut, Bytes, BytesMut};

use crate::frame::HEADER;

/// What clients announce in `Node.client_features` that read the context of a response.
pub const FEATURE: &str = "weir.trace-context";

/// The number of the field, in either dialect's response.
const FIELD: u64 = 50_000;

/// A framed response that ends in `context`, an encoded `TraceContext`. Fields of a message may come in any order, so
/// the rest of it stays as it is.
pub fn append(frame: &Bytes, context: &[u8]) -> Bytes {
    let mut field = Vec::with_capacity(context.len() + 8);
    prost::encoding::encode_varint(FIELD << 3 | 2, &mut field);
    prost::encoding::encode_varint(context.len() as u64, &mut field);
    field.extend_from_slice(context);
    let message = frame.get(HEADER..).unwrap_or_default();
    let mut out = BytesMut::with_capacity(frame.len() + field.len());
    out.put_u8(0);
    out.put_u32(u32::try_from(message.len() + field.len()).unwrap_or(u32::MAX));
    out.put_slice(message);
    out.put_slice(&field);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::discovery::{DeltaDiscoveryResponse, DiscoveryResponse, TraceContext};

    fn framed(message: &impl Message) -> Bytes {
        let bytes = message.encode_to_vec();
        let length = u32::try_from(bytes.len()).unwrap();
        [&[0][..], &length.to_be_bytes()[..], &bytes[..]].concat().into()
    }

    #[test]
    fn a_context_is_a_field_at_the_end_of_either_response() {
        let context = TraceContext { traceparent: "00-ab-cd-01".to_owned(), tracestate: String::new() };
        let sotw = DiscoveryResponse { nonce: "7".to_owned(), ..Default::default() };
        let traced = DiscoveryResponse { trace_context: Some(context.clone()), ..sotw.clone() };
        assert_eq!(append(&framed(&sotw), &context.encode_to_vec()), framed(&traced));
        let delta = DeltaDiscoveryResponse { nonce: "7".to_owned(), ..Default::default() };
        let traced = DeltaDiscoveryResponse { trace_context: Some(context.clone()), ..delta.clone() };
        assert_eq!(append(&framed(&delta), &context.encode_to_vec()), framed(&traced));
    }
}
