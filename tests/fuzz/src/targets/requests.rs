//! Encoded requests, of both dialects: what is read early is what a plain decoder reads.

use bytes::Bytes;
use prost::Message;
use weir_wire::discovery::{DeltaDiscoveryRequest, DiscoveryRequest};
use weir_wire::request::{DeltaRequest, RequestError};

pub(crate) fn run(data: &[u8]) {
    if let Ok(request) = DiscoveryRequest::decode(data) {
        assert_eq!(DiscoveryRequest::decode(&*request.encode_to_vec()), Ok(request));
    }
    let request = DeltaRequest::decode(Bytes::copy_from_slice(data));
    let Ok(mut plain) = DeltaDiscoveryRequest::decode(data) else { return };
    let request = match request {
        Ok(request) => request,
        // A plain decoder passes over groups, and over the wire type of a map.
        Err(RequestError::Malformed(_)) => return,
        Err(error) => panic!("a plain decoder reads it: {error}"),
    };
    let stated = std::mem::take(&mut plain.initial_resource_versions);
    assert_eq!(request.message, plain);
    assert_eq!(request.known.is_empty(), stated.is_empty());
    let Ok(known) = request.known.read() else { return };
    for name in stated.keys() {
        assert!(known.contains(&name.into()), "{name}");
    }
}
