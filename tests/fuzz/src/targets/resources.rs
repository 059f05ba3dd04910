//! Resources of a response: bare and wrapped. What is accepted goes into a frame that any client can decode.

use std::sync::Arc;

use prost::Message;
use weir_types::{Form, TypeUrl, Variant};
use weir_wire::discovery::{DeltaDiscoveryResponse, DiscoveryResponse};
use weir_wire::resource::{decode, decode_any};

pub(crate) fn run(data: &[u8]) {
    let type_url = TypeUrl::from_short_name("cds").expect("a known type");
    let variants = [decode(data, &type_url, "1"), decode_any(data, &type_url, "1")];
    for variant in variants.into_iter().flatten() {
        assert!(!variant.name().is_empty());
        show(&type_url, Arc::new(variant));
    }
    responses(data);
}

fn show(type_url: &TypeUrl, variant: Arc<Variant>) {
    let name = variant.name().clone();
    for form in [Form::Plain, Form::Located] {
        let (_, bytes) = weir_wire::file::response(type_url, &[(Arc::clone(&variant), form)]);
        let response = DiscoveryResponse::decode(bytes).expect("a frame is a response");
        assert_eq!(response.resources.len(), 1, "{name}");
    }
}

fn responses(data: &[u8]) {
    if let Ok(response) = DiscoveryResponse::decode(data) {
        let type_url = TypeUrl::new(response.type_url);
        response.resources.iter().for_each(|any| drop(decode_any(any, &type_url, &response.version_info)));
    }
    if let Ok(response) = DeltaDiscoveryResponse::decode(data) {
        let type_url = TypeUrl::new(response.type_url);
        response.resources.iter().for_each(|resource| drop(decode(resource, &type_url, "")));
    }
}
